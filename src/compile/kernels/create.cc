// Tensors from numbers and shapes.
#include "compile/kernels/elementwise.h"
#include "compile/kernels/movement.h"

namespace nnef_tvm {
namespace {

Expr filled(ObjectRef builder, Expr call, double value) {
  KernelCall kernel(builder, call);
  return kernel.finish(te::compute(
      kernel.shape(), "full", [&](const te::Indices&) { return number(value, kernel.dtype()); }));
}

/// The diagonals of a matrix that an item is on, below, or above.
PrimExpr diagonal(const te::Indices& i) { return i[i.size() - 1] - i[i.size() - 2]; }

template <PrimExpr (*stays)(const PrimExpr&, const PrimExpr&)>
Expr triangle(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const PrimExpr k = cast(kernel.prim(1), int64);
  const te::Tensor x = kernel.input(0);
  return kernel.finish(te::compute(x.shape(), kernel.name(), [&](const te::Indices& i) {
    return select(stays(diagonal(i), k), x(i), number(0, x.dtype()));
  }));
}

}  // namespace

Expr full(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const Operand value(kernel, 1);
  return kernel.finish(te::compute(kernel.shape(), "full", [&](const te::Indices& i) {
    return cast(value.at(i), kernel.dtype());
  }));
}

Expr ones(ObjectRef builder, Expr call) { return filled(builder, call, 1); }
Expr zeros(ObjectRef builder, Expr call) { return filled(builder, call, 0); }

Expr arange(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const PrimExpr start = kernel.prim(0);
  const PrimExpr step = kernel.prim(2);
  return kernel.finish(te::compute(kernel.shape(), "arange", [&](const te::Indices& i) {
    return cast(start + cast(i[0], item_type(start)) * cast(step, item_type(start)),
                kernel.dtype());
  }));
}

/// eye(rows, columns, k) and eye_like(matrix, k): ones on the k-th diagonal.
Expr eye(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const PrimExpr k = cast(kernel.prim(kernel.arity() - 1), int64);
  return kernel.finish(te::compute(kernel.shape(), kernel.name(), [&](const te::Indices& i) {
    return cast(eq(diagonal(i), k), kernel.dtype());
  }));
}

Expr tril(ObjectRef builder, Expr call) { return triangle<le>(builder, call); }
Expr triu(ObjectRef builder, Expr call) { return triangle<ge>(builder, call); }

}  // namespace nnef_tvm
