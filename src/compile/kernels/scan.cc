// Sorting and running sums as reductions: each item looks at all items along its axis. Quadratic,
// but parallel, and the same on every target.
#include "compile/kernels/reduce.h"

namespace nnef_tvm {
namespace {

te::Indices with(te::Indices indices, size_t axis, const PrimExpr& index) {
  indices[axis] = index;
  return indices;
}

/// How many items along the axis come before each item; equal items keep their order.
te::Tensor rank_stage(const te::Tensor& x, size_t axis, bool descending) {
  const te::ReduceAxis other = te::reduce_axis(x.extent(axis), "k");
  return te::compute(x.shape(), "rank", [&](const te::Indices& i) {
    const PrimExpr mine = x(i);
    const PrimExpr theirs = x(with(i, axis, other.index));
    const PrimExpr precedes = descending ? gt(theirs, mine) : lt(theirs, mine);
    const PrimExpr tie = both(eq(theirs, mine), lt(other.index, i[axis]));
    return te::sum(cast(either(precedes, tie), int64), {&other, 1});
  });
}

/// Where the item of each rank stands along the axis, for the first `count` ranks.
te::Tensor position_stage(const te::Tensor& rank, size_t axis, const PrimExpr& count) {
  const te::ReduceAxis place = te::reduce_axis(rank.extent(axis), "k");
  te::Shape shape = rank.shape();
  shape[axis] = count;
  return te::compute(shape, "position", [&](const te::Indices& i) {
    const PrimExpr is_it = eq(rank(with(i, axis, place.index)), i[axis]);
    return te::sum(select(is_it, place.index, int_imm(0)), {&place, 1});
  });
}

te::Tensor take_stage(const te::Tensor& x, const te::Tensor& position, size_t axis) {
  return te::compute(position.shape(), "sorted", [&](const te::Indices& i) {
    // NaNs share a rank, so that positions may have been added up.
    return x(with(i, axis, min(position(i), x.extent(axis) - 1)));
  });
}

te::Tensor named_cast(const te::Tensor& x, DLDataType type, const std::string& name) {
  return te::compute(x.shape(), name, [&](const te::Indices& i) { return cast(x(i), type); });
}

}  // namespace

Expr cumulate(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  te::Tensor x = kernel.input(0);
  const bool is_sum = kernel.name() == "cumsum";
  const bool is_flat = !kernel.has("axis");
  const size_t axis = is_flat ? 0 : kernel.axis("axis", x.rank());
  if (is_flat && x.rank() != 1) return call;
  const bool exclusive = kernel.flag("exclusive");
  const DLDataType type = wrapping_type(accumulator_type(kernel.dtype()));
  const te::ReduceAxis earlier = te::reduce_axis(x.extent(axis), "k");
  const te::Tensor result = te::compute(x.shape(), kernel.name(), [&](const te::Indices& i) {
    const PrimExpr counts = exclusive ? lt(earlier.index, i[axis]) : le(earlier.index, i[axis]);
    const PrimExpr item =
        select(counts, cast(x(with(i, axis, earlier.index)), type), number(is_sum ? 0 : 1, type));
    return is_sum ? te::sum(item, {&earlier, 1}) : te::prod(item, {&earlier, 1});
  });
  return kernel.finish(cast_stage(result, kernel.dtype()));
}

Expr sort(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const size_t axis = kernel.axis("axis", x.rank());
  const te::Tensor rank = rank_stage(x, axis, kernel.flag("descending"));
  return kernel.finish(take_stage(x, position_stage(rank, axis, x.extent(axis)), axis));
}

Expr argsort(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const size_t axis = kernel.axis("axis", x.rank());
  const te::Tensor rank = rank_stage(x, axis, kernel.flag("descending"));
  const te::Tensor position = position_stage(rank, axis, x.extent(axis));
  return kernel.finish(named_cast(position, kernel.dtype(), "argsort"));
}

Expr topk(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const size_t axis = kernel.axis("axis", x.rank());
  const te::Tensor rank = rank_stage(x, axis, kernel.flag("largest"));
  const te::Tensor position = position_stage(rank, axis, kernel.shape()[axis]);
  const te::Tensor values = take_stage(x, position, axis);
  const std::string wanted = kernel.text("ret_type");
  if (wanted == "values") return kernel.finish("topk", {values});
  const DLDataType type = kernel.dtype(kernel.results() - 1);
  const te::Tensor indices = named_cast(position, type, "topk_indices");
  if (wanted == "indices") return kernel.finish("topk", {indices});
  return kernel.finish("topk", {values, indices});
}

}  // namespace nnef_tvm
