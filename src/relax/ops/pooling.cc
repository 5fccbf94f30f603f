#include <algorithm>
#include <limits>
#include <numeric>

#include "relax/ops/window.h"

namespace nnef_tvm {
namespace {

using namespace relax::operators;

constexpr size_t max_spatial_rank = 3;

/// Whether TVM's pools take the window as it is: spatial axes only.
bool is_spatial(const Window& window) {
  return window.rank() >= 3 && window.rank() <= max_spatial_rank + 2 && window.trivial(0) &&
         window.trivial(1);
}

/// The windows of one pool operator of TVM: all befores, then all afters.
struct SpatialWindow {
  Ints size;
  Ints stride;
  Ints padding;
  Ints dilation;
};

SpatialWindow spatial_part(const Window& window) {
  SpatialWindow part;
  Ints after;
  for (size_t axis = 2; axis < window.rank(); ++axis) {
    part.size.push_back(window.size[axis]);
    part.stride.push_back(window.stride[axis]);
    part.dilation.push_back(window.dilation[axis]);
    part.padding.push_back(window.padding[axis].first);
    after.push_back(window.padding[axis].second);
  }
  part.padding.insert(part.padding.end(), after.begin(), after.end());
  return part;
}

/// The part of `window` on one axis, for [all before, 1, extent, all after].
SpatialWindow axis_part(const Window& window, size_t axis) {
  const auto [before, after] = window.padding[axis];
  return {{window.size[axis], 1},
          {window.stride[axis], 1},
          {before, 0, after, 0},
          {window.dilation[axis], 1}};
}

nnef::Dim positions(const Window& window, size_t axis) {
  const auto [before, after] = window.padding[axis];
  const int64_t span = (window.size[axis] - 1) * window.dilation[axis] + 1;
  return floor_div(window.extents[axis] + before + after - span, window.stride[axis]) + 1;
}

/// Means and maxima over a window are those over its axes, one after the other.
Expr pool(Expr x, Window window, const std::function<Expr(Expr, const SpatialWindow&)>& pool_op) {
  if (is_spatial(window)) return pool_op(std::move(x), spatial_part(window));
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    if (window.trivial(axis)) continue;
    const int64_t result = known_extent(positions(window, axis));
    x = on_axis(x, to_extents(window.extents), axis, result, [&](Expr flat, const Ints&) {
      return pool_op(std::move(flat), axis_part(window, axis));
    });
    window.extents[axis] = result;
  }
  return x;
}

/// With border 'ignore', what is cropped is not part of the input.
Expr crop(Expr x, Window& window) {
  Pairs negative;
  for (auto& [before, after] : window.padding) {
    negative.emplace_back(std::min<int64_t>(before, 0), std::min<int64_t>(after, 0));
  }
  x = pad_border(std::move(x), window.extents, negative, "constant");
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    window.extents[axis] = window.extents[axis] + negative[axis].first + negative[axis].second;
    window.padding[axis].first -= negative[axis].first;
    window.padding[axis].second -= negative[axis].second;
  }
  return x;
}

bool has_crop(const Window& window) {
  return std::any_of(window.padding.begin(), window.padding.end(),
                     [](const auto& pair) { return pair.first < 0 || pair.second < 0; });
}

/// For each position along an axis, how many items of the window are inside there.
Ints inside_counts(const Window& window, size_t axis) {
  Ints counts;
  const int64_t extent = known_extent(window.extents[axis]);
  const int64_t count = known_extent(positions(window, axis));
  for (int64_t i = 0; i < count; ++i) {
    int64_t inside = 0;
    for (int64_t k = 0; k < window.size[axis]; ++k) {
      const int64_t at =
          i * window.stride[axis] + k * window.dilation[axis] - window.padding[axis].first;
      inside += at >= 0 && at < extent ? 1 : 0;
    }
    counts.push_back(inside);
  }
  return counts;
}

bool is_dilated(const Window& window) {
  return std::any_of(window.dilation.begin(), window.dilation.end(),
                     [](int64_t dilation) { return dilation != 1; });
}

/// From means over whole windows to means over their parts inside the input.
Expr rescale_inside(Expr mean, const Window& window) {
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    if (window.padding[axis] == std::pair<int64_t, int64_t>()) continue;
    std::vector<double> ratios;
    for (int64_t inside : inside_counts(window, axis)) {
      ratios.push_back(static_cast<double>(window.size[axis]) /
                       static_cast<double>(std::max<int64_t>(inside, 1)));
    }
    Ints shape(window.rank(), 1);
    shape[axis] = known_extent(positions(window, axis));
    mean = mean * constant(ratios, shape, window.dtype);
  }
  return mean;
}

/// Whether a window without gaps is too long to fit in the padding.
bool reaches_inside(const Window& window, size_t axis) {
  const auto [before, after] = window.padding[axis];
  return window.dilation[axis] == 1 && before < window.size[axis] && after < window.size[axis];
}

/// Zero where a window has no item inside.
Expr clear_empty(Expr maximum, const Window& window) {
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    if (reaches_inside(window, axis)) continue;
    const Ints counts = inside_counts(window, axis);
    if (std::find(counts.begin(), counts.end(), 0) == counts.end()) continue;
    Ints shape(window.rank(), 1);
    shape[axis] = known_extent(positions(window, axis));
    const std::vector<double> inside(counts.begin(), counts.end());
    const Expr is_empty = relax::equal(constant(inside, shape, float32), constant(0, float32));
    maximum = relax::where(is_empty, constant(0, window.dtype), maximum);
  }
  return maximum;
}

}  // namespace

Expr on_axis(Expr x, const Ints& extents, size_t axis, int64_t result,
             const std::function<Expr(Expr x, const Ints& shape)>& f) {
  const auto at = extents.begin() + static_cast<std::ptrdiff_t>(axis);
  const int64_t before = std::accumulate(extents.begin(), at, int64_t{1}, std::multiplies<>());
  const int64_t after = std::accumulate(at + 1, extents.end(), int64_t{1}, std::multiplies<>());
  const Ints flat{before, 1, extents[axis], after};
  Ints shape = extents;
  shape[axis] = result;
  return relax::reshape(f(relax::reshape(std::move(x), flat), flat), shape);
}

Expr max_of_windows(Expr x, Window window) {
  x = window.border == "ignore" ? crop(std::move(x), window) : absorb_padding(std::move(x), window);
  const Expr maximum = pool(std::move(x), window, [](Expr input, const SpatialWindow& part) {
    return relax::max_pool(std::move(input), part.size, part.stride, part.padding, part.dilation);
  });
  return clear_empty(maximum, window);
}

Expr mean_of_windows(Expr x, Window window) {
  const bool ignore = window.border == "ignore";
  if (ignore) {
    x = crop(std::move(x), window);
  } else if (window.border != "constant" || has_crop(window)) {
    x = absorb_padding(std::move(x), window);
  }
  // TVM counts what is inside a window by its span, which is wrong for dilated ones.
  const bool rescale = ignore && is_dilated(window);
  const bool count_padding = !ignore || rescale;
  const Expr mean = pool(std::move(x), window, [&](Expr input, const SpatialWindow& part) {
    return relax::avg_pool(std::move(input), part.size, part.stride, part.padding, part.dilation,
                           count_padding);
  });
  return rescale ? rescale_inside(mean, window) : mean;
}

Expr spread_windows(Expr x, const Window& window, const Ints& result) {
  Ints extents = to_extents(window.extents);
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    if (window.trivial(axis) && result[axis] == extents[axis]) continue;
    const int64_t size = window.size[axis];
    const std::vector<double> ones(static_cast<size_t>(size), 1.0);
    const Expr weight = constant(ones, Ints{1, 1, size, 1}, window.dtype);
    x = on_axis(x, extents, axis, result[axis], [&](Expr flat, const Ints& shape) {
      return transposed_conv(std::move(flat), shape, weight, {1, 1, size, 1},
                             {.stride = {window.stride[axis], 1},
                              .dilation = {window.dilation[axis], 1},
                              .padding = {window.padding[axis], {0, 0}},
                              .border = window.border,
                              .result = {result[axis], shape.back()},
                              .groups = 1});
    });
    extents[axis] = result[axis];
  }
  return x;
}

}  // namespace nnef_tvm
