// Sliding windows: layouts, and the stages that convolutions and poolings share.
#pragma once

#include <string>
#include <string_view>

#include "compile/kernels/kernel_call.h"

namespace nnef_tvm {

/// Which axis of a tensor is which, from TVM's layout strings without blocks: "NHWC", "OIHW".
class Layout {
 public:
  explicit Layout(std::string_view names);

  /// Whether every axis is a letter of its own (blocked layouts such as "NCHW16c" are not).
  bool is_plain() const;
  size_t axis(char name) const { return names_.find(name); }
  /// The axes of depth, height and width, as far as there are any.
  const std::vector<size_t>& spatial() const { return spatial_; }
  /// For names of stages: "nhwc"
  std::string suffix() const;

 private:
  std::string names_;
  std::vector<size_t> spatial_;
};

/// One spatial axis of a window.
struct WindowAxis {
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;  ///< padding
  int64_t after = 0;
};

/// From the attributes "strides", "dilation" and "padding" (all befores, then all afters).
std::vector<WindowAxis> window_axes(const KernelCall& kernel);

/// Padding of one axis of a tensor; negative amounts cut off.
struct Padding {
  size_t axis;
  PrimExpr before;
  PrimExpr after;
};

/// The tensor with `value` around it; the tensor itself when all amounts are known to be zero.
te::Tensor pad_stage(const te::Tensor& x, const std::vector<Padding>& paddings,
                     const PrimExpr& value);

/// What is added to `after` so that every window that the result's extent asks for is inside
/// (rounding up makes windows that stick out).
PrimExpr missing_padding(const WindowAxis& window, const PrimExpr& extent, const PrimExpr& size,
                         const PrimExpr& result_extent);

Expr conv(ObjectRef builder, Expr call);
Expr conv_transpose(ObjectRef builder, Expr call);
Expr max_pool(ObjectRef builder, Expr call);
Expr avg_pool(ObjectRef builder, Expr call);
Expr adaptive_avg_pool(ObjectRef builder, Expr call);

}  // namespace nnef_tvm
