#include "judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "build_graph.h"
#include "compile/cpu_target.h"
#include "nnef_runtime/session.h"
#include "reference_run.h"
#include "relax/import.h"
#include "tvm/target.h"

namespace generator {
namespace {

using tvm::ffi::Tensor;

constexpr double rtol = 1e-3;
constexpr double atol = 1e-5;
/// Rounding happens at other places than the noise that measured it.
constexpr double doubt_factor = 8;

Verdict failure(std::string stage, const nnef::Diagnostics& diagnostics) {
  Verdict verdict;
  for (const nnef::Diagnostic& item : diagnostics.items()) {
    if (item.severity != nnef::Severity::error) continue;
    verdict.kind = fmt::format("{}: {}", stage, item.id);
    break;
  }
  if (verdict.kind.empty()) verdict.kind = std::move(stage);
  verdict.message = nnef::format(diagnostics);
  return verdict;
}

std::unique_ptr<nnef_runtime::Session> open(const GraphCase& graph_case,
                                            const nnef_tvm::CompileOptions& options,
                                            std::string& stage, nnef::Diagnostics& diagnostics) {
  stage = "load";
  const auto graph =
      load_case(graph_case.text, graph_case.given, nnef_tvm::has_lowering, diagnostics);
  if (!graph) return nullptr;
  stage = "build";
  auto compiled = nnefc::compile_graph(*graph, options, diagnostics);
  return compiled ? nnefc::create_session(std::move(*compiled), {.threads = 1}, diagnostics)
                  : nullptr;
}

template <typename T>
void store(const std::vector<double>& items, const Tensor& tensor) {
  std::ranges::transform(items, static_cast<T*>(tensor.data_ptr()),
                         [](double item) { return static_cast<T>(item); });
}

Tensor input(const Given& given) {
  const DLDataType types[] = {{kDLFloat, 32, 1}, {kDLInt, 32, 1}, {kDLBool, 8, 1}};
  Tensor tensor = nnef_runtime::allocate(types[static_cast<size_t>(given.dtype)], given.shape);
  if (given.dtype == DType::scalar) store<float>(given.items, tensor);
  if (given.dtype == DType::integer) store<int32_t>(given.items, tensor);
  if (given.dtype == DType::logical) store<uint8_t>(given.items, tensor);
  return tensor;
}

std::vector<double> items(const Tensor& tensor) {
  const auto read = [&]<typename T>(T) {
    const auto* from = static_cast<const T*>(tensor.data_ptr());
    return std::vector<double>(from, from + tensor.numel());
  };
  if (tensor.dtype().code == kDLFloat) return read(float{});
  return tensor.dtype().code == kDLInt ? read(int32_t{}) : read(uint8_t{});
}

/// Compares one output; adds what is wrong to the verdict.
void compare(const std::string& name, const std::vector<double>& got,
             const Expectation& expectation, Verdict& verdict) {
  const auto& wanted = expectation.values.at(name);
  const auto& doubt = expectation.doubt.at(name);
  const bool real = expectation.tensors.at(name).dtype == DType::scalar;
  double scale = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (std::isfinite(doubt[i])) scale = std::max(scale, std::abs(wanted[i]));
  }
  size_t wrong = 0, first = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!std::isfinite(doubt[i])) {
      ++verdict.skipped;
      continue;
    }
    ++verdict.compared;
    const double allowed =
        real ? rtol * std::abs(wanted[i]) + atol * scale + doubt_factor * doubt[i] : 0;
    if (std::abs(got[i] - wanted[i]) <= allowed) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return;
  verdict.passed = false;
  verdict.kind = "values";
  verdict.message += fmt::format("{}: {} of {} items differ; item {} is {} instead of {}\n", name,
                                 wrong, wanted.size(), first, got[first], wanted[first]);
}

}  // namespace

Verdict judge(const GraphCase& graph_case, const nnef_tvm::CompileOptions& options) {
  nnef::Diagnostics diagnostics;
  const auto expectation = expect(graph_case, diagnostics);
  if (!expectation) return failure("reference", diagnostics);
  std::string stage;
  const auto session = open(graph_case, options, stage, diagnostics);
  if (!session) return failure(stage, diagnostics);
  std::vector<Tensor> inputs;
  for (const Given* given : graph_case.of_kind(Given::Kind::external)) {
    inputs.push_back(input(*given));
  }
  std::vector<Tensor> outputs;
  for (int i = 0; i < cycles(graph_case); ++i) outputs = session->run(inputs, diagnostics);
  if (diagnostics.has_errors()) return failure("run", diagnostics);
  Verdict verdict;
  verdict.passed = true;
  for (size_t i = 0; i < graph_case.outputs.size(); ++i) {
    compare(graph_case.outputs[i], items(outputs[i]), *expectation, verdict);
  }
  return verdict;
}

std::string host_target_json(int level) {
  auto description = nlohmann::json::parse(nnef_tvm::target_json(nnef_tvm::host_target()));
  description["opt-level"] = level;
  return description.dump();
}

std::string case_file(const GraphCase& graph_case, const std::string& comment) {
  nnef::Diagnostics diagnostics;
  const auto expectation = expect(graph_case, diagnostics);
  if (!expectation) return "# " + comment + "\n--- file graph.nnef\n" + graph_case.text;
  return case_text(graph_case, comment, expectation->values, expectation->tensors);
}

}  // namespace generator
