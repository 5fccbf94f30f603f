// Sliding windows over tensors of any rank: what the lowerings of windows and of resampling share.
#pragma once

#include <functional>
#include <string>

#include "relax/lowering.h"

namespace nnef_tvm {

/// A window over every axis of a tensor of shape `extents`.
struct Window {
  nnef::Shape extents;
  Ints size;
  Ints stride;
  Ints dilation;
  Pairs padding;  ///< negative: cropped
  std::string border;
  DLDataType dtype;  ///< of the items, as computed

  size_t rank() const { return extents.size(); }
  bool trivial(size_t axis) const;
  /// The number of items.
  int64_t volume() const;
};

/// Of operations with `size` for every axis, with what their shape rules resolved; over the extents
/// of `input`.
Window full_window(const LoweringContext& op, const nnef::Shape& extents);

// border.cc

/// `x` with items added before and after on each axis (negative: cropped), taken from it by NNEF's
/// rules for borders: 'constant' (`value`), 'replicate', 'reflect' (the edge is not repeated),
/// 'reflect-even' (it is).
Expr pad_border(Expr x, const nnef::Shape& extents, const Pairs& padding, const std::string& border,
                double value = 0);
/// Makes all padding part of `x`, with `value` as the constant; `window` is changed to match.
Expr absorb_padding(Expr x, Window& window, double value = 0);
/// Puts factor - 1 zeros between the items of each axis.
Expr insert_zeros(Expr x, const Ints& extents, const Ints& factors);
/// Each item `factor` times in a row on each axis.
Expr repeat_items(const LoweringContext& op, Expr x, const nnef::Shape& extents,
                  const Ints& factors);

// pooling.cc

/// Applies `f` to `x` reshaped to [all before, 1, extent, all after] of `axis`, and gives the
/// result its shape back, with `result` on that axis.
Expr on_axis(Expr x, const Ints& extents, size_t axis, int64_t result,
             const std::function<Expr(Expr x, const Ints& shape)>& f);
Expr max_of_windows(Expr x, Window window);
/// Of the whole window, or, with border 'ignore', of its part inside the input.
Expr mean_of_windows(Expr x, Window window);
/// The transpose of summing over windows; `result` is the shape of the result.
Expr spread_windows(Expr x, const Window& window, const Ints& result);

// window_kernels.cc

/// With any border; 'ignore' adds nothing.
Expr sum_of_windows(const LoweringContext& op);
Expr lower_argmax_pool(const LoweringContext& op);
Expr lower_sample(const LoweringContext& op);
Expr lower_desample(const LoweringContext& op);

// transposed.cc

/// The transpose of a convolution over 1 to 3 spatial axes; the lists are of these axes only.
struct TransposedConv {
  Ints stride;
  Ints dilation;
  Pairs padding;
  std::string border;
  Ints result;
  int64_t groups;
};
/// Makes the items beyond the border that reach into the result part of `x`, whose shape and
/// padding change to match; `spans` are the extents of the dilated window. The constant border is
/// left out.
Expr extend_input(Expr x, Ints& shape, const Ints& spans, TransposedConv& conv);
/// `x` is N, C, spatial; `weight` is [in channels, out channels / groups, spatial]; the shapes are
/// of all axes.
Expr transposed_conv(Expr x, const Ints& shape, Expr weight, const Ints& weight_shape,
                     TransposedConv conv);

// convolution.cc: over any number of spatial axes; the channels that a bias goes to are not its
// concern.

/// `x` has its border already.
Expr any_conv(const LoweringContext& op, const Expr& x);
/// `conv` is of the input without its border; beyond it are zeros.
Expr any_transposed_conv(const LoweringContext& op, const Expr& x, const TransposedConv& conv);

}  // namespace nnef_tvm
