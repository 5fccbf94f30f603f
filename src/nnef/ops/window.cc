// Sliding windows. Filters (conv and its kin) cover the spatial axes; boxes and pools cover all
// axes.
#include <fmt/format.h>

#include <array>

#include "ops/helpers.h"
#include "ops/window_helpers.h"

namespace nnef {
namespace {

constexpr std::array<std::string_view, 1> kConstantBorder{"constant"};

/// `filter` must have the rank of `input` ("<filter>-rank").
bool check_filter_rank(RuleContext& c, std::string_view filter) {
  const size_t rank = c.shape("input").size();
  const size_t filter_rank = c.shape(filter).size();
  return filter_rank == rank || c.fail(fmt::format("{}-rank", filter), filter,
                                       fmt::format("'{}' has rank {}, expected {} as 'input' has",
                                                   filter, filter_rank, rank));
}

/// Attribute `groups`, where 0 stands for `channels`, one group for each ("groups-negative").
std::optional<Dim> read_groups(RuleContext& c, Dim channels) {
  const int64_t groups = c.integer("groups");
  if (groups < 0) {
    c.fail("groups-negative", "groups",
           fmt::format("'groups' is {}, expected 1 or more, or 0 for one group for each channel",
                       groups));
    return std::nullopt;
  }
  return groups == 0 ? channels : Dim(groups);
}

/// The groups must divide the filter's batch evenly ("<filter>-groups").
bool check_filter_groups(RuleContext& c, std::string_view filter, Dim groups) {
  const Dim batch = c.shape(filter)[0];
  return floor_div(batch, groups) * groups == batch ||
         c.fail(fmt::format("{}-groups", filter), filter,
                fmt::format("the extent {} of '{}' on axis 0 is not a multiple of the {} groups",
                            to_string(batch), filter, to_string(groups)));
}

/// Channels out of a forward filter (channels out, channels in / groups, ...), applied to
/// `channels` ("groups-channels",
/// "<filter>-channels", "<filter>-groups").
std::optional<Dim> filtered_channels(RuleContext& c, std::string_view filter, Dim channels,
                                     Dim groups) {
  const Dim expected = floor_div(channels, groups);
  const Shape& shape = c.shape(filter);
  if (!(expected * groups == channels)) {
    c.fail("groups-channels", "groups",
           fmt::format("{} groups do not divide the {} channels that '{}' is applied to",
                       to_string(groups), to_string(channels), filter));
    return std::nullopt;
  }
  if (!(shape[1] == expected)) {
    c.fail(fmt::format("{}-channels", filter), filter,
           fmt::format("'{}' has extent {} on axis 1, expected {} ({} channels in / groups {})",
                       filter, to_string(shape[1]), to_string(expected), to_string(channels),
                       to_string(groups)),
           shape[1] == 1 ? "groups = 0 applies one filter to each channel" : "");
    return std::nullopt;
  }
  if (!check_filter_groups(c, filter, groups)) return std::nullopt;
  return shape[0];
}

/// Channels out of a reverse filter (n_in, channels_out / groups, ...) ("<filter>-batch",
/// "<filter>-groups").
std::optional<Dim> unfiltered_channels(RuleContext& c, std::string_view filter, Dim channels,
                                       Dim groups) {
  const Shape& shape = c.shape(filter);
  if (!(shape[0] == channels)) {
    c.fail(
        fmt::format("{}-batch", filter), filter,
        fmt::format("'{}' has extent {} on axis 0, expected the {} channels that it is applied to",
                    filter, to_string(shape[0]), to_string(channels)),
        "the filter of a deconvolution is (channels in, channels out / groups, ...)");
    return std::nullopt;
  }
  if (!check_filter_groups(c, filter, groups)) return std::nullopt;
  return shape[1] * groups;
}

/// The bias is singular everywhere but on the channel axis, where it is singular or full. Rank 1 is
/// read as [1,C].
bool check_bias(RuleContext& c, Dim channels) {
  const Shape& bias = c.shape("bias");
  const size_t channel_axis = bias.size() == 1 ? 0 : 1;
  bool fits = bias.size() <= c.shape("input").size();
  for (size_t i = 0; i < bias.size(); ++i) {
    fits = fits && (bias[i] == 1 || (i == channel_axis && bias[i] == channels));
  }
  return fits || c.fail("bias-shape", "bias",
                        fmt::format("'bias' has shape {}, expected [1,{}]", to_string(bias),
                                    to_string(channels)));
}

std::vector<Dim> spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

/// Attribute `output_shape` of a deconvolution, where its batch and channels are fixed by the other
/// operands.
bool check_output_channels(RuleContext& c, Dim batch, Dim channels) {
  const std::vector<int64_t> output_shape = c.integers("output_shape");
  if (output_shape.empty() || (channels == output_shape[1] && batch == output_shape[0]))
    return true;
  return c.fail(
      "output_shape-channels", "output_shape",
      fmt::format("'output_shape' begins with {},{}, expected {},{} (batch and channels)",
                  output_shape[0], output_shape[1], to_string(batch), to_string(channels)));
}

/// The channels that groups = 0 of a deconvolution stands for: those of the output where it is
/// given.
Dim plane_channels(RuleContext& c, Dim channels) {
  const std::vector<int64_t> output_shape = c.integers("output_shape");
  return output_shape.empty() ? channels : Dim(output_shape[1]);
}

bool finish(RuleContext& c, const Window& window, Dim groups, Shape shape) {
  if (!check_known(c, groups, "groups")) return false;
  resolve(c, window);
  c.set_resolved("groups", Value(groups.value()));
  c.set("output", std::move(shape));
  return true;
}

bool conv(RuleContext& c) {
  if (!check_image(c) || !check_filter_rank(c, "filter")) return false;
  const Shape& input = c.shape("input");
  auto window = read_window(c, spatial(c.shape("filter")), "filter", 2, kFilterBorders);
  const auto groups = window ? read_groups(c, input[1]) : std::nullopt;
  const auto channels = groups ? filtered_channels(c, "filter", input[1], *groups) : std::nullopt;
  if (!channels || !check_bias(c, *channels)) return false;
  Shape shape = input;
  shape[1] = *channels;
  if (!slide(c, *window, input, shape)) return false;
  return check_reflection(c, input, 2, window->padding) && finish(c, *window, *groups, shape);
}

bool deconv(RuleContext& c) {
  if (!check_image(c) || !check_filter_rank(c, "filter")) return false;
  const Shape& input = c.shape("input");
  auto window = read_window(c, spatial(c.shape("filter")), "filter", 2, kFilterBorders);
  if (!window || !check_output_shape(c, input.size())) return false;
  const auto groups = read_groups(c, plane_channels(c, input[1]));
  const auto channels = groups ? unfiltered_channels(c, "filter", input[1], *groups) : std::nullopt;
  if (!channels || !check_output_channels(c, input[0], *channels) || !check_bias(c, *channels))
    return false;
  Shape shape = input;
  shape[1] = *channels;
  return slide_back(c, *window, input, shape) && finish(c, *window, *groups, shape);
}

/// What both separable operations ask of their filters: one channel, and single items.
bool check_separable(RuleContext& c) {
  if (!check_image(c) || !check_filter_rank(c, "plane_filter") ||
      !check_filter_rank(c, "point_filter")) {
    return false;
  }
  const Shape& plane = c.shape("plane_filter");
  const Shape& point = c.shape("point_filter");
  if (!(plane[1] == 1)) {
    return c.fail("plane_filter-singular", "plane_filter",
                  fmt::format("'plane_filter' has {} channels, expected 1", to_string(plane[1])));
  }
  return volume(spatial(point)) == 1 ||
         c.fail("point_filter-singular", "point_filter",
                fmt::format("'point_filter' has spatial extents {}, expected 1 everywhere",
                            to_string(spatial(point))));
}

bool separable_conv(RuleContext& c) {
  if (!check_separable(c)) return false;
  const Shape& input = c.shape("input");
  auto window = read_window(c, spatial(c.shape("plane_filter")), "plane_filter", 2, kFilterBorders);
  const auto planes =
      window ? filtered_channels(c, "plane_filter", input[1], input[1]) : std::nullopt;
  const auto groups = planes ? read_groups(c, *planes) : std::nullopt;
  const auto channels =
      groups ? filtered_channels(c, "point_filter", *planes, *groups) : std::nullopt;
  if (!channels || !check_bias(c, *channels)) return false;
  Shape shape = input;
  shape[1] = *channels;
  if (!slide(c, *window, input, shape)) return false;
  return check_reflection(c, input, 2, window->padding) && finish(c, *window, *groups, shape);
}

bool separable_deconv(RuleContext& c) {
  if (!check_separable(c)) return false;
  const Shape& input = c.shape("input");
  auto window = read_window(c, spatial(c.shape("plane_filter")), "plane_filter", 2, kFilterBorders);
  if (!window || !check_output_shape(c, input.size())) return false;
  const auto groups = read_groups(c, input[1]);
  const auto planes =
      groups ? unfiltered_channels(c, "point_filter", input[1], *groups) : std::nullopt;
  const auto channels =
      planes ? unfiltered_channels(c, "plane_filter", *planes, plane_channels(c, *planes))
             : std::nullopt;
  if (!channels || !check_output_channels(c, input[0], *channels) || !check_bias(c, *channels))
    return false;
  Shape shape = input;
  shape[1] = *channels;
  return slide_back(c, *window, input, shape) && finish(c, *window, *groups, shape);
}

std::optional<Shape> pooled(RuleContext& c) {
  const Shape& input = c.shape("input");
  auto size = read_size(c);
  auto window = size ? read_window(c, std::move(*size), "size", 0, kPoolBorders) : std::nullopt;
  Shape shape = input;
  if (!window || !slide(c, *window, input, shape) ||
      !check_reflection(c, input, 0, window->padding)) {
    return std::nullopt;
  }
  resolve(c, *window);
  return shape;
}

bool pool(RuleContext& c) {
  const auto shape = pooled(c);
  if (shape) c.set("output", *shape);
  return shape.has_value();
}

bool argmax_pool(RuleContext& c) {
  const auto shape = pooled(c);
  if (shape) c.set("index", *shape);
  return shape.has_value();
}

bool max_pool_with_index(RuleContext& c) { return pool(c) && argmax_pool(c); }

bool check_index(RuleContext& c, const Shape& expected, std::string_view as) {
  const Shape& index = c.shape("index");
  return index == expected || c.fail("index-shape", "index",
                                     fmt::format("'index' has shape {}, expected {} as {}",
                                                 to_string(index), to_string(expected), as));
}

bool sample(RuleContext& c) {
  const auto shape = pooled(c);
  if (!shape || !check_index(c, *shape, "the result of argmax_pool with this window")) return false;
  c.set("output", *shape);
  return true;
}

bool unpool(RuleContext& c, std::span<const std::string_view> borders) {
  const Shape& input = c.shape("input");
  auto size = read_size(c);
  auto window = size ? read_window(c, std::move(*size), "size", 0, borders) : std::nullopt;
  Shape shape = input;
  if (!window || !check_output_shape(c, input.size()) || !slide_back(c, *window, input, shape)) {
    return false;
  }
  resolve(c, *window);
  c.set("output", shape);
  return true;
}

bool debox(RuleContext& c) { return unpool(c, kPoolBorders); }

bool desample(RuleContext& c) {
  return check_index(c, c.shape("input"), "'input' has") && unpool(c, kConstantBorder);
}

constexpr std::array kRules{
    ShapeRuleRow{"conv", conv},
    ShapeRuleRow{"deconv", deconv},
    ShapeRuleRow{"separable_conv", separable_conv},
    ShapeRuleRow{"separable_deconv", separable_deconv},
    ShapeRuleRow{"box", pool},
    ShapeRuleRow{"debox", debox},
    ShapeRuleRow{"argmax_pool", argmax_pool},
    ShapeRuleRow{"sample", sample},
    ShapeRuleRow{"desample", desample},
    ShapeRuleRow{"max_pool_with_index", max_pool_with_index},
    ShapeRuleRow{"max_pool", pool},
    ShapeRuleRow{"avg_pool", pool},
    ShapeRuleRow{"rms_pool", pool},
};

}  // namespace

std::span<const ShapeRuleRow> window_rules() { return kRules; }

}  // namespace nnef
