// Element-wise operations: results have the shape of the input, or the broadcast shape of all
// inputs.
#include <array>

#include "ops/helpers.h"

namespace nnef {
namespace {

bool same(RuleContext& c) {
  c.set("y", c.shape("x"));
  return true;
}

bool binary(RuleContext& c) {
  const auto shape = broadcast_inputs(c, "y", c.shape("x"), c.shape("y"));
  if (!shape) return false;
  c.set("z", *shape);
  return true;
}

bool clamp(RuleContext& c) {
  const auto bounds = broadcast_inputs(c, "b", c.shape("a"), c.shape("b"));
  if (!bounds) return false;
  const auto shape = broadcast_inputs(c, "a", c.shape("x"), *bounds);
  if (!shape) return false;
  c.set("y", *shape);
  return true;
}

bool select(RuleContext& c) {
  const auto values =
      broadcast_inputs(c, "false_value", c.shape("true_value"), c.shape("false_value"));
  if (!values) return false;
  const auto shape = broadcast_inputs(c, "condition", c.shape("condition"), *values);
  if (!shape) return false;
  c.set("output", *shape);
  return true;
}

bool prelu(RuleContext& c) { return check_broadcastable(c, "alpha", c.shape("x")) && same(c); }

bool copy_n(RuleContext& c) {
  const int64_t times = c.integer("times");
  if (!check_positive(c, "times", {times}) ||
      !check_results(c, "y", static_cast<size_t>(times), "'times'")) {
    return false;
  }
  for (size_t i = 0; i < static_cast<size_t>(times); ++i) c.set_item("y", i, c.shape("x"));
  return true;
}

/// The sum of nothing is a rank-0 zero.
bool add_n(RuleContext& c) {
  Shape shape;
  for (const Value& item : c.items("x")) {
    const auto sum = broadcast_inputs(c, "x", shape, c.shape_of(item));
    if (!sum) return false;
    shape = *sum;
  }
  c.set("y", shape);
  return true;
}

constexpr std::array kRules{
    ShapeRuleRow{"copy", same},
    ShapeRuleRow{"neg", same},
    ShapeRuleRow{"rcp", same},
    ShapeRuleRow{"exp", same},
    ShapeRuleRow{"log", same},
    ShapeRuleRow{"sin", same},
    ShapeRuleRow{"cos", same},
    ShapeRuleRow{"tan", same},
    ShapeRuleRow{"sinh", same},
    ShapeRuleRow{"cosh", same},
    ShapeRuleRow{"tanh", same},
    ShapeRuleRow{"asin", same},
    ShapeRuleRow{"acos", same},
    ShapeRuleRow{"atan", same},
    ShapeRuleRow{"asinh", same},
    ShapeRuleRow{"acosh", same},
    ShapeRuleRow{"atanh", same},
    ShapeRuleRow{"abs", same},
    ShapeRuleRow{"sign", same},
    ShapeRuleRow{"not", same},
    ShapeRuleRow{"floor", same},
    ShapeRuleRow{"ceil", same},
    ShapeRuleRow{"round", same},
    ShapeRuleRow{"sqr", same},
    ShapeRuleRow{"sqrt", same},
    ShapeRuleRow{"rsqr", same},
    ShapeRuleRow{"rsqrt", same},
    ShapeRuleRow{"log2", same},
    ShapeRuleRow{"relu", same},
    ShapeRuleRow{"sigmoid", same},
    ShapeRuleRow{"softabs", same},
    ShapeRuleRow{"softplus", same},
    ShapeRuleRow{"elu", same},
    ShapeRuleRow{"selu", same},
    ShapeRuleRow{"gelu", same},
    ShapeRuleRow{"silu", same},
    ShapeRuleRow{"leaky_relu", same},
    ShapeRuleRow{"add", binary},
    ShapeRuleRow{"sub", binary},
    ShapeRuleRow{"mul", binary},
    ShapeRuleRow{"div", binary},
    ShapeRuleRow{"pow", binary},
    ShapeRuleRow{"lt", binary},
    ShapeRuleRow{"gt", binary},
    ShapeRuleRow{"le", binary},
    ShapeRuleRow{"ge", binary},
    ShapeRuleRow{"eq", binary},
    ShapeRuleRow{"ne", binary},
    ShapeRuleRow{"and", binary},
    ShapeRuleRow{"or", binary},
    ShapeRuleRow{"min", binary},
    ShapeRuleRow{"max", binary},
    ShapeRuleRow{"clamp", clamp},
    ShapeRuleRow{"select", select},
    ShapeRuleRow{"prelu", prelu},
    ShapeRuleRow{"copy_n", copy_n},
    ShapeRuleRow{"add_n", add_n},
    ShapeRuleRow{"tract_core_erf", same},
    ShapeRuleRow{"tract_core_round_even", same},
    ShapeRuleRow{"tract_core_hard_swish", same},
    ShapeRuleRow{"tract_core_bitnot", same},
    ShapeRuleRow{"tract_core_xor", binary},
    ShapeRuleRow{"tract_core_bitand", binary},
    ShapeRuleRow{"tract_core_bitor", binary},
    ShapeRuleRow{"tract_core_bitxor", binary},
    ShapeRuleRow{"tract_shl", binary},
    ShapeRuleRow{"tract_shr", binary},
};

}  // namespace

std::span<const ShapeRuleRow> elementwise_rules() { return kRules; }

}  // namespace nnef
