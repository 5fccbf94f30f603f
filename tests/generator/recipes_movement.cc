#include <algorithm>
#include <array>
#include <numeric>

#include "recipes.h"

namespace generator {
namespace {

constexpr std::array<const char*, 4> kBorders{"constant", "replicate", "reflect", "reflect-even"};

/// Tensors that no operation computes: as they are, or copied.
template <Given::Kind K>
void given(Draft& d, const std::string&) {
  const DType dtype = d.any_type();
  const Operand tensor = d.make(K, dtype, d.shape(d.rank()));
  if (d.choices.flip()) d.call("copy", {tensor}, {});
}

void update(Draft& d, const std::string& operation) {
  const DType dtype = d.any_type();
  const Operand value = d.tensor(dtype);
  d.call(operation, {d.make(Given::Kind::variable, dtype, value.shape), value}, {});
}

void reshape(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type());
  const auto rank = static_cast<int64_t>(x.shape.size());
  std::vector<std::string> attributes;
  int64_t start = 0, end = rank;
  if (d.choices.rarely(3)) {
    start = d.choices.integer(0, rank);
    attributes.push_back(attribute("axis_start", start));
    if (d.choices.flip()) {
      const int64_t count = d.choices.integer(0, rank - start);
      end = start + count;
      attributes.push_back(attribute("axis_count", count));
    }
  }
  int64_t left = std::accumulate(x.shape.begin() + start, x.shape.begin() + end, int64_t{1},
                                 std::multiplies<>());
  Extents target;
  const int64_t parts = d.choices.integer(0, 4);
  for (int64_t i = 0; i < parts; ++i) {
    Extents divisors;
    for (int64_t divisor = 1; divisor <= left; ++divisor) {
      if (left % divisor == 0) divisors.push_back(divisor);
    }
    target.push_back(d.choices.pick(divisors));
    left /= target.back();
  }
  if (left != 1 || d.choices.flip()) target.push_back(left);
  if (!target.empty() && d.choices.flip()) {
    const auto at = d.choices.below(static_cast<uint32_t>(target.size()));
    const size_t axis = static_cast<size_t>(start) + at;
    const bool kept = axis < x.shape.size() && x.shape[axis] == target[at] && d.choices.flip();
    target[at] = kept ? 0 : -1;
  }
  attributes.push_back(attribute("shape", target));
  d.call(operation, {x}, attributes);
}

void transpose(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type());
  Extents axes(x.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes.resize(axes.size() -
              d.choices.below(static_cast<uint32_t>(std::min<size_t>(axes.size(), 2)) + 1));
  for (size_t i = 0; i + 1 < axes.size(); ++i) {
    std::swap(axes[i], axes[i + d.choices.below(static_cast<uint32_t>(axes.size() - i))]);
  }
  d.call(operation, {x}, {attribute("axes", axes)});
}

void concat(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type(), 1);
  const auto axis = d.choices.below(static_cast<uint32_t>(x.shape.size()));
  std::vector<Operand> values{x};
  const int64_t more = d.choices.integer(0, 3);
  for (int64_t i = 0; i < more; ++i) {
    Extents shape = x.shape;
    shape[axis] = d.extent(3);
    values.push_back(d.shaped(x.dtype, shape));
  }
  d.call_array(operation, values, {attribute("axis", int64_t{axis})}, true, std::nullopt);
}

void stack(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type());
  const auto axis = d.choices.below(static_cast<uint32_t>(x.shape.size() + 1));
  std::vector<Operand> values{x};
  const int64_t more = d.choices.integer(0, 3);
  for (int64_t i = 0; i < more; ++i) values.push_back(d.shaped(x.dtype, x.shape));
  d.call_array(operation, values, {attribute("axis", int64_t{axis})}, true, std::nullopt);
}

void unstack(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type(), 1);
  const auto axis = d.choices.below(static_cast<uint32_t>(x.shape.size()));
  d.call_array(operation, {x}, {attribute("axis", int64_t{axis})}, false,
               static_cast<size_t>(x.shape[axis]));
}

void split(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type(), 1);
  const auto axis = d.choices.below(static_cast<uint32_t>(x.shape.size()));
  Extents ratios;
  for (int64_t left = x.shape[axis]; left > 0; left -= ratios.back()) {
    ratios.push_back(left - d.choices.below(static_cast<uint32_t>(left)));
  }
  int64_t unit = 0;
  for (const int64_t ratio : ratios) unit = std::gcd(unit, ratio);
  if (d.choices.flip()) {
    for (int64_t& ratio : ratios) ratio /= unit;
  }
  d.call_array(operation, {x}, {attribute("axis", int64_t{axis}), attribute("ratios", ratios)},
               false, ratios.size());
}

/// A bound within the axis, counted from either end, or beyond it.
int64_t written(Draft& d, int64_t bound, int64_t extent) {
  if (bound < 0) return -extent - 1;
  if (bound == extent) return d.choices.flip() ? bound + 2 : bound;
  return d.choices.rarely(3) ? bound - extent : bound;
}

void slice(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type(), 1);
  const Extents axes = draw_axes(d, x.shape.size());
  const bool strided = d.choices.flip();
  Extents begins, ends, strides;
  for (const int64_t axis : axes) {
    const int64_t extent = x.shape[static_cast<size_t>(axis)];
    int64_t begin = d.choices.integer(0, extent - 1);
    const int64_t stride = strided ? d.choices.integer(-3, 3) : 1;
    strides.push_back(stride == 0 ? 2 : stride);
    int64_t end = begin + 1 + d.choices.integer(0, extent - begin - 1);
    if (stride < 0) end = begin - 1 - d.choices.integer(0, begin);
    begins.push_back(written(d, begin, extent));
    ends.push_back(!strided && end == extent && d.choices.flip() ? 0 : written(d, end, extent));
  }
  std::vector<std::string> attributes{attribute("axes", axes), attribute("begin", begins),
                                      attribute("end", ends)};
  if (strided) attributes.push_back(attribute("stride", strides));
  d.call(operation, {x}, attributes);
}

void squeeze(Draft& d, const std::string& operation) {
  const auto has_single = [](const Extents& shape) { return std::ranges::count(shape, 1) > 0; };
  const Operand x = d.operand(d.any_type(), has_single, [&] {
    Extents shape = d.shape(d.rank(1));
    shape[d.choices.below(static_cast<uint32_t>(shape.size()))] = 1;
    return shape;
  });
  Extents axes;
  for (size_t axis = 0; axis < x.shape.size(); ++axis) {
    if (x.shape[axis] == 1 && !d.choices.rarely(3)) axes.push_back(static_cast<int64_t>(axis));
  }
  d.call(operation, {x}, {attribute("axes", axes)});
}

void unsqueeze(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type());
  const int64_t count = d.choices.integer(1, 3);
  Extents axes;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t last = static_cast<int64_t>(x.shape.size()) + count - 1;
    const int64_t axis = d.choices.integer(0, last);
    if (std::ranges::find(axes, axis) == axes.end()) axes.push_back(axis);
  }
  d.call(operation, {x}, {attribute("axes", axes)});
}

void tile(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type());
  Extents repeats;
  for (size_t i = 0; i < x.shape.size(); ++i) repeats.push_back(d.choices.integer(1, 3));
  d.call(operation, {x}, {attribute("repeats", repeats)});
}

void pad(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.number());
  const uint32_t border = d.choices.below(kBorders.size());
  Pairs padding;
  for (const int64_t extent : x.shape) {
    int64_t most = 3;
    if (border >= 2) most = std::min(most, border == 2 ? extent - 1 : extent);
    const int64_t least = std::max<int64_t>(-1, -(extent - 1) / 2);
    const int64_t before = d.choices.integer(least, most);
    padding.emplace_back(before, d.choices.integer(least, most));
  }
  std::vector<std::string> attributes{attribute("padding", padding)};
  if (border != 0 || d.choices.flip()) attributes.push_back(quoted("border", kBorders[border]));
  if (d.choices.flip()) attributes.push_back("value = " + d.literal(DType::scalar, {-2, 2}).text);
  d.call(operation, {x}, attributes);
}

void gather(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type(), 1);
  const auto axis = d.choices.below(static_cast<uint32_t>(x.shape.size()));
  const auto extent = static_cast<double>(x.shape[axis]);
  // Negative indices count from the end; those beyond the axis are clamped to it.
  const Range range =
      d.choices.rarely(4) ? Range{-2 * extent, 2 * extent} : Range{-extent, extent - 1};
  const Operand indices = d.fresh(DType::integer, d.shape(d.choices.below(3)), range);
  std::vector<std::string> attributes;
  if (axis != 0 || d.choices.flip()) attributes.push_back(attribute("axis", int64_t{axis}));
  d.call(operation, {x, indices}, attributes);
}

void cast(Draft& d, const std::string& operation) {
  constexpr std::array<const char*, 3> types{"scalar", "integer", "logical"};
  const Operand x = d.tensor(d.any_type());
  d.call(operation + "<" + types[d.choices.below(3)] + ">", {x}, {});
}

constexpr std::array kRecipes{
    Recipe{"external", given<Given::Kind::external>, Precision::exact},
    Recipe{"variable", given<Given::Kind::variable>, Precision::exact},
    Recipe{"constant", given<Given::Kind::constant>, Precision::exact},
    Recipe{"update", update, Precision::exact},
    Recipe{"reshape", reshape, Precision::exact},
    Recipe{"transpose", transpose, Precision::exact},
    Recipe{"concat", concat, Precision::exact},
    Recipe{"split", split, Precision::exact},
    Recipe{"slice", slice, Precision::exact},
    Recipe{"squeeze", squeeze, Precision::exact},
    Recipe{"unsqueeze", unsqueeze, Precision::exact},
    Recipe{"stack", stack, Precision::exact},
    Recipe{"unstack", unstack, Precision::exact},
    Recipe{"tile", tile, Precision::exact},
    Recipe{"pad", pad, Precision::exact},
    Recipe{"gather", gather, Precision::exact},
    Recipe{"cast", cast, Precision::exact},
};

}  // namespace

std::span<const Recipe> movement_recipes() { return kRecipes; }

}  // namespace generator
