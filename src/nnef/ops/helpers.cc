#include "ops/helpers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace nnef {
namespace {

/// The first axis on which two shapes do not broadcast.
std::optional<size_t> broadcast_conflict(const Shape& a, const Shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  for (size_t i = 0; i < rank; ++i) {
    const Dim x = extent(a, i);
    const Dim y = extent(b, i);
    if (!(x == y) && !(x == 1) && !(y == 1)) return i;
  }
  return std::nullopt;
}

/// What the author probably meant when `to` and the shorter or transposed `from` do not broadcast;
/// may be empty.
std::string broadcast_hint(const Shape& to, const Shape& from) {
  Shape moved = from;
  for (size_t axis = 0; from.size() + axis < to.size(); ++axis) {
    moved.insert(moved.begin(), 1);
    if (broadcast_conflict(to, moved)) continue;
    std::vector<int64_t> axes(axis + 1);
    std::iota(axes.begin(), axes.end(), 0);
    return fmt::format(
        "NNEF aligns shapes from the left: write {} as {}, for example with unsqueeze(axes = {})",
        to_string(from), to_string(moved), to_string(axes));
  }
  const Shape reversed(from.rbegin(), from.rend());
  if (from.size() == 2 && !broadcast_conflict(to, reversed)) {
    return fmt::format("transpose(axes = [1,0]) turns {} into {}, which fits", to_string(from),
                       to_string(reversed));
  }
  return {};
}

bool in_range(int64_t axis, size_t end) { return axis >= 0 && static_cast<uint64_t>(axis) < end; }

std::string axis_range(size_t end) {
  if (end == 0) return ", but there are no axes";
  return end == 1 ? ", expected 0" : fmt::format(", expected 0 to {}", end - 1);
}

std::string axis_hint(int64_t axis, size_t end) {
  if (axis >= 0) return {};
  const int64_t counted = axis + static_cast<int64_t>(end);
  return counted < 0 ? "" : fmt::format("axes do not count from the end: write {}", counted);
}

}  // namespace

std::string to_string(const std::vector<int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ","));
}

std::string to_string(const std::vector<std::pair<int64_t, int64_t>>& pairs) {
  std::vector<std::string> items;
  items.reserve(pairs.size());
  for (const auto& [first, second] : pairs) items.push_back(fmt::format("({},{})", first, second));
  return fmt::format("[{}]", fmt::join(items, ","));
}

std::string count(size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

Dim extent(const Shape& shape, size_t axis) { return axis < shape.size() ? shape[axis] : Dim(1); }

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  if (broadcast_conflict(a, b)) return std::nullopt;
  Shape result(std::max(a.size(), b.size()));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = extent(a, i) == 1 ? extent(b, i) : extent(a, i);
  return result;
}

std::optional<Shape> broadcast_inputs(RuleContext& c, std::string_view at, const Shape& a,
                                      const Shape& b) {
  std::optional<Shape> result = broadcast(a, b);
  if (!result) {
    const size_t axis = *broadcast_conflict(a, b);
    std::string hint = broadcast_hint(a, b);
    if (hint.empty()) hint = broadcast_hint(b, a);
    c.fail("broadcast", at,
           fmt::format("shapes {} and {} do not broadcast: on axis {} the extents are {} and {}",
                       to_string(a), to_string(b), axis, to_string(extent(a, axis)),
                       to_string(extent(b, axis))),
           hint);
  }
  return result;
}

bool check_broadcastable(RuleContext& c, std::string_view parameter, const Shape& to) {
  const Shape& from = c.shape(parameter);
  if (const auto result = broadcast(to, from); result && *result == to) return true;
  return c.fail(fmt::format("{}-shape", parameter), parameter,
                fmt::format("'{}' has shape {}, which does not broadcast to {}", parameter,
                            to_string(from), to_string(to)),
                broadcast_hint(to, from));
}

bool check_length(RuleContext& c, std::string_view attribute, size_t items, size_t expected,
                  std::string_view per, std::string hint) {
  if (items == expected) return true;
  return c.fail(fmt::format("{}-rank", attribute), attribute,
                fmt::format("'{}' has {}, expected {} (one per {})", attribute,
                            count(items, "item"), expected, per),
                std::move(hint));
}

bool check_positive(RuleContext& c, std::string_view attribute,
                    const std::vector<int64_t>& values) {
  const auto bad = std::ranges::find_if(values, [](int64_t value) { return value < 1; });
  if (bad == values.end()) return true;
  return c.fail(fmt::format("{}-positive", attribute), attribute,
                fmt::format("'{}' is {}: item {} is {}, expected 1 or more", attribute,
                            to_string(values), bad - values.begin(), *bad));
}

bool check_extents(RuleContext& c, std::string_view attribute, const Shape& values) {
  const auto bad =
      std::ranges::find_if(values, [&](const Dim& value) { return !c.require_at_least(value, 1); });
  if (bad == values.end()) return true;
  return c.fail(fmt::format("{}-positive", attribute), attribute,
                fmt::format("'{}' is {}: item {} is {}, expected 1 or more", attribute,
                            to_string(values), bad - values.begin(), to_string(*bad)));
}

bool check_known(RuleContext& c, const Dim& extent, std::string_view at) {
  return extent.known() ||
         c.fail("symbol", at,
                fmt::format("the extent {} must be known when the model is compiled",
                            to_string(extent)));
}

bool check_axis(RuleContext& c, size_t end) {
  const int64_t axis = c.integer("axis");
  if (in_range(axis, end)) return true;
  return c.fail("axis-range", "axis", fmt::format("'axis' is {}{}", axis, axis_range(end)),
                axis_hint(axis, end));
}

bool check_axes(RuleContext& c, size_t end) {
  const std::vector<int64_t> axes = c.integers("axes");
  for (auto item = axes.begin(); item != axes.end(); ++item) {
    if (!in_range(*item, end)) {
      return c.fail("axes-range", "axes",
                    fmt::format("'axes' is {}: item {} is {}{}", to_string(axes),
                                item - axes.begin(), *item, axis_range(end)),
                    axis_hint(*item, end));
    }
    if (std::find(axes.begin(), item, *item) != item) {
      return c.fail("axes-repeated", "axes",
                    fmt::format("'axes' is {}: axis {} stands twice", to_string(axes), *item));
    }
  }
  return true;
}

bool check_choice(RuleContext& c, std::string_view attribute,
                  std::span<const std::string_view> allowed) {
  const std::string& value = c.string(attribute);
  if (std::ranges::find(allowed, value) != allowed.end()) return true;
  const std::vector<std::string> names(allowed.begin(), allowed.end());
  const std::string nearest = nearest_name(value, names);
  return c.fail(
      attribute, attribute,
      fmt::format("'{}' is '{}', expected '{}'", attribute, value, fmt::join(allowed, "', '")),
      nearest.empty() ? "" : fmt::format("did you mean '{}'?", nearest));
}

bool check_crop(RuleContext& c, const Shape& input, size_t first,
                const std::vector<std::pair<int64_t, int64_t>>& padding) {
  for (size_t i = 0; i < padding.size(); ++i) {
    const auto& [before, after] = padding[i];
    const Dim left = input[first + i] + min(before, 0) + min(after, 0);
    if (c.require_at_least(left, 1)) continue;
    return c.fail("padding-crop", "padding",
                  fmt::format("negative padding ({},{}) leaves nothing of the extent {} of axis {}",
                              before, after, to_string(input[first + i]), first + i));
  }
  return true;
}

bool check_reflection(RuleContext& c, const Shape& input, size_t first,
                      const std::vector<std::pair<int64_t, int64_t>>& padding) {
  const std::string& border = c.string("border");
  if (border != "reflect" && border != "reflect-even") return true;
  for (size_t i = 0; i < padding.size(); ++i) {
    const Dim limit = border == "reflect" ? input[first + i] - 1 : input[first + i];
    const int64_t longest = std::max(padding[i].first, padding[i].second);
    if (longest <= 0 || c.require_at_least(limit, longest)) continue;
    return c.fail(
        "border-extent", "border",
        fmt::format("border '{}' reaches at most {} items beyond axis {} of extent {}, but "
                    "the padding there is ({},{})",
                    border, to_string(limit), first + i, to_string(input[first + i]),
                    padding[i].first, padding[i].second));
  }
  return true;
}

bool check_image(RuleContext& c) {
  const Shape& input = c.shape("input");
  if (input.size() >= 3) return true;
  return c.fail(
      "input-rank", "input",
      fmt::format("'input' has rank {}, expected 3 or more (batch, channels, spatial axes)",
                  input.size()));
}

bool check_results(RuleContext& c, std::string_view result, size_t expected,
                   std::string_view reason) {
  const size_t assigned = c.results(result).size();
  if (assigned == expected) return true;
  return c.fail(
      "results", "",
      fmt::format("{} assigned, but {} gives {}",
                  count(assigned, "result") + (assigned == 1 ? " is" : " are"), reason, expected));
}

}  // namespace nnef
