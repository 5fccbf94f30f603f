// What elementwise kernels share: operands brought to the result's shape.
#pragma once

#include <functional>

#include "compile/kernels/kernel_call.h"

namespace nnef_tvm {

/// The indices of a tensor that is broadcast to `shape`, which `indices` run over (aligned at the
/// last axis).
te::Indices broadcast_indices(const te::Tensor& tensor, const te::Indices& indices,
                              const te::Shape& shape);

/// An operand of an elementwise kernel: a number known now, or a tensor that is broadcast.
class Operand {
 public:
  Operand(KernelCall& kernel, size_t argument);
  PrimExpr at(const te::Indices& indices) const;

 private:
  te::Shape shape_;  ///< of the result
  std::optional<PrimExpr> item_;
  std::optional<te::Tensor> tensor_;
};

/// The product, modulo 2^n of integers.
PrimExpr multiply(const PrimExpr& a, const PrimExpr& b);

/// A kernel of one stage that computes `body` of the call's arguments, item by item.
Expr map_items(ObjectRef builder, Expr call,
               const std::function<PrimExpr(const std::vector<PrimExpr>&)>& body);

/// Of floats or integers.
Expr power(ObjectRef builder, Expr call);

}  // namespace nnef_tvm
