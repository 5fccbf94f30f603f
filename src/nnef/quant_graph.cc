#include "quant_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "check_types.h"
#include "nnef/model.h"
#include "quant_parameters.h"
#include "stages.h"

namespace nnef {
namespace {

Array extents_of(const Shape& shape) {
  Array extents;
  for (const Dim& extent : shape) extents.items.emplace_back(extent);
  return extents;
}

class QuantGraph {
 public:
  QuantGraph(const Tensor& tensor, const QuantNames& names, Diagnostics& diagnostics)
      : tensor_(tensor),
        entry_(*tensor.quantization),
        names_(names),
        diagnostics_(diagnostics),
        declaration_(*Declarations::standard().find(entry_.name)) {}

  std::optional<Graph> build() {
    graph_.name = "quantization";
    const TensorRef input = source("external", tensor_.dtype, names_.input, tensor_.where);
    graph_[input].item = tensor_.item;
    graph_.operations[0].attributes.push_back(
        {"shape", extents_of(*tensor_.shape), tensor_.where, false});
    graph_.inputs.push_back(input);

    Operation operation;
    operation.name = entry_.name;
    operation.where = entry_.where;
    operation.inputs.push_back({declaration_.parameters[0].name, input, entry_.where, false});
    if (!add_arguments(operation)) return std::nullopt;
    const TensorRef output = add_tensor(names_.output, DType::scalar, entry_.where);
    operation.outputs.push_back({declaration_.results[0].name, output, entry_.where, false});
    graph_.operations.push_back(std::move(operation));
    graph_.outputs.push_back(output);

    const size_t errors = diagnostics_.error_count();
    infer(graph_, {}, diagnostics_);
    infer_items(graph_, {}, diagnostics_);
    if (diagnostics_.error_count() != errors) return std::nullopt;
    return std::move(graph_);
  }

 private:
  TensorRef add_tensor(const std::string& name, DType dtype, const Location& where) {
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.item = default_item(dtype);
    tensor.where = where;
    graph_.tensors.push_back(std::move(tensor));
    return {static_cast<uint32_t>(graph_.tensors.size() - 1)};
  }

  /// An operation without inputs.
  TensorRef source(const char* name, DType dtype, const std::string& tensor,
                   const Location& where) {
    const TensorRef ref = add_tensor(tensor, dtype, where);
    Operation operation;
    operation.name = name;
    operation.type_argument = dtype;
    operation.where = where;
    operation.outputs.push_back({"output", ref, where, false});
    graph_.operations.push_back(std::move(operation));
    return ref;
  }

  bool add_arguments(Operation& operation) {
    for (size_t i = 1; i < declaration_.parameters.size(); ++i) {
      const ast::Parameter& parameter = declaration_.parameters[i];
      const Argument* argument = find_argument(entry_, parameter.name);
      if (argument == nullptr) return false;
      if (!holds_tensor(parameter.type)) {
        operation.attributes.push_back(*argument);
        continue;
      }
      Argument input = *argument;
      if (argument->value.get<Array>() != nullptr) {
        const auto shape = literal_shape(argument->value);
        if (!shape) return report_ragged(*argument);
        input.value = constant(*argument, parameter.type.items[0].primitive, *shape);
      }
      operation.inputs.push_back(std::move(input));
    }
    return true;
  }

  TensorRef constant(const Argument& argument, DType dtype, const Shape& shape) {
    const TensorRef ref = source("constant", dtype, names_.prefix + argument.name, argument.where);
    auto& attributes = graph_.operations.back().attributes;
    attributes.push_back({"shape", extents_of(shape), argument.where, false});
    attributes.push_back({"value", Array{flat_items(argument.value)}, argument.where, false});
    return ref;
  }

  bool report_ragged(const Argument& argument) {
    diagnostics_
        .error("quant/ragged", argument.where,
               fmt::format("'{}': the arrays within '{}' differ in their lengths", entry_.name,
                           argument.name))
        .help("nested arrays make a tensor: [[0.1,0.2,0.3]] has shape [1,3]");
    return false;
  }

  const Tensor& tensor_;
  const Quantization& entry_;
  const QuantNames& names_;
  Diagnostics& diagnostics_;
  const ast::Fragment& declaration_;
  Graph graph_;
};

void move_to(const Location& where, std::vector<Argument>& arguments) {
  for (Argument& argument : arguments) argument.where = where;
}

}  // namespace

std::optional<Graph> quantization_graph(const Tensor& tensor, const QuantNames& names,
                                        Diagnostics& diagnostics) {
  return QuantGraph(tensor, names, diagnostics).build();
}

std::optional<Graph> expanded(const Graph& graph, const Quantization& entry,
                              const std::function<bool(std::string_view)>& keep_compound,
                              Diagnostics& diagnostics) {
  LoadOptions options;
  options.keep_compound = keep_compound;
  const TensorRef input = graph.inputs.front();
  options.input_types[graph[input].name] = graph[input].item;
  auto text = std::make_shared<Source>(graph.name, write_graph(graph));
  auto result = load_text(std::move(text), nullptr, options, diagnostics);
  if (!result) return std::nullopt;
  for (Tensor& tensor : result->tensors) tensor.where = entry.where;
  for (Operation& operation : result->operations) {
    operation.where = entry.where;
    for (CallSite& site : operation.expansion) site.where = entry.where;
    move_to(entry.where, operation.inputs);
    move_to(entry.where, operation.attributes);
    move_to(entry.where, operation.outputs);
  }
  return result;
}

void check_quantization(const Graph& graph, Diagnostics& diagnostics) {
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.quantization || !tensor.shape) continue;
    if (!Declarations::standard().is_standard(tensor.quantization->name)) continue;
    quantization_graph(tensor, {tensor.name, tensor.name, ""}, diagnostics);
  }
}

}  // namespace nnef
