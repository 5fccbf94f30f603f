#include <algorithm>
#include <utility>

#include "relax/lowering.h"

namespace nnef_tvm {
namespace {

using Reduction = Expr (*)(Expr, const Ints&);

/// A reduction over no axes is the input.
Expr reduce(Reduction reduction, Expr x, const Ints& axes) {
  return axes.empty() ? x : reduction(std::move(x), axes);
}

template <Reduction reduction>
Expr lower_reduce(const LoweringContext& op) {
  return reduce(reduction, op.input("input"), op.integers("axes"));
}

/// Of integers, the mean is truncated as integer division is; only the sum must not wrap.
Expr mean(const LoweringContext& op) {
  const Ints axes = op.integers("axes");
  if (!op.is_integer()) return reduce(relax::mean, op.input("input"), axes);
  nnef::Dim volume = 1;
  for (int64_t axis : axes) volume = volume * op.shape("input")[static_cast<size_t>(axis)];
  const Expr sum = reduce(relax::sum, relax::astype(op.input("input"), int64), axes);
  return relax::astype(relax::divide(sum, op.extent_item(volume, int64)), op.whole());
}

Expr lower_sum_reduce(const LoweringContext& op) {
  return op.logical("normalize") ? mean(op)
                                 : reduce(relax::sum, op.input("input"), op.integers("axes"));
}

/// TVM's reductions have no code for bool.
template <Reduction reduction>
Expr lower_logical_reduce(const LoweringContext& op) {
  const Expr x = relax::astype(op.input("input"), int8);
  return relax::astype(reduce(reduction, x, op.integers("axes")), boolean);
}

/// The index along one axis; along several, the row-major position within their volume.
template <Expr (*arg)(Expr, int64_t)>
Expr lower_arg_reduce(const LoweringContext& op) {
  Ints axes = op.integers("axes");
  std::sort(axes.begin(), axes.end());
  const nnef::Shape& extents = op.shape("input");
  Expr x = op.input("input");
  if (axes.empty()) return relax::full(op.dims(extents), integer_constant(0, int32), int32);
  if (axes.size() == 1) return relax::astype(arg(x, axes.front()), int32);
  Ints order;
  nnef::Shape merged;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    order.push_back(static_cast<int64_t>(axis));
    merged.push_back(extents[axis]);
  }
  const auto last = static_cast<int64_t>(merged.size());
  merged.push_back(1);
  for (int64_t axis : axes) {
    order.push_back(axis);
    merged.back() = merged.back() * extents[static_cast<size_t>(axis)];
  }
  const Expr index = arg(relax::reshape(relax::permute_dims(x, order), op.dims(merged)), last);
  return relax::astype(relax::reshape(index, op.result_dims()), int32);
}

/// The last of equals is the first from the end.
template <Expr (*arg)(Expr, int64_t)>
Expr lower_last_arg_reduce(const LoweringContext& op) {
  const int64_t axis = op.integers("axes").front();
  const nnef::Dim last = op.shape("input")[static_cast<size_t>(axis)] - 1;
  const Expr from_end = arg(relax::flip(op.input("input"), axis), axis);
  return relax::subtract(op.extent_item(last, int64), from_end);
}

constexpr LoweringRow rows[] = {
    {"tract_core_product_reduce", lower_reduce<relax::prod>},
    {"tract_core_argmax_reduce_last", lower_last_arg_reduce<relax::argmax>},
    {"tract_core_argmin_reduce_last", lower_last_arg_reduce<relax::argmin>},
    {"sum_reduce", lower_sum_reduce},
    {"max_reduce", lower_reduce<relax::max>},
    {"min_reduce", lower_reduce<relax::min>},
    {"argmax_reduce", lower_arg_reduce<relax::argmax>},
    {"argmin_reduce", lower_arg_reduce<relax::argmin>},
    {"any_reduce", lower_logical_reduce<relax::max>},
    {"all_reduce", lower_logical_reduce<relax::min>},
    {"mean_reduce", mean},
};

}  // namespace

std::span<const LoweringRow> reduce_lowerings() { return rows; }

}  // namespace nnef_tvm
