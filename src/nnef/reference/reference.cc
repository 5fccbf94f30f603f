#include "nnef/reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <string>

#include "nnef/quantization.h"
#include "reference/evaluation.h"

namespace nnef {
namespace {

bool is_variable(const Operation& operation) { return operation.name == "variable"; }

std::string describe(const ItemType& item, const std::vector<int64_t>& shape) {
  return to_string(item) + to_string(Shape(shape.begin(), shape.end()));
}

bool check_input(const Tensor& tensor, const TensorValue& value, Diagnostics& diagnostics) {
  const auto extents = reference::to_extents(*tensor.shape);
  const bool same_type = value.dtype == tensor.dtype && value.item == tensor.item;
  if (same_type && value.shape == extents) return true;
  diagnostics.error(same_type ? "run/input-shape" : "run/input-dtype", {},
                    fmt::format("input '{}' is {}, expected {}", tensor.name,
                                describe(value.item, value.shape), describe(tensor.item, extents)));
  return false;
}

/// The value of a variable's file; `fault` says why there is none.
std::optional<TensorValue> initial_value(const Tensor& variable, std::string& fault) {
  const TensorData& data = *variable.data;
  if (variable.dtype != DType::scalar) {
    const auto converted = convert(data, variable.item, fault);
    return converted ? to_value(*converted, variable.dtype, variable.item) : std::nullopt;
  }
  const auto reals = real_values(variable);
  if (reals) {
    return reference::make_value(DType::scalar, variable.item, reference::to_extents(data.shape),
                                 *reals);
  }
  fault = fmt::format("items of type {} cannot be taken as numbers", to_string(data.type));
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Reference> Reference::create(const Graph& graph, Diagnostics& diagnostics) {
  bool known = true;
  for (const Operation& operation : graph.operations) {
    if (has_evaluator(operation.name)) continue;
    known = false;
    diagnostics
        .error("reference/no-evaluator", operation.where,
               fmt::format("the reference evaluator does not know operation '{}'", operation.name))
        .help("load the graph with keep_compound = has_evaluator: other compounds have bodies");
  }
  for (const TensorRef input : graph.inputs) {
    const Tensor& tensor = graph[input];
    if (nnef::known(*tensor.shape)) continue;
    known = false;
    diagnostics
        .error("reference/symbol", tensor.where,
               fmt::format("input '{}' has shape {}: the reference evaluator needs numbers",
                           tensor.name, to_string(*tensor.shape)))
        .help("give the shape of the input: --shape NAME=1,128");
  }
  std::unique_ptr<Reference> reference(new Reference(graph));
  if (!known || !reference->read_variables(diagnostics)) return nullptr;
  return reference;
}

bool Reference::read_variables(Diagnostics& diagnostics) {
  std::map<std::string, size_t> by_label;
  slots_.resize(graph_->tensors.size());
  bool good = true;
  for (const Operation& operation : graph_->operations) {
    if (!is_variable(operation)) continue;
    const OpView view(*graph_, operation);
    const TensorRef ref = view.result("output");
    const Tensor& tensor = (*graph_)[ref];
    const auto [label, fresh] = by_label.emplace(label_key(view.string("label")), initial_.size());
    slots_[ref.index] = label->second;
    if (!fresh) continue;
    initial_.emplace_back();
    if (tensor.data == nullptr) {
      diagnostics
          .error("reference/no-data", tensor.where,
                 fmt::format("the data of variable '{}' was not read", tensor.name))
          .help("load a model folder or archive, which holds a .dat file for each variable");
      good = false;
      continue;
    }
    std::string fault;
    if (auto value = initial_value(tensor, fault)) {
      initial_.back() = std::move(*value);
      continue;
    }
    diagnostics.error("reference/item-type", tensor.where,
                      fmt::format("the data of variable '{}': {}", tensor.name, fault));
    good = false;
  }
  state_ = initial_;
  return good;
}

std::optional<std::vector<TensorValue>> Reference::run(const std::vector<TensorValue>& inputs,
                                                       Diagnostics& diagnostics) {
  const Graph& graph = *graph_;
  if (inputs.size() != graph.inputs.size()) {
    diagnostics.error(
        "run/input-count", {},
        fmt::format("{} inputs given, the model has {}", inputs.size(), graph.inputs.size()));
    return std::nullopt;
  }
  std::vector<TensorValue> values(graph.tensors.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!check_input(graph[graph.inputs[i]], inputs[i], diagnostics)) return std::nullopt;
    values[graph.inputs[i].index] = inputs[i];
  }
  std::vector<std::pair<TensorRef, TensorRef>> updates;
  for (const Operation& operation : graph.operations) {
    reference::Evaluation evaluation(graph, operation, values);
    if (is_variable(operation)) {
      const TensorRef variable = evaluation.result("output");
      values[variable.index] = state(variable);
    }
    reference::find_evaluator(operation.name)(evaluation);
    if (operation.name == "update") {
      updates.emplace_back(evaluation.tensor("variable"), evaluation.result("result"));
    }
  }
  for (const auto& [variable, result] : updates) set_state(variable, values[result.index]);
  return values;
}

const TensorValue& Reference::state(TensorRef variable) const {
  return state_[slots_[variable.index]];
}

void Reference::set_state(TensorRef variable, TensorValue value) {
  TensorValue& state = state_[slots_[variable.index]];
  assert(value.dtype == state.dtype && value.shape == state.shape);
  state = std::move(value);
}

void Reference::reset() { state_ = initial_; }

}  // namespace nnef
