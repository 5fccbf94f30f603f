#include <algorithm>

#include "relax/ops/window.h"

namespace nnef_tvm {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

Expr extend_input(Expr x, Ints& shape, const Ints& spans, TransposedConv& conv) {
  if (conv.border == "constant" || conv.border == "ignore") return x;
  Pairs more(2);
  for (size_t i = 0; i < spans.size(); ++i) {
    auto& [before, after] = conv.padding[i];
    const int64_t stride = conv.stride[i];
    const int64_t first = floor_div(spans[i] - 1 - before, stride);
    const int64_t last = floor_div(conv.result[i] - 1 + before, stride) - (shape[i + 2] - 1);
    more.emplace_back(first, last);
    before += first * stride;
    after += last * stride;
  }
  x = pad_border(std::move(x), to_shape(shape), more, conv.border);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    shape[axis] += more[axis].first + more[axis].second;
  }
  return x;
}

Expr transposed_conv(Expr x, const Ints& shape, Expr weight, const Ints& weight_shape,
                     TransposedConv conv) {
  const size_t rank = conv.stride.size();
  Ints spread{1, 1};
  Ints spans;
  for (size_t i = 0; i < rank; ++i) {
    spread.push_back(conv.dilation[i]);
    spans.push_back((weight_shape[i + 2] - 1) * conv.dilation[i] + 1);
  }
  // TVM has no dilated transposed convolution of its own: the weight is dilated instead.
  weight = insert_zeros(std::move(weight), weight_shape, spread);
  Ints extents = shape;
  x = extend_input(std::move(x), extents, spans, conv);

  Ints before;
  Ints after;
  Ints remainder;
  bool direct = true;
  Pairs crop(2);
  Ints whole{extents[0], weight_shape[1] * conv.groups};
  for (size_t i = 0; i < rank; ++i) {
    const auto [p, q] = conv.padding[i];
    whole.push_back((extents[i + 2] - 1) * conv.stride[i] + spans[i]);
    before.push_back(p);
    after.push_back(q);
    remainder.push_back(conv.result[i] + p + q - whole.back());
    crop.emplace_back(-p, conv.result[i] + p - whole.back());
    direct = direct && p >= 0 && q >= 0 && p < spans[i] && q < spans[i] && remainder[i] >= 0 &&
             remainder[i] < conv.stride[i];
  }
  const Ints ones(rank, 1);
  if (direct) {
    before.insert(before.end(), after.begin(), after.end());
    return relax::conv_transpose(x, weight, conv.stride, before, remainder, ones, conv.groups);
  }
  const Ints zeros(2 * rank, 0);
  const Expr all =
      relax::conv_transpose(x, weight, conv.stride, zeros, Ints(rank, 0), ones, conv.groups);
  return pad_border(all, to_shape(whole), crop, "constant");
}

}  // namespace nnef_tvm
