#include "build_graph.h"

#include <utility>

#include "relax/import.h"

namespace nnefc {
namespace {

std::vector<nnef_runtime::TensorSpec> specs(const std::vector<nnef_tvm::ImportedTensor>& tensors) {
  std::vector<nnef_runtime::TensorSpec> result;
  for (const auto& tensor : tensors) result.push_back({tensor.name, tensor.dtype, tensor.shape});
  return result;
}

std::vector<nnef_runtime::StateSpec> specs(std::vector<nnef_tvm::ImportedState> states) {
  std::vector<nnef_runtime::StateSpec> result;
  for (auto& state : states) {
    const auto& [name, relax_name, dtype, shape] = state.tensor;
    result.push_back({{name, dtype, shape}, state.label, std::move(state.initial)});
  }
  return result;
}

}  // namespace

std::optional<nnef_tvm::Compiled> compile_graph(const nnef::Graph& graph,
                                                const nnef_tvm::CompileOptions& options,
                                                nnef::Diagnostics& diagnostics) {
  if (!nnef_tvm::load_compiler(diagnostics)) return std::nullopt;
  auto imported = nnef_tvm::import_graph(graph, {.keep_params = true}, diagnostics);
  if (!imported) return std::nullopt;
  return nnef_tvm::compile(std::move(imported->module), std::move(imported->params),
                           specs(imported->inputs), specs(imported->outputs), options, diagnostics,
                           specs(std::move(imported->states)));
}

std::unique_ptr<nnef_runtime::Session> create_session(nnef_tvm::Compiled compiled, int threads,
                                                      nnef::Diagnostics& diagnostics) {
  return nnef_runtime::Session::create(
      std::move(compiled.executable), std::move(compiled.parameters), std::move(compiled.inputs),
      std::move(compiled.outputs), {.threads = threads, .device = std::move(compiled.device)},
      diagnostics, std::move(compiled.states));
}

}  // namespace nnefc
