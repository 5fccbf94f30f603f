#include "known_values.h"

#include <algorithm>
#include <array>

#include "reference/evaluation.h"
#include "tract_types.h"

namespace nnef {
namespace {

/// Depends on no item of its input.
constexpr std::string_view kShapeOf = "tract_core_shape_of";

/// What moves the items of its inputs, but for that of the name "indices".
constexpr std::array<std::string_view, 12> kMoves{"slice",
                                                  "squeeze",
                                                  "unsqueeze",
                                                  "reshape",
                                                  "transpose",
                                                  "concat",
                                                  "stack",
                                                  "split",
                                                  "unstack",
                                                  "gather",
                                                  "tract_core_broadcast",
                                                  "tile"};
constexpr std::string_view kIndices = "indices";

struct ArithmeticRow {
  std::string_view operation;
  Dim (*compute)(const Dim& a, const Dim& b);
};
Dim first(const Dim& a, const Dim&) { return a; }
constexpr std::array kArithmetic{
    ArithmeticRow{"add", [](const Dim& a, const Dim& b) { return a + b; }},
    ArithmeticRow{"sub", [](const Dim& a, const Dim& b) { return a - b; }},
    ArithmeticRow{"mul", [](const Dim& a, const Dim& b) { return a * b; }},
    ArithmeticRow{"div", [](const Dim& a, const Dim& b) { return floor_div(a, b); }},
    ArithmeticRow{"max", [](const Dim& a, const Dim& b) { return max(a, b); }},
    ArithmeticRow{"min", [](const Dim& a, const Dim& b) { return min(a, b); }},
    ArithmeticRow{"copy", first},
    ArithmeticRow{"cast", first},
    ArithmeticRow{"tract_core_cast", first},
};

bool is_small(const Tensor& tensor) {
  if (!tensor.shape || !known(*tensor.shape)) return false;
  const Dim items = volume(*tensor.shape);
  return items.valid() && items.value() <= KnownValues::kMaxItems;
}

std::optional<TensorValue> stored_value(const Tensor& variable) {
  if (variable.data == nullptr || is_quantized(variable.data->type)) return std::nullopt;
  return to_value(*variable.data, variable.dtype, variable.item);
}

}  // namespace

void KnownValues::add(const Operation& operation) {
  kinds_.resize(graph_.tensors.size());
  values_.resize(graph_.tensors.size());
  const Kind result = compute(operation);
  each_tensor(operation.outputs, [&](TensorRef ref) { kinds_[ref.index] = result; });
}

void KnownValues::swap(KnownValues& other) {
  kinds_.swap(other.kinds_);
  values_.swap(other.values_);
  pool_.swap(other.pool_);
}

KnownValues::Kind KnownValues::kind(TensorRef ref) const {
  return ref.index < kinds_.size() ? kinds_[ref.index] : Kind::unknown;
}

const TensorValue* KnownValues::find(TensorRef ref) const {
  return kind(ref) == Kind::known ? &values_[ref.index] : nullptr;
}

std::optional<Shape> KnownValues::extents(TensorRef ref) const {
  if (kind(ref) != Kind::extents) return std::nullopt;
  return items(ref);
}

/// Of a tensor of integers.
Shape KnownValues::items(TensorRef ref) const {
  const auto& integers = std::get<TensorValue::Integers>(values_[ref.index].items);
  if (kind(ref) == Kind::known) return {integers.begin(), integers.end()};
  Shape items;
  for (const int64_t place : integers) items.push_back(pool_[static_cast<size_t>(place)]);
  return items;
}

void KnownValues::set_extents(TensorRef ref, const Shape& items) {
  TensorValue value{DType::integer, kTractDimension, reference::to_extents(*graph_[ref].shape), {}};
  TensorValue::Integers places;
  for (const Dim& item : items) {
    places.push_back(static_cast<int64_t>(pool_.size()));
    pool_.push_back(item);
  }
  value.items = std::move(places);
  values_[ref.index] = std::move(value);
}

KnownValues::Kind KnownValues::compute(const Operation& operation) {
  bool known = operation.name != "external";
  bool symbols = false;
  each_tensor(operation.outputs, [&](TensorRef ref) { known = known && is_small(graph_[ref]); });
  if (operation.name == kShapeOf) {
    symbols = !nnef::known(OpView(graph_, operation).shape("input"));
  } else {
    each_tensor(operation.inputs, [&](TensorRef ref) {
      known = known && kind(ref) != Kind::unknown;
      symbols = symbols || kind(ref) == Kind::extents;
    });
  }
  each_item(operation.attributes,
            [&](const Value& item) { symbols = symbols || item.get<Dim>() != nullptr; });
  if (!known) return Kind::unknown;
  if (symbols) return compute_extents(operation);
  if (operation.name == "variable") {
    const TensorRef ref = OpView(graph_, operation).result("output");
    auto value = stored_value(graph_[ref]);
    if (value) values_[ref.index] = std::move(*value);
    return value ? Kind::known : Kind::unknown;
  }
  const auto evaluate = reference::find_evaluator(operation.name);
  if (evaluate == nullptr) return Kind::unknown;
  reference::Evaluation evaluation(graph_, operation, values_);
  evaluate(evaluation);
  return Kind::known;
}

KnownValues::Kind KnownValues::compute_extents(const Operation& operation) {
  const OpView view(graph_, operation);
  bool whole = true;
  const auto look = [&](TensorRef ref) {
    whole = whole && graph_[ref].dtype == DType::integer && graph_[ref].item.bits >= 32;
  };
  each_tensor(operation.outputs, look);
  if (operation.name == kShapeOf) {
    set_extents(view.result("output"), view.shape("input"));
    return Kind::extents;
  }
  each_tensor(operation.inputs, look);
  if (!whole) return Kind::unknown;
  if (operation.name == "constant") {
    const Shape items = view.extent_list("value");
    const auto count = static_cast<size_t>(volume(*graph_[view.result("output")].shape).value());
    set_extents(view.result("output"), items.size() == 1 ? Shape(count, items[0]) : items);
    return Kind::extents;
  }
  return move_extents(operation) || add_extents(operation) ? Kind::extents : Kind::unknown;
}

/// The evaluator moves places in the pool as it moves items.
bool KnownValues::move_extents(const Operation& operation) {
  const auto evaluate = reference::find_evaluator(operation.name);
  if (evaluate == nullptr || std::ranges::find(kMoves, operation.name) == kMoves.end())
    return false;
  bool moves = true;
  std::vector<std::pair<uint32_t, TensorValue>> replaced;
  for (const Argument& input : operation.inputs) {
    each_tensor(input.value, [&](TensorRef ref) {
      if (input.name == kIndices) {
        moves = moves && kind(ref) == Kind::known;
      } else if (kind(ref) == Kind::known) {
        replaced.emplace_back(ref.index, values_[ref.index]);
        set_extents(ref, items(ref));
      }
    });
  }
  // Attributes with symbols move what is not known.
  each_item(operation.attributes,
            [&](const Value& item) { moves = moves && item.get<Dim>() == nullptr; });
  if (moves) {
    reference::Evaluation evaluation(graph_, operation, values_);
    evaluate(evaluation);
  }
  std::ranges::reverse(replaced);
  for (auto& [index, value] : replaced) values_[index] = std::move(value);
  return moves;
}

bool KnownValues::add_extents(const Operation& operation) {
  const auto row = std::ranges::find(kArithmetic, operation.name, &ArithmeticRow::operation);
  if (row == kArithmetic.end()) return false;
  const auto operand = [&](const Value& value) {
    const auto* ref = value.get<TensorRef>();
    return ref != nullptr ? items(*ref) : Shape{extent_of(value)};
  };
  const OpView view(graph_, operation);
  const Value& a = operation.inputs.front().value;
  const Value& b = operation.inputs.back().value;
  const Shape left = operand(a);
  const Shape right = operand(b);
  const reference::Index of_left = reference::to_extents(view.shape_of(a));
  const reference::Index of_right = reference::to_extents(view.shape_of(b));
  const TensorRef result = *operation.outputs[0].value.get<TensorRef>();
  Shape computed;
  reference::each_index(reference::to_extents(*graph_[result].shape), [&](const auto& i) {
    computed.push_back(
        row->compute(left[reference::place(of_left, i)], right[reference::place(of_right, i)]));
  });
  if (!valid(computed)) return false;
  set_extents(result, computed);
  return true;
}

}  // namespace nnef
