#include "build_graph.h"

#include <utility>

#include "compile/relax_model.h"

namespace nnefc {
namespace {

nnef_runtime::TensorSpec spec_of(const nnef_tvm::ImportedTensor& tensor) {
  nnef_runtime::TensorSpec spec{tensor.name, tensor.dtype, {}};
  for (const nnef::Dim& extent : tensor.shape)
    spec.shape.push_back(extent.known() ? extent.value() : -1);
  if (!nnef::known(tensor.shape)) spec.extents = tensor.shape;
  return spec;
}

std::vector<nnef_runtime::TensorSpec> specs(const std::vector<nnef_tvm::ImportedTensor>& tensors) {
  std::vector<nnef_runtime::TensorSpec> result;
  for (const auto& tensor : tensors) result.push_back(spec_of(tensor));
  return result;
}

std::vector<nnef_runtime::ShapeCondition> specs(const std::vector<nnef::Condition>& conditions) {
  std::vector<nnef_runtime::ShapeCondition> result;
  for (const nnef::Condition& condition : conditions) {
    const bool equal = condition.kind == nnef::Condition::Kind::equal;
    result.push_back({condition.left, equal, condition.right, condition.reason});
  }
  return result;
}

std::vector<nnef_runtime::StateSpec> specs(std::vector<nnef_tvm::ImportedState> states) {
  std::vector<nnef_runtime::StateSpec> result;
  for (auto& state : states) {
    result.push_back({spec_of(state.tensor), state.label, std::move(state.initial)});
  }
  return result;
}

}  // namespace

std::optional<nnef_tvm::EmittedProgram> emit_graph(const nnef::Graph& graph,
                                                   const nnef_tvm::CompileOptions& options,
                                                   nnef::Diagnostics& diagnostics) {
  if (!nnef_tvm::load_compiler(diagnostics)) return std::nullopt;
  auto imported = nnef_tvm::import_graph(graph, {.keep_params = true}, diagnostics);
  if (!imported) return std::nullopt;
  if (!imported->states.empty()) {
    diagnostics.error("emit/states", {}, "kernels alone do not keep the states of a model")
        .help("applications can keep them: make each state an input and an output of the model");
    return std::nullopt;
  }
  return nnef_tvm::compile_to_kernels(std::move(imported->module), std::move(imported->params),
                                      specs(imported->inputs), specs(imported->outputs), options,
                                      diagnostics);
}

std::optional<nnef_tvm::Compiled> compile_graph(const nnef::Graph& graph,
                                                const nnef_tvm::CompileOptions& options,
                                                nnef::Diagnostics& diagnostics,
                                                nnef_tvm::CustomLowerings lowerings) {
  if (!nnef_tvm::load_compiler(diagnostics)) return std::nullopt;
  auto imported = nnef_tvm::import_graph(
      graph, {.keep_params = true, .lowerings = std::move(lowerings)}, diagnostics);
  if (!imported) return std::nullopt;
  nnef_tvm::CompileOptions with_sources = options;
  with_sources.conditions = specs(graph.conditions);
  for (const auto& [variable, operation] : imported->operations) {
    with_sources.sources[variable] = {operation.name, operation.tensor, operation.source};
  }
  return nnef_tvm::compile(std::move(imported->module), std::move(imported->params),
                           specs(imported->inputs), specs(imported->outputs), with_sources,
                           diagnostics, specs(std::move(imported->states)));
}

std::optional<nnef_tvm::Compiled> compile_relax(const std::string& path,
                                                const nnef_tvm::CompileOptions& options,
                                                nnef::Diagnostics& diagnostics) {
  if (!nnef_tvm::load_compiler(diagnostics)) return std::nullopt;
  auto model = nnef_tvm::read_relax(path, diagnostics);
  if (!model) return std::nullopt;
  return nnef_tvm::compile(std::move(*model), options, diagnostics);
}

std::unique_ptr<nnef_runtime::Session> create_session(nnef_tvm::Compiled compiled,
                                                      const nnef_runtime::SessionOptions& options,
                                                      nnef::Diagnostics& diagnostics) {
  nnef_runtime::SessionOptions on_device = options;
  on_device.device = compiled.device;
  return nnef_runtime::Session::create(
      std::move(compiled.executable), std::move(compiled.parameters), std::move(compiled.inputs),
      std::move(compiled.outputs), on_device, diagnostics, std::move(compiled.states),
      std::move(compiled.program), std::move(compiled.conditions));
}

}  // namespace nnefc
