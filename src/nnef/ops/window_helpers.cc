#include "ops/window_helpers.h"

#include <fmt/format.h>

#include "ops/helpers.h"

namespace nnef {
namespace {

/// A list of the wrong length, cut or filled as its author probably meant it: windows of filters
/// have no items for batch and channels, windows of pools do.
template <typename T>
std::vector<T> fitted(std::vector<T> list, size_t length, const T& neutral) {
  const bool leading = list.size() == length + 2 && list[0] == neutral && list[1] == neutral;
  if (leading) list.erase(list.begin(), list.begin() + 2);
  if (list.size() + 2 == length) list.insert(list.begin(), 2, neutral);
  list.resize(length, list.empty() ? neutral : T(list.back()));
  return list;
}

template <typename T>
bool check_window_list(RuleContext& c, std::string_view attribute, const std::vector<T>& list,
                       const Window& window, const T& neutral, std::string_view otherwise) {
  const size_t rank = window.size.size();
  if (list.empty() || list.size() == rank) return true;
  std::string hint = fmt::format("write {} = {}, or leave it out for {}", attribute,
                                 to_string(fitted(list, rank, neutral)), otherwise);
  return check_length(c, attribute, list.size(), rank, window.first == 0 ? "axis" : "spatial axis",
                      std::move(hint));
}

/// The extent of the dilated window on the axis of item `i`.
Dim span(const Window& window, size_t i) { return (window.size[i] - 1) * window.dilation[i] + 1; }

/// The number of positions of the window along `extent`. Automatic padding is set to what covers
/// all of `extent`, the odd item after it.
Dim positions(Window& window, size_t i, Dim extent) {
  const Dim stride = window.stride[i];
  auto& [before, after] = window.padding[i];
  if (!window.automatic) {
    return floor_div(extent + before + after - span(window, i), stride) + 1;
  }
  const Dim covering = ceil_div(extent, stride);
  const Dim total = max((covering - 1) * stride + span(window, i) - extent, 0);
  if (!total.known()) return {};
  before = floor_div(total, 2).value();
  after = total.value() - before;
  return covering;
}

bool overflow(RuleContext& c, const Window& window, size_t i, const Dim& extent) {
  if (extent.valid() && !extent.known()) {
    return c.fail("padding-symbol", window.automatic ? "" : window.size_from,
                  fmt::format("axis {} has extent {}: the padding that covers it with stride {} is "
                              "not known when the model is compiled",
                              window.first + i, to_string(extent), window.stride[i]),
                  "write the padding out");
  }
  return c.fail("window-overflow", window.size_from,
                fmt::format("the window's extent on axis {} does not fit in 64 bits: size {}, "
                            "dilation {}, stride {}, padding ({},{})",
                            window.first + i, to_string(window.size[i]), window.dilation[i],
                            window.stride[i], window.padding[i].first, window.padding[i].second));
}

bool check_scales_down(RuleContext& c, Window& window, size_t i, Dim input, Dim output) {
  const Dim scaled = positions(window, i, output);
  if (scaled == input) return true;
  const auto& [before, after] = window.padding[i];
  const Dim covered = (input - 1) * window.stride[i];
  const Dim least = window.automatic ? covered + 1 : covered + span(window, i) - before - after;
  const Dim most = least + (window.stride[i] - 1);
  const std::string range = least == most
                                ? fmt::format("{} scales", to_string(least))
                                : fmt::format("{} to {} scale", to_string(least), to_string(most));
  return c.fail(
      "output_shape-extent", "output_shape",
      fmt::format("'output_shape' has {} on axis {}, which scales down to {}, but 'input' has {}",
                  to_string(output), window.first + i, to_string(scaled), to_string(input)),
      fmt::format("{} down to {}", range, to_string(input)));
}

}  // namespace

Window plain_window(std::vector<Dim> size, std::string_view size_from) {
  const size_t rank = size.size();
  return {.size = std::move(size),
          .stride = std::vector<int64_t>(rank, 1),
          .dilation = std::vector<int64_t>(rank, 1),
          .padding = std::vector<std::pair<int64_t, int64_t>>(rank),
          .automatic = true,
          .first = 0,
          .size_from = size_from};
}

std::optional<Window> read_window(RuleContext& c, std::vector<Dim> size, std::string_view size_from,
                                  size_t first, std::span<const std::string_view> borders) {
  Window window = plain_window(std::move(size), size_from);
  window.first = first;
  const auto padding = c.pairs("padding");
  const auto stride = c.integers("stride");
  const auto dilation = c.integers("dilation");
  const std::pair<int64_t, int64_t> no_padding;
  if (!check_choice(c, "border", borders) ||
      !check_window_list(c, "padding", padding, window, no_padding, "automatic padding") ||
      !check_window_list(c, "stride", stride, window, int64_t{1}, "1 everywhere") ||
      !check_window_list(c, "dilation", dilation, window, int64_t{1}, "1 everywhere") ||
      !check_positive(c, "stride", stride) || !check_positive(c, "dilation", dilation)) {
    return std::nullopt;
  }
  window.automatic = padding.empty();
  if (!padding.empty()) window.padding = padding;
  if (!stride.empty()) window.stride = stride;
  if (!dilation.empty()) window.dilation = dilation;
  return window;
}

std::optional<std::vector<Dim>> read_size(RuleContext& c) {
  const std::vector<int64_t> size = c.integers("size");
  const size_t rank = c.shape("input").size();
  std::string hint;
  if (size.size() + 2 == rank) {
    hint = fmt::format("batch and channels count too: write size = {}",
                       to_string(fitted(size, rank, int64_t{1})));
  }
  if (!check_length(c, "size", size.size(), rank, "axis", std::move(hint)) ||
      !check_positive(c, "size", size)) {
    return std::nullopt;
  }
  return std::vector<Dim>(size.begin(), size.end());
}

bool slide(RuleContext& c, Window& window, const Shape& input, Shape& result) {
  if (!window.automatic && !check_crop(c, input, window.first, window.padding)) return false;
  for (size_t i = 0; i < window.size.size(); ++i) {
    const size_t axis = window.first + i;
    const Dim extent = positions(window, i, input[axis]);
    if (!extent.valid()) return overflow(c, window, i, input[axis]);
    if (!c.require_at_least(extent, 1)) {
      const auto& [before, after] = window.padding[i];
      return c.fail(
          "window-fit", window.size_from,
          fmt::format("the window spans {} on axis {} (size {}, dilation {}), more than the "
                      "input's {} with padding ({},{})",
                      to_string(span(window, i)), axis, to_string(window.size[i]),
                      window.dilation[i], to_string(input[axis]), before, after));
    }
    result[axis] = extent;
  }
  return true;
}

bool slide_back(RuleContext& c, Window& window, const Shape& input, Shape& result) {
  const std::vector<int64_t> output_shape = c.integers("output_shape");
  for (size_t i = 0; i < window.size.size(); ++i) {
    const size_t axis = window.first + i;
    const auto& [before, after] = window.padding[i];
    const Dim stride = window.stride[i];
    if (!output_shape.empty()) {
      result[axis] = output_shape[axis];
    } else if (window.automatic) {
      result[axis] = input[axis] * stride;
    } else {
      result[axis] = (input[axis] - 1) * stride + span(window, i) - before - after;
    }
    if (!result[axis].valid()) return overflow(c, window, i, input[axis]);
    if (!c.require_at_least(result[axis], 1)) {
      return c.fail("padding-extent", "padding",
                    fmt::format("padding ({},{}) on axis {} leaves an output of extent {}", before,
                                after, axis, to_string(result[axis])));
    }
    if (!check_scales_down(c, window, i, input[axis], result[axis])) return false;
  }
  return true;
}

bool check_output_shape(RuleContext& c, size_t rank) {
  const std::vector<int64_t> output_shape = c.integers("output_shape");
  return output_shape.empty() || (check_length(c, "output_shape", output_shape.size(), rank, "axis",
                                               "batch and channels count too") &&
                                  check_positive(c, "output_shape", output_shape));
}

void resolve(RuleContext& c, const Window& window) {
  c.set_resolved("padding", window.padding);
  c.set_resolved("stride", window.stride);
  c.set_resolved("dilation", window.dilation);
}

}  // namespace nnef
