#include "known_values.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "reference/evaluation.h"

namespace nnef {
namespace {

/// Depends on no item of its input.
constexpr std::string_view kShapeOf = "tract_core_shape_of";

bool is_small(const Tensor& tensor) {
  if (!tensor.shape || !valid(*tensor.shape)) return false;
  const Dim items = volume(*tensor.shape);
  return items.valid() && items.value() <= KnownValues::kMaxItems;
}

std::optional<TensorValue> stored_value(const Tensor& variable) {
  if (variable.data == nullptr || is_quantized(variable.data->type)) return std::nullopt;
  return to_value(*variable.data, variable.dtype, variable.item);
}

}  // namespace

void KnownValues::add(const Operation& operation) {
  known_.resize(graph_.tensors.size());
  values_.resize(graph_.tensors.size());
  const bool known = compute(operation);
  each_tensor(operation.outputs, [&](TensorRef ref) { known_[ref.index] = known; });
}

const TensorValue* KnownValues::find(TensorRef ref) const {
  return ref.index < known_.size() && known_[ref.index] ? &values_[ref.index] : nullptr;
}

bool KnownValues::compute(const Operation& operation) {
  bool known = operation.name != "external";
  each_tensor(operation.outputs, [&](TensorRef ref) { known = known && is_small(graph_[ref]); });
  if (operation.name != kShapeOf) {
    each_tensor(operation.inputs, [&](TensorRef ref) { known = known && find(ref) != nullptr; });
  }
  if (!known) return false;
  if (operation.name == "variable") {
    const TensorRef ref = OpView(graph_, operation).result("output");
    auto value = stored_value(graph_[ref]);
    if (value) values_[ref.index] = std::move(*value);
    return value.has_value();
  }
  const auto evaluate = reference::find_evaluator(operation.name);
  if (evaluate == nullptr) return false;
  reference::Evaluation evaluation(graph_, operation, values_);
  evaluate(evaluation);
  return true;
}

}  // namespace nnef
