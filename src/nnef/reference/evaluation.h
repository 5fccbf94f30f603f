// What the evaluator's functions see: the operation by the names of its declaration, the values of
// its operands, and a place for those of its results.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "nnef/graph.h"
#include "reference/value.h"

namespace nnef::reference {

/// A tensor's items in row-major order, as numbers to compute with.
template <typename T>
struct Items {
  Index shape;
  std::vector<T> values;
};

int64_t volume(const Index& shape);
/// The row-major place of `index` in a tensor of this shape. Axes of extent 1 are repeated, and so
/// is the whole tensor along the axes of `index` beyond its rank.
size_t place(const Index& shape, const Index& index);

/// Visits all indices of a shape in row-major order.
template <typename Visit>
void each_index(const Index& shape, const Visit& visit) {
  Index index(shape.size());
  for (int64_t left = volume(shape); left > 0; --left) {
    visit(std::as_const(index));
    for (size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];) index[axis] = 0;
  }
}

/// Integers wrap, which the item type of the result makes whole.
inline double plus(double a, double b) { return a + b; }
inline double times(double a, double b) { return a * b; }
inline Integer plus(Integer a, Integer b) {
  return static_cast<Integer>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b));
}
inline Integer times(Integer a, Integer b) {
  return static_cast<Integer>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b));
}
/// Integers are truncated, and a quotient by 0 is 0.
inline double quotient(double a, double b) { return a / b; }
inline Integer quotient(Integer a, Integer b) { return b == 0 ? 0 : a / b; }

class Evaluation : public OpView {
 public:
  Evaluation(const Graph& graph, const Operation& operation, std::vector<TensorValue>& values)
      : OpView(graph, operation), values_(&values) {}

  /// Calls f(Integer{}) when all operands are of integers or logicals, else f(double{}).
  template <typename F>
  void in_domain_of(std::initializer_list<std::string_view> operands, const F& f) const {
    const bool real = std::ranges::any_of(
        operands, [&](std::string_view name) { return dtype(name) == DType::scalar; });
    in_domain(real, f);
  }
  /// The same for the operands of an array.
  template <typename F>
  void in_domain_of_items(std::string_view name, const F& f) const {
    const auto& operands = items(name);
    const bool real = std::ranges::any_of(
        operands, [&](const Value& value) { return dtype_of(value) == DType::scalar; });
    in_domain(real, f);
  }

  /// An operand, by name or as an item of an array; a literal has rank 0.
  template <typename T>
  Items<T> numbers(std::string_view name) const {
    return numbers_of<T>(value(name));
  }
  template <typename T>
  Items<T> numbers_of(const Value& value) const {
    if constexpr (std::is_same_v<T, double>) {
      return real_numbers(value);
    } else {
      return whole_numbers(value);
    }
  }

  Index extents(TensorRef tensor) const { return to_extents(*graph()[tensor].shape); }
  Index result_extents(std::string_view name) const { return extents(result(name)); }

  /// Sets a result: all of its items in row-major order.
  template <typename T>
  void set(TensorRef result, const std::vector<T>& items) {
    const Tensor& tensor = graph()[result];
    const ItemType item = stored_item(tensor);
    (*values_)[result.index] = make_value(tensor.dtype, item, extents(result), items);
    (*values_)[result.index].item = tensor.item;
  }
  template <typename T>
  void set(std::string_view name, const std::vector<T>& items) {
    set(result(name), items);
  }

 private:
  template <typename F>
  static void in_domain(bool real, const F& f) {
    real ? f(double{}) : f(Integer{});
  }
  Items<double> real_numbers(const Value& value) const;
  Items<Integer> whole_numbers(const Value& value) const;
  /// float64 for what a compound computes on its way to its result: it is not rounded.
  ItemType stored_item(const Tensor& tensor) const;

  std::vector<TensorValue>* values_;
};

using Evaluator = void (*)(Evaluation&);

struct EvaluatorRow {
  std::string_view name;
  Evaluator evaluate;
};

/// The family tables (one for each file), and the look-up over all of them.
std::span<const EvaluatorRow> elementwise_evaluators();
std::span<const EvaluatorRow> reduce_evaluators();
std::span<const EvaluatorRow> window_evaluators();
std::span<const EvaluatorRow> resample_evaluators();
std::span<const EvaluatorRow> movement_evaluators();
std::span<const EvaluatorRow> linear_evaluators();
std::span<const EvaluatorRow> tract_evaluators();
std::span<const EvaluatorRow> tract_movement_evaluators();
/// Null for operations without one.
Evaluator find_evaluator(std::string_view name);

}  // namespace nnef::reference
