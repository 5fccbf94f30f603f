// Checks that several families of shape rules share. All report through the context and return
// false on a fault. Ids of list checks are made from the attribute's name: "<attribute>-rank"
// (number of items), "<attribute>-positive".
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/rule.h"

namespace nnef {

/// "[2,2]"
std::string to_string(const std::vector<int64_t>& values);

/// "[(0,0),(1,1)]"
std::string to_string(const std::vector<std::pair<int64_t, int64_t>>& pairs);

/// "2 items", "1 item"
std::string count(size_t number, std::string_view noun);

/// The extent on `axis`; 1 beyond the rank.
Dim extent(const Shape& shape, size_t axis);

/// Broadcasting aligned from the left; nothing when two extents differ and neither is 1.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);

/// Broadcasts two inputs, given with the shapes to use for them ("broadcast").
std::optional<Shape> broadcast_inputs(RuleContext& c, std::string_view at, const Shape& a,
                                      const Shape& b);

/// `parameter` must broadcast to `to` without widening it ("<parameter>-shape").
bool check_broadcastable(RuleContext& c, std::string_view parameter, const Shape& to);

/// The number of items of a list attribute; `per` says what each item stands for ("spatial axis").
bool check_length(RuleContext& c, std::string_view attribute, size_t items, size_t expected,
                  std::string_view per, std::string hint = {});

bool check_positive(RuleContext& c, std::string_view attribute, const std::vector<int64_t>& values);
bool check_extents(RuleContext& c, std::string_view attribute, const Shape& values);

/// An extent that the operation must know ("symbol").
bool check_known(RuleContext& c, const Dim& extent, std::string_view at);

/// Attribute `axis` must be in [0, end) ("axis-range").
bool check_axis(RuleContext& c, size_t end);

/// Items of attribute `axes` must be in [0, end) ("axes-range") and distinct ("axes-repeated").
bool check_axes(RuleContext& c, size_t end);

/// A string attribute must be one of `allowed` ("<attribute>").
bool check_choice(RuleContext& c, std::string_view attribute,
                  std::span<const std::string_view> allowed);

/// Negative padding crops; something must be left ("padding-crop"). Item i of `padding` is of axis
/// first + i.
bool check_crop(RuleContext& c, const Shape& input, size_t first,
                const std::vector<std::pair<int64_t, int64_t>>& padding);

/// Reflection reaches as far as the extent less one ('reflect') or the extent ('reflect-even'):
/// "border-extent". Item i of `padding` is of axis first + i.
bool check_reflection(RuleContext& c, const Shape& input, size_t first,
                      const std::vector<std::pair<int64_t, int64_t>>& padding);

/// Images have a batch, a channel and at least one spatial axis ("input-rank").
bool check_image(RuleContext& c);

/// An array result must have been assigned to `expected` tensors ("results"); `reason` says where
/// the number is from.
bool check_results(RuleContext& c, std::string_view result, size_t expected,
                   std::string_view reason);

}  // namespace nnef
