// Operations of tract that move items.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/helpers.h"
#include "tract_types.h"

namespace nnef {
namespace {

constexpr std::array<std::string_view, 5> kReductions{"none", "add", "mul", "min", "max"};
/// A range of more items is taken for a fault.
constexpr int64_t kMaxRange = int64_t{1} << 24;

bool to_shape(RuleContext& c) {
  const Shape target = c.extent_list("shape");
  if (!check_extents(c, "shape", target)) return false;
  const Shape& input = c.shape("input");
  auto shape = broadcast(target, input);
  if (!shape) {
    return c.fail("shape", "shape",
                  fmt::format("'input' has shape {}, which does not broadcast to {}",
                              to_string(input), to_string(target)));
  }
  c.set("output", std::move(*shape));
  return true;
}

bool gather_elements(RuleContext& c) {
  const Shape& input = c.shape("input");
  const Shape& indices = c.shape("indices");
  if (!check_axis(c, input.size())) return false;
  if (indices.size() != input.size()) {
    return c.fail("indices-rank", "indices",
                  fmt::format("'indices' has rank {}, expected {} as 'input' has", indices.size(),
                              input.size()));
  }
  c.set("output", indices);
  return true;
}

/// The axes of `input` that the last axis of `indices` counts, after `batch` ones.
std::optional<size_t> indexed_axes(RuleContext& c, size_t batch) {
  const Shape& input = c.shape("input");
  const Shape& indices = c.shape("indices");
  const bool has_axis = !indices.empty() && indices.back().known();
  const auto depth = has_axis ? static_cast<size_t>(indices.back().value()) : 0;
  if (has_axis && depth + batch <= input.size()) return depth;
  c.fail("indices-depth", "indices",
         fmt::format("'indices' has shape {}: its last extent counts axes of 'input' of shape {}",
                     to_string(indices), to_string(input)));
  return std::nullopt;
}

bool gather_nd(RuleContext& c) {
  const Shape& input = c.shape("input");
  const Shape& indices = c.shape("indices");
  const int64_t batch = c.integer("batch_dims");
  if (batch < 0 || static_cast<size_t>(batch) >= std::min(input.size(), indices.size())) {
    return c.fail("batch-range", "batch_dims",
                  fmt::format("'batch_dims' is {}, but 'input' has shape {} and 'indices' {}",
                              batch, to_string(input), to_string(indices)));
  }
  const auto depth = indexed_axes(c, static_cast<size_t>(batch));
  if (!depth) return false;
  Shape shape(indices.begin(), indices.end() - 1);
  shape.insert(shape.end(), input.begin() + batch + static_cast<ptrdiff_t>(*depth), input.end());
  c.set("output", std::move(shape));
  return true;
}

bool scatter_elements(RuleContext& c) {
  const Shape& input = c.shape("input");
  const Shape& indices = c.shape("indices");
  if (!check_axis(c, input.size()) || !check_choice(c, "reduction", kReductions)) return false;
  if (indices.size() != input.size() || indices != c.shape("updates")) {
    return c.fail("indices-shape", "indices",
                  fmt::format("'indices' has shape {} and 'updates' {}, expected one shape of the "
                              "rank of 'input'",
                              to_string(indices), to_string(c.shape("updates"))));
  }
  c.set("output", input);
  return true;
}

bool scatter_nd(RuleContext& c) {
  const Shape& input = c.shape("input");
  const Shape& indices = c.shape("indices");
  if (!check_choice(c, "reduction", kReductions)) return false;
  const auto depth = indexed_axes(c, 0);
  if (!depth) return false;
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), input.begin() + static_cast<ptrdiff_t>(*depth), input.end());
  if (c.shape("updates") != expected) {
    return c.fail("updates-shape", "updates",
                  fmt::format("'updates' has shape {}, expected {}", to_string(c.shape("updates")),
                              to_string(expected)));
  }
  c.set("output", input);
  return true;
}

bool trilu(RuleContext& c) {
  const Shape& input = c.shape("input");
  if (input.size() < 2) {
    return c.fail("input-rank", "input",
                  fmt::format("'input' has rank {}, expected 2 or more", input.size()));
  }
  c.set("output", input);
  return true;
}

double as_real(const Value& value) {
  if (const auto* real = value.get<double>()) return *real;
  const auto* integer = value.get<int64_t>();
  return integer ? static_cast<double>(*integer) : std::nan("");
}

/// Between extents with symbols.
bool extent_range(RuleContext& c) {
  const Dim step = extent_of(c.value("step"));
  const Dim length = ceil_div(extent_of(c.value("end")) - extent_of(c.value("start")), step);
  if (!step.known() || step.value() < 1 || !c.require_at_least(length, 1)) {
    return c.fail("extents", "end",
                  "a range between symbols has whole bounds and a step of 1 or more");
  }
  c.set("output", {length}, DType::integer);
  c.set_resolved("item", Value(to_string(kTractDimension)));
  return true;
}

bool range(RuleContext& c) {
  for (const std::string_view name : {"start", "end", "step"}) {
    if (c.value(name).get<Dim>()) return extent_range(c);
  }
  double bounds[3];
  bool whole = true;
  constexpr std::array<std::string_view, 3> kNames{"start", "end", "step"};
  for (size_t i = 0; i < kNames.size(); ++i) {
    bounds[i] = as_real(c.value(kNames[i]));
    whole = whole && c.value(kNames[i]).get<int64_t>();
  }
  const double length = std::ceil((bounds[1] - bounds[0]) / bounds[2]);
  if (!(length >= 1 && length <= static_cast<double>(kMaxRange))) {
    return c.fail("length", "end",
                  fmt::format("the range from {} to {} by {} has no items, or too many", bounds[0],
                              bounds[1], bounds[2]));
  }
  c.set("output", {static_cast<int64_t>(length)}, whole ? DType::integer : DType::scalar);
  if (whole) c.set_resolved("item", Value(to_string(kTractDimension)));
  return true;
}

bool topk(RuleContext& c) {
  Shape shape = c.shape("input");
  if (!check_axis(c, shape.size())) return false;
  const int64_t k = c.integer("k");
  Dim& extent = shape[static_cast<size_t>(c.integer("axis"))];
  if (k < 1 || !c.require_at_least(extent, k)) {
    return c.fail("k-range", "k",
                  fmt::format("'k' is {}, expected 1 to {}, the extent of axis {}", k,
                              to_string(extent), c.integer("axis")));
  }
  extent = k;
  c.set("values", shape);
  c.set("indices", shape);
  c.set_resolved("item", Value(to_string(kTractDimension)));
  return true;
}

constexpr std::array<std::string_view, 4> kCoordinates{"half_pixel", "pytorch_half_pixel",
                                                       "align_corners", "asymmetric"};
constexpr std::array<std::string_view, 3> kInterpolators{"nearest", "linear", "cubic"};
constexpr std::array<std::string_view, 4> kNearestModes{"floor", "ceil", "round_prefer_floor",
                                                        "round_prefer_ceil"};

bool resize(RuleContext& c) {
  if (!check_choice(c, "coord_transformer", kCoordinates) ||
      !check_choice(c, "interpolator", kInterpolators) ||
      !check_choice(c, "nearest_mode", kNearestModes)) {
    return false;
  }
  Shape shape = c.shape("input");
  const std::vector<Value>& scales = c.items("scales");
  const std::vector<int64_t> sizes = c.integers("sizes");
  const std::string_view given = scales.empty() ? "sizes" : "scales";
  if (!check_length(c, given, scales.empty() ? sizes.size() : scales.size(), shape.size(), "axis"))
    return false;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!shape[axis].known()) {
      const double scale = scales.empty() ? 0 : *scales[axis].get<double>();
      if (!(scale >= 1 && std::floor(scale) == scale && scale <= static_cast<double>(kMaxRange)))
        return check_known(c, shape[axis], given);
      shape[axis] = shape[axis] * static_cast<int64_t>(scale);
      continue;
    }
    const double scaled =
        scales.empty()
            ? static_cast<double>(sizes[axis])
            : std::floor(static_cast<double>(shape[axis].value()) * *scales[axis].get<double>());
    if (!(scaled >= 1 && scaled <= static_cast<double>(kMaxRange))) {
      return c.fail("extent", given,
                    fmt::format("axis {} of extent {} would have the extent {}", axis,
                                to_string(shape[axis]), scaled));
    }
    shape[axis] = static_cast<int64_t>(scaled);
  }
  c.set("output", shape);
  return true;
}

constexpr std::array kRules{
    ShapeRuleRow{"tract_core_resize", resize},
    ShapeRuleRow{"tract_core_broadcast", to_shape},
    ShapeRuleRow{"tract_core_gather_elements", gather_elements},
    ShapeRuleRow{"tract_core_gather_nd", gather_nd},
    ShapeRuleRow{"tract_core_scatter_elements", scatter_elements},
    ShapeRuleRow{"tract_core_scatter_nd", scatter_nd},
    ShapeRuleRow{"tract_core_trilu", trilu},
    ShapeRuleRow{"tract_core_range", range},
    ShapeRuleRow{"tract_core_topk", topk},
};

}  // namespace

std::span<const ShapeRuleRow> tract_movement_rules() { return kRules; }

}  // namespace nnef
