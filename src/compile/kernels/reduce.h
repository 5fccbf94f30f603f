// Reductions: index arithmetic and stages that several kernels build on.
#pragma once

#include "compile/kernels/kernel_call.h"

namespace nnef_tvm {

/// The space of a tensor with some axes reduced.
class ReducedSpace {
 public:
  /// With `keep`, reduced axes stay in the result with extent 1.
  ReducedSpace(const te::Shape& shape, std::vector<size_t> axes, bool keep);

  const te::Shape& shape() const { return shape_; }
  const std::vector<te::ReduceAxis>& axes() const { return axes_; }
  /// Indices of the whole tensor, for indices of the result, inside a reduction.
  te::Indices source(const te::Indices& indices) const;
  /// How many items are reduced to one.
  PrimExpr count() const { return count_; }
  bool is_empty() const { return is_known(count_, 0); }
  /// The place of an item among those that are reduced with it.
  PrimExpr position() const;

 private:
  static constexpr size_t kReduced = static_cast<size_t>(-1);

  te::Shape shape_;
  std::vector<te::ReduceAxis> axes_;
  std::vector<PrimExpr> extents_;    ///< of the reduced axes
  std::vector<size_t> result_axis_;  ///< of each axis of the tensor, or kReduced
  PrimExpr count_;
};

/// What sums and products are accumulated in: 16-bit floats lose too much, and booleans are
/// counted.
DLDataType accumulator_type(DLDataType type);

/// The tensor in the type, item by item (integers wrap around); itself when it has it.
te::Tensor cast_stage(const te::Tensor& x, DLDataType type);

struct RowReducer {
  PrimExpr (*reduce)(const PrimExpr& value, std::span<const te::ReduceAxis> axes);
  PrimExpr (*combine)(const PrimExpr& a, const PrimExpr& b);
};

/// `value` of the items of a tensor of this shape, reduced. What of a row does not fill vectors is
/// a stage of its own, so that the others can be vectors without conditions.
te::Tensor reduction_stage(const te::Shape& shape, const std::vector<size_t>& axes, bool keep,
                           const std::string& name, const te::Body& value,
                           const RowReducer& reducer);
/// Sum of `value` of the tensor's items.
te::Tensor sum_stage(const te::Tensor& x, const std::vector<size_t>& axes, bool keep,
                     const std::string& name, const te::Body& value);
/// Mean of `value` of the tensor's items.
te::Tensor mean_stage(const te::Tensor& x, const std::vector<size_t>& axes, bool keep,
                      const std::string& name, const te::Body& value);
/// Mean squared distance from the mean, in two passes, so that a large mean does no harm.
te::Tensor variance_stage(const te::Tensor& x, const te::Tensor& kept_mean,
                          const std::vector<size_t>& axes, bool keep);
/// `indices` with 0 on the axes.
te::Indices at_kept(te::Indices indices, const std::vector<size_t>& axes);

Expr softmax(ObjectRef builder, Expr call);
Expr log_softmax(ObjectRef builder, Expr call);
Expr cumulate(ObjectRef builder, Expr call);
Expr sort(ObjectRef builder, Expr call);
Expr argsort(ObjectRef builder, Expr call);
Expr topk(ObjectRef builder, Expr call);

}  // namespace nnef_tvm
