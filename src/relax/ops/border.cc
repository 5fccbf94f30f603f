#include <algorithm>

#include "relax/ops/window.h"

namespace nnef_tvm {
namespace {

int64_t floor_mod(int64_t a, int64_t b) { return (a % b + b) % b; }

/// The item of [0, extent) that stands at position `i`, which may be outside.
int64_t border_index(int64_t i, int64_t extent, const std::string& border) {
  if (border == "replicate") return std::clamp<int64_t>(i, 0, extent - 1);
  const bool repeats_edge = border == "reflect-even";
  const int64_t period = std::max<int64_t>(2 * (repeats_edge ? extent : extent - 1), 1);
  const int64_t at = floor_mod(i, period);
  return at < extent ? at : period - at - (repeats_edge ? 1 : 0);
}

Expr pad_constant(Expr x, const nnef::Shape& extents, const Pairs& padding, double value) {
  Ints width;
  Ints axes;
  Ints begin;
  Ints end;
  for (size_t axis = 0; axis < padding.size(); ++axis) {
    const auto [before, after] = padding[axis];
    width.push_back(std::max<int64_t>(before, 0));
    width.push_back(std::max<int64_t>(after, 0));
    if (before >= 0 && after >= 0) continue;
    axes.push_back(static_cast<int64_t>(axis));
    begin.push_back(std::max<int64_t>(-before, 0));
    end.push_back(begin.back() + known_extent(extents[axis]) + before + after);
  }
  const bool grows = std::any_of(width.begin(), width.end(), [](int64_t w) { return w != 0; });
  if (grows) x = relax::pad(x, width, value);
  if (!axes.empty()) x = relax::strided_slice(x, axes, begin, end, Ints(axes.size(), 1));
  return x;
}

/// Shapes with each axis that has a factor split in two, for the items and for their copies.
struct Interleaved {
  nnef::Shape split;
  nnef::Shape filled;
  nnef::Shape merged;
};

Interleaved interleave(const nnef::Shape& extents, const Ints& factors) {
  Interleaved shapes;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    shapes.split.push_back(extents[axis]);
    shapes.filled.push_back(extents[axis]);
    shapes.merged.push_back(extents[axis] * factors[axis]);
    if (factors[axis] == 1) continue;
    shapes.split.push_back(1);
    shapes.filled.push_back(factors[axis]);
  }
  return shapes;
}

}  // namespace

bool Window::trivial(size_t axis) const {
  return size[axis] == 1 && stride[axis] == 1 && padding[axis] == std::pair<int64_t, int64_t>();
}

int64_t Window::volume() const {
  int64_t items = 1;
  for (int64_t extent : size) items *= extent;
  return items;
}

Window full_window(const LoweringContext& op, const nnef::Shape& extents) {
  return {extents,
          op.integers("size"),
          op.resolved_integers("stride"),
          op.resolved_integers("dilation"),
          op.resolved_pairs("padding"),
          op.string("border"),
          op.real()};
}

Expr pad_border(Expr x, const nnef::Shape& extents, const Pairs& padding, const std::string& border,
                double value) {
  if (border == "constant" || border == "ignore") {
    return pad_constant(std::move(x), extents, padding, value);
  }
  for (size_t axis = 0; axis < padding.size(); ++axis) {
    const auto [before, after] = padding[axis];
    if (before == 0 && after == 0) continue;
    const int64_t extent = known_extent(extents[axis]);
    std::vector<double> indices;
    for (int64_t i = -before; i < extent + after; ++i) {
      indices.push_back(static_cast<double>(border_index(i, extent, border)));
    }
    const Ints count{static_cast<int64_t>(indices.size())};
    x = relax::take(x, constant(indices, count, int32), static_cast<int64_t>(axis), "clip");
  }
  return x;
}

Expr absorb_padding(Expr x, Window& window, double value) {
  x = pad_border(std::move(x), window.extents, window.padding, window.border, value);
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    window.extents[axis] =
        window.extents[axis] + window.padding[axis].first + window.padding[axis].second;
    window.padding[axis] = {0, 0};
  }
  return x;
}

Expr insert_zeros(Expr x, const Ints& extents, const Ints& factors) {
  if (std::all_of(factors.begin(), factors.end(), [](int64_t f) { return f == 1; })) return x;
  const Interleaved shapes = interleave(to_shape(extents), factors);
  Ints width;
  Pairs crop;
  for (size_t i = 0; i < shapes.split.size(); ++i) {
    width.push_back(0);
    width.push_back(known_extent(shapes.filled[i] - shapes.split[i]));
  }
  for (int64_t factor : factors) crop.emplace_back(0, 1 - factor);
  x = relax::pad(relax::reshape(std::move(x), to_extents(shapes.split)), width, 0);
  return pad_constant(relax::reshape(x, to_extents(shapes.merged)), shapes.merged, crop, 0);
}

Expr repeat_items(const LoweringContext& op, Expr x, const nnef::Shape& extents,
                  const Ints& factors) {
  const Interleaved shapes = interleave(extents, factors);
  x = relax::reshape(std::move(x), op.dims(shapes.split));
  return relax::reshape(relax::broadcast_to(x, op.dims(shapes.filled)), op.dims(shapes.merged));
}

}  // namespace nnef_tvm
