// Introduction of tensors, and movement of items without arithmetic.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "ops/helpers.h"

namespace nnef {
namespace {

constexpr std::array<std::string_view, 4> kBorders{"constant", "replicate", "reflect",
                                                   "reflect-even"};

/// The attribute `shape` of operations that introduce a tensor ("shape-positive").
std::optional<Shape> declared_shape(RuleContext& c) {
  Shape shape = c.extent_list("shape");
  if (!check_extents(c, "shape", shape)) return std::nullopt;
  return shape;
}

bool declare(RuleContext& c) {
  const auto shape = declared_shape(c);
  if (!shape) return false;
  c.set("output", *shape);
  return true;
}

bool constant(RuleContext& c) {
  const auto shape = declared_shape(c);
  if (!shape) return false;
  const std::vector<Value>& items = c.items("value");
  if (items.size() != 1 && !(volume(*shape) == static_cast<int64_t>(items.size()))) {
    return c.fail(
        "value-count", "value",
        fmt::format("'value' has {}, expected 1 or {}, the volume of {}",
                    count(items.size(), "item"), to_string(volume(*shape)), to_string(*shape)));
  }
  const DType dtype = c.graph()[c.result("output")].dtype;
  const auto other =
      std::ranges::find_if(items, [&](const Value& item) { return c.dtype_of(item) != dtype; });
  if (other != items.end()) {
    return c.fail(
        "value-type", "value",
        fmt::format("item {} of 'value' is of type {}, expected {}", other - items.begin(),
                    to_string(c.dtype_of(*other)), to_string(dtype)));
  }
  c.set("output", *shape);
  return true;
}

bool update(RuleContext& c) {
  const Shape& variable = c.shape("variable");
  if (!(c.shape("value") == variable)) {
    return c.fail("value-shape", "value",
                  fmt::format("'value' has shape {}, expected {} as the variable has",
                              to_string(c.shape("value")), to_string(variable)));
  }
  c.set("result", variable);
  return true;
}

/// The range of axes that a reshape replaces ("axis_start-range", "axis_count-range").
struct AxisRange {
  size_t begin;
  size_t end;
};

std::optional<AxisRange> reshaped_axes(RuleContext& c) {
  const auto rank = static_cast<int64_t>(c.shape("input").size());
  const int64_t start = c.integer("axis_start");
  const int64_t axis_count = c.integer("axis_count");
  if (start < 0 || start > rank) {
    c.fail("axis_start-range", "axis_start",
           fmt::format("'axis_start' is {}, expected 0 to {}", start, rank));
    return std::nullopt;
  }
  if (axis_count < -1 || axis_count > rank - start) {
    c.fail("axis_count-range", "axis_count",
           fmt::format("'axis_count' is {}, expected 0 to {}, or -1 for all that follow",
                       axis_count, rank - start));
    return std::nullopt;
  }
  const int64_t end = axis_count == -1 ? rank : start + axis_count;
  return AxisRange{static_cast<size_t>(start), static_cast<size_t>(end)};
}

/// Attribute `shape` of a reshape with 0 (as the input has) replaced, and the position of -1 (else
/// -1).
std::optional<std::pair<Shape, ptrdiff_t>> reshape_target(RuleContext& c, size_t axis_start) {
  const Shape& input = c.shape("input");
  const Shape items = c.extent_list("shape");
  Shape target = items;
  ptrdiff_t open = -1;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!c.require_at_least(items[i], items[i].known() ? -1 : 1)) {
      c.fail("shape-items", "shape",
             fmt::format("'shape' is {}: item {} is {}, expected an extent, 0 or -1",
                         to_string(items), i, to_string(items[i])));
      return std::nullopt;
    }
    if (items[i] == -1 && open != -1) {
      c.fail("shape-open", "shape",
             fmt::format("'shape' is {}: items {} and {} are -1, only one can be computed",
                         to_string(items), open, i));
      return std::nullopt;
    }
    if (items[i] == 0 && axis_start + i >= input.size()) {
      c.fail("shape-zero", "shape",
             fmt::format("'shape' is {}: item {} is 0, but 'input' has no axis {}",
                         to_string(items), i, axis_start + i));
      return std::nullopt;
    }
    if (items[i] == -1) open = static_cast<ptrdiff_t>(i);
    if (items[i] == 0) target[i] = input[axis_start + i];
  }
  return std::pair{target, open};
}

bool reshape(RuleContext& c) {
  const auto range = reshaped_axes(c);
  auto parsed = range ? reshape_target(c, range->begin) : std::nullopt;
  if (!parsed) return false;
  auto& [target, open] = *parsed;
  const Shape& input = c.shape("input");
  const auto begin = input.begin() + static_cast<ptrdiff_t>(range->begin);
  const auto end = input.begin() + static_cast<ptrdiff_t>(range->end);
  const Shape replaced(begin, end);
  const Dim items = volume(replaced);
  if (open >= 0) {
    target[static_cast<size_t>(open)] = 1;
    target[static_cast<size_t>(open)] = floor_div(items, volume(target));
  }
  if (!c.require_equal(volume(target), items)) {
    return c.fail("volume", "shape",
                  fmt::format("{} items of {} do not fill the shape {}", to_string(items),
                              to_string(replaced), to_string(c.extent_list("shape"))));
  }
  Shape shape(input.begin(), begin);
  shape.insert(shape.end(), target.begin(), target.end());
  shape.insert(shape.end(), end, input.end());
  c.set_resolved("shape", shape);
  c.set("output", shape);
  return true;
}

/// The axes listed are a permutation of the first ones; those that follow stay.
bool transpose(RuleContext& c) {
  const Shape& input = c.shape("input");
  std::vector<int64_t> axes = c.integers("axes");
  if (axes.size() > input.size()) {
    return c.fail("axes-rank", "axes",
                  fmt::format("'axes' has {}, but 'input' has rank {}", count(axes.size(), "item"),
                              input.size()));
  }
  if (!check_axes(c, axes.size())) return false;
  for (size_t axis = axes.size(); axis < input.size(); ++axis) {
    axes.push_back(static_cast<int64_t>(axis));
  }
  Shape shape;
  for (const int64_t axis : axes) shape.push_back(input[static_cast<size_t>(axis)]);
  c.set_resolved("axes", axes);
  c.set("output", shape);
  return true;
}

/// "item 2 ('x')"
std::string item_name(const RuleContext& c, size_t index) {
  const TensorRef* ref = c.items("values")[index].get<TensorRef>();
  return fmt::format("item {}{}", index,
                     ref != nullptr ? fmt::format(" ('{}')", c.graph()[*ref].name) : "");
}

/// Arrays of tensors that are joined must have items ("values-empty").
bool check_values(RuleContext& c) {
  return !c.items("values").empty() ||
         c.fail("values-empty", "values", "'values' is empty, expected 1 tensor or more");
}

bool concat(RuleContext& c) {
  if (!check_values(c)) return false;
  const std::vector<Value>& values = c.items("values");
  Shape shape = c.shape_of(values[0]);
  if (!check_axis(c, shape.size())) return false;
  const auto axis = static_cast<size_t>(c.integer("axis"));
  for (size_t i = 1; i < values.size(); ++i) {
    Shape other = c.shape_of(values[i]);
    const Dim extent = axis < other.size() ? other[axis] : Dim();
    if (axis < other.size()) other[axis] = shape[axis];
    if (!(other == shape)) {
      return c.fail(
          "values-shape", "values",
          fmt::format("{} has shape {}, item 0 has {}: only axis {} may differ", item_name(c, i),
                      to_string(c.shape_of(values[i])), to_string(c.shape_of(values[0])), axis));
    }
    shape[axis] = shape[axis] + extent;
  }
  c.set("value", shape);
  return true;
}

bool stack(RuleContext& c) {
  if (!check_values(c)) return false;
  const std::vector<Value>& values = c.items("values");
  Shape shape = c.shape_of(values[0]);
  if (!check_axis(c, shape.size() + 1)) return false;
  for (size_t i = 1; i < values.size(); ++i) {
    if (c.shape_of(values[i]) == shape) continue;
    return c.fail("values-shape", "values",
                  fmt::format("{} has shape {}, expected {} as item 0 has", item_name(c, i),
                              to_string(c.shape_of(values[i])), to_string(shape)));
  }
  shape.insert(shape.begin() + static_cast<ptrdiff_t>(c.integer("axis")),
               static_cast<int64_t>(values.size()));
  c.set("value", shape);
  return true;
}

bool unstack(RuleContext& c) {
  Shape shape = c.shape("value");
  if (!check_axis(c, shape.size())) return false;
  const auto axis = shape.begin() + static_cast<ptrdiff_t>(c.integer("axis"));
  if (!check_known(c, *axis, "axis")) return false;
  const size_t results = c.results("values").size();
  if (!check_results(c, "values", static_cast<size_t>(axis->value()),
                     fmt::format("the extent of axis {}", c.integer("axis")))) {
    return false;
  }
  shape.erase(axis);
  for (size_t i = 0; i < results; ++i) c.set_item("values", i, shape);
  return true;
}

bool split(RuleContext& c) {
  Shape shape = c.shape("value");
  const std::vector<int64_t> ratios = c.integers("ratios");
  if (!check_axis(c, shape.size()) || !check_positive(c, "ratios", ratios)) return false;
  if (!check_results(c, "values", ratios.size(), "'ratios'")) return false;
  const auto axis = static_cast<size_t>(c.integer("axis"));
  const Dim parts = std::accumulate(ratios.begin(), ratios.end(), Dim(0),
                                    [](Dim sum, int64_t ratio) { return sum + ratio; });
  const Dim unit = floor_div(shape[axis], parts);
  if (!c.require_equal(unit * parts, shape[axis])) {
    return c.fail("ratios-divide", "ratios",
                  fmt::format("the sum {} of 'ratios' {} does not divide the extent {} of axis {}",
                              to_string(parts), to_string(ratios), to_string(shape[axis]), axis));
  }
  Shape sizes;
  for (size_t i = 0; i < ratios.size(); ++i) {
    shape[axis] = unit * ratios[i];
    sizes.push_back(shape[axis]);
    c.set_item("values", i, shape);
  }
  c.set_resolved("sizes", sizes);
  return true;
}

/// One axis of a slice, normalised as for Python's range(begin, end, stride).
struct SliceRange {
  Dim begin;
  Dim end;
  int64_t stride;
};

/// Negative bounds count from the end; both are clamped to [-1, extent]. What begins inside for
/// some values of a symbol has to for all.
Dim slice_begin(RuleContext& c, const Dim& bound, const Dim& extent) {
  const Dim counted = bound.most() < 0 ? bound + extent : bound;
  if (counted.known() && extent.known()) return max(-1, min(counted, extent));
  return c.require_at_least(counted, 0) && c.require_at_least(extent - 1, counted) ? counted
                                                                                   : Dim();
}

Dim slice_end(RuleContext& c, const Dim& bound, const Dim& extent) {
  const Dim counted = bound.most() < 0 ? bound + extent : bound;
  if (!bound.known() && bound.most() >= 0 && !c.require_at_least(bound, 0)) return {};
  return max(-1, min(counted, extent));
}

/// The lengths and items of the lists of a slice ("begin-rank", "end-rank", "stride-rank",
/// "stride-zero"), as written.
std::optional<std::vector<SliceRange>> slice_ranges(RuleContext& c) {
  const size_t axes = c.integers("axes").size();
  const Shape begin = c.extent_list("begin");
  const Shape end = c.extent_list("end");
  std::vector<int64_t> stride = c.integers("stride");
  if (stride.empty()) stride.assign(axes, 1);
  if (!check_length(c, "begin", begin.size(), axes, "item of 'axes'") ||
      !check_length(c, "end", end.size(), axes, "item of 'axes'") ||
      !check_length(c, "stride", stride.size(), axes, "item of 'axes'")) {
    return std::nullopt;
  }
  if (std::ranges::find(stride, 0) != stride.end()) {
    c.fail("stride-zero", "stride",
           fmt::format("'stride' is {}, expected no 0", to_string(stride)));
    return std::nullopt;
  }
  std::vector<SliceRange> ranges;
  for (size_t i = 0; i < axes; ++i) ranges.push_back({begin[i], end[i], stride[i]});
  return ranges;
}

/// With strides of 1 an end of 0 is the end of the axis, as old files write it.
bool slice(RuleContext& c) {
  Shape shape = c.shape("input");
  auto ranges = check_axes(c, shape.size()) ? slice_ranges(c) : std::nullopt;
  if (!ranges) return false;
  const bool open_ends = std::ranges::all_of(*ranges, [](const auto& r) { return r.stride == 1; });
  const std::vector<int64_t> axes = c.integers("axes");
  Shape begins;
  Shape ends;
  std::vector<int64_t> strides;
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& extent = shape[static_cast<size_t>(axes[i])];
    const auto& [begin, end, stride] = (*ranges)[i];
    const Dim first = slice_begin(c, begin, extent);
    const Dim last = open_ends && end == 0 ? extent : slice_end(c, end, extent);
    const Dim length =
        stride > 0 ? ceil_div(last - first, stride) : ceil_div(first - last, Dim(0) - stride);
    if (!c.require_at_least(length, 1) || !c.require_at_least(first, 0) ||
        !c.require_at_least(extent - 1, first)) {
      return c.fail(
          "range", "begin",
          fmt::format("axis {} has extent {}: {} to {} with stride {} selects nothing, or "
                      "begins outside of it",
                      axes[i], to_string(extent), to_string(begin), to_string(end), stride));
    }
    extent = length;
    begins.push_back(first);
    ends.push_back(last);
    strides.push_back(stride);
  }
  c.set_resolved("begin", begins);
  c.set_resolved("end", ends);
  c.set_resolved("stride", strides);
  c.set("output", shape);
  return true;
}

bool squeeze(RuleContext& c) {
  const Shape& input = c.shape("input");
  if (!check_axes(c, input.size())) return false;
  const std::vector<int64_t> axes = c.integers("axes");
  Shape shape;
  for (size_t i = 0; i < input.size(); ++i) {
    const bool listed = std::ranges::find(axes, static_cast<int64_t>(i)) != axes.end();
    if (!listed) shape.push_back(input[i]);
    if (listed && !(input[i] == 1)) {
      return c.fail("axes-extent", "axes",
                    fmt::format("axis {} has extent {}, only extents of 1 can be removed", i,
                                to_string(input[i])));
    }
  }
  c.set("output", shape);
  return true;
}

/// Axes are positions in the output, inserted in the order in which they are listed.
bool unsqueeze(RuleContext& c) {
  Shape shape = c.shape("input");
  const std::vector<int64_t> axes = c.integers("axes");
  if (!check_axes(c, shape.size() + axes.size())) return false;
  for (const int64_t axis : axes) {
    const auto position = std::min(static_cast<size_t>(axis), shape.size());
    shape.insert(shape.begin() + static_cast<ptrdiff_t>(position), 1);
  }
  c.set("output", shape);
  return true;
}

bool tile(RuleContext& c) {
  Shape shape = c.shape("input");
  const Shape repeats = c.extent_list("repeats");
  if (!check_length(c, "repeats", repeats.size(), shape.size(), "axis") ||
      !check_extents(c, "repeats", repeats)) {
    return false;
  }
  for (size_t i = 0; i < shape.size(); ++i) shape[i] = shape[i] * repeats[i];
  c.set("output", shape);
  return true;
}

bool pad(RuleContext& c) {
  const Shape& input = c.shape("input");
  const auto padding = c.pairs("padding");
  if (!check_choice(c, "border", kBorders) ||
      !check_length(c, "padding", padding.size(), input.size(), "axis") ||
      !check_crop(c, input, 0, padding) || !check_reflection(c, input, 0, padding)) {
    return false;
  }
  Shape shape = input;
  for (size_t i = 0; i < shape.size(); ++i) {
    shape[i] = shape[i] + padding[i].first + padding[i].second;
  }
  c.set_resolved("padding", padding);
  c.set("output", shape);
  return true;
}

bool gather(RuleContext& c) {
  const Shape& input = c.shape("input");
  const Shape& indices = c.shape("indices");
  if (!check_axis(c, input.size())) return false;
  const auto axis = input.begin() + static_cast<ptrdiff_t>(c.integer("axis"));
  Shape shape(input.begin(), axis);
  shape.insert(shape.end(), indices.begin(), indices.end());
  shape.insert(shape.end(), axis + 1, input.end());
  c.set("output", shape);
  return true;
}

bool cast(RuleContext& c) {
  c.set("output", c.shape("input"));
  return true;
}

constexpr std::array kRules{
    ShapeRuleRow{"external", declare},
    ShapeRuleRow{"variable", declare},
    ShapeRuleRow{"constant", constant},
    ShapeRuleRow{"update", update},
    ShapeRuleRow{"reshape", reshape},
    ShapeRuleRow{"transpose", transpose},
    ShapeRuleRow{"concat", concat},
    ShapeRuleRow{"split", split},
    ShapeRuleRow{"slice", slice},
    ShapeRuleRow{"squeeze", squeeze},
    ShapeRuleRow{"unsqueeze", unsqueeze},
    ShapeRuleRow{"stack", stack},
    ShapeRuleRow{"unstack", unstack},
    ShapeRuleRow{"tile", tile},
    ShapeRuleRow{"pad", pad},
    ShapeRuleRow{"gather", gather},
    ShapeRuleRow{"cast", cast},
};

}  // namespace

std::span<const ShapeRuleRow> movement_rules() { return kRules; }

}  // namespace nnef
