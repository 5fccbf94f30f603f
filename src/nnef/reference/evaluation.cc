#include "reference/evaluation.h"

#include <cassert>
#include <map>

#include "custom.h"

namespace nnef {
namespace reference {
namespace {

/// Whether the graph's text names the tensor; what expansion names stands at an invocation.
bool named_in_text(const Tensor& tensor) {
  const Location& where = tensor.where;
  return where && where.source->text().substr(where.begin, where.end - where.begin) == tensor.name;
}

}  // namespace

int64_t volume(const Index& shape) {
  int64_t items = 1;
  for (const int64_t extent : shape) items *= extent;
  return items;
}

size_t place(const Index& shape, const Index& index) {
  int64_t at = 0;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    at = at * shape[axis] + (shape[axis] == 1 ? 0 : index[axis]);
  }
  return static_cast<size_t>(at);
}

Items<double> Evaluation::real_numbers(const Value& value) const {
  if (const TensorRef* ref = value.get<TensorRef>()) {
    const TensorValue& tensor = (*values_)[ref->index];
    return {tensor.shape, real_items(tensor)};
  }
  if (const double* real = value.get<double>()) return {{}, {*real}};
  const Items<Integer> items = whole_numbers(value);
  return {items.shape, {items.values.begin(), items.values.end()}};
}

Items<Integer> Evaluation::whole_numbers(const Value& value) const {
  if (const TensorRef* ref = value.get<TensorRef>()) {
    const TensorValue& tensor = (*values_)[ref->index];
    return {tensor.shape, wide_items(tensor)};
  }
  if (const bool* logical = value.get<bool>()) return {{}, {*logical ? 1 : 0}};
  const int64_t* integer = value.get<int64_t>();
  assert(integer != nullptr && "not an integer");
  return {{}, {integer != nullptr ? *integer : 0}};
}

ItemType Evaluation::stored_item(const Tensor& tensor) const {
  const bool inside = !operation().expansion.empty() && !named_in_text(tensor);
  return inside && tensor.dtype == DType::scalar ? ItemType{ItemCode::float_, 0, 64} : tensor.item;
}

Evaluator find_evaluator(std::string_view name) {
  static const std::map<std::string_view, Evaluator> evaluators = [] {
    std::map<std::string_view, Evaluator> all;
    for (const auto table : {elementwise_evaluators(), reduce_evaluators(), window_evaluators(),
                             resample_evaluators(), movement_evaluators(), linear_evaluators(),
                             tract_evaluators(), tract_movement_evaluators()}) {
      for (const EvaluatorRow& row : table) all.emplace(row.name, row.evaluate);
    }
    return all;
  }();
  const auto found = evaluators.find(name);
  if (found != evaluators.end()) return found->second;
  const CustomOperation* custom = find_custom(name);
  return custom ? custom->evaluator : nullptr;
}

}  // namespace reference

bool has_evaluator(std::string_view operation) {
  return reference::find_evaluator(operation) != nullptr;
}

}  // namespace nnef
