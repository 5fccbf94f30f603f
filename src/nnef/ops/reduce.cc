// Reductions keep the reduced axes with extent 1.
#include <fmt/format.h>

#include <array>

#include "ops/helpers.h"

namespace nnef {
namespace {

std::optional<Shape> reduced(RuleContext& c) {
  Shape shape = c.shape("input");
  if (!check_axes(c, shape.size())) return std::nullopt;
  for (const int64_t axis : c.integers("axes")) shape[static_cast<size_t>(axis)] = 1;
  return shape;
}

bool reduce(RuleContext& c) {
  const auto shape = reduced(c);
  if (!shape) return false;
  c.set("output", *shape);
  return true;
}

bool arg_reduce(RuleContext& c) {
  if (!reduce(c)) return false;
  const std::vector<int64_t> axes = c.integers("axes");
  if (axes.size() > 1) {
    c.warn("several-axes", "axes",
           fmt::format(
               "'axes' is {}: the specification does not say what the index over several axes is; "
               "it is taken as the row-major position within them",
               to_string(axes)),
           "reduce one axis at a time where other tools must agree");
  }
  return true;
}

/// The last position of an extreme, which only one axis has.
bool last_arg_reduce(RuleContext& c) {
  if (!reduce(c)) return false;
  c.set_resolved("item", Value(std::string("int64")));
  return c.integers("axes").size() == 1 ||
         c.fail("several-axes", "axes",
                fmt::format("'axes' is {}, expected one axis", to_string(c.integers("axes"))));
}

bool moments(RuleContext& c) {
  const auto shape = reduced(c);
  if (!shape) return false;
  c.set("mean", *shape);
  c.set("variance", *shape);
  return true;
}

constexpr std::array kRules{
    ShapeRuleRow{"sum_reduce", reduce},
    ShapeRuleRow{"max_reduce", reduce},
    ShapeRuleRow{"min_reduce", reduce},
    ShapeRuleRow{"argmax_reduce", arg_reduce},
    ShapeRuleRow{"argmin_reduce", arg_reduce},
    ShapeRuleRow{"any_reduce", reduce},
    ShapeRuleRow{"all_reduce", reduce},
    ShapeRuleRow{"mean_reduce", reduce},
    ShapeRuleRow{"moments", moments},
    ShapeRuleRow{"tract_core_product_reduce", reduce},
    ShapeRuleRow{"tract_core_argmax_reduce_last", last_arg_reduce},
    ShapeRuleRow{"tract_core_argmin_reduce_last", last_arg_reduce},
};

}  // namespace

std::span<const ShapeRuleRow> reduce_rules() { return kRules; }

}  // namespace nnef
