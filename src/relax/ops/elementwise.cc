#include <algorithm>
#include <cmath>
#include <numbers>

#include "relax/lowering.h"

namespace nnef_tvm {
namespace {

using namespace relax::operators;
using relax::exp;
using relax::sigmoid;

Expr lower_copy(const LoweringContext& op) { return op.input("x"); }
Expr lower_rcp(const LoweringContext& op) { return op.number(1) / op.input("x"); }
Expr lower_sqr(const LoweringContext& op) { return op.input("x") * op.input("x"); }
Expr lower_rsqr(const LoweringContext& op) {
  return op.number(1) / (op.input("x") * op.input("x"));
}
Expr lower_log2(const LoweringContext& op) {
  return relax::log(op.input("x")) * op.number(std::numbers::log2e);
}

/// floor(x + 0.5) of the exact sum: adding 0.5 in floating point would round 0.49999997 up.
Expr lower_round(const LoweringContext& op) {
  const Expr x = op.input("x");
  const Expr below = op.let(relax::floor(x));
  return below + relax::astype(relax::greater_equal(x - below, op.number(0.5)), op.real());
}

/// Of integers truncated, and 0 where the divisor is 0. The two divisors for which the machine's
/// instruction traps (-1 for the smallest number) do not reach it.
Expr lower_div(const LoweringContext& op) {
  const size_t rank = std::max(op.rank("x"), op.rank("y"));
  const Expr x = op.input("x", rank);
  const Expr y = op.input("y", rank);
  if (!op.is_integer()) return relax::divide(x, y);
  const Expr none = op.let(relax::equal(y, op.number(0)));
  const Expr minus = op.let(relax::equal(y, op.number(-1)));
  const Expr safe = relax::where(relax::logical_or(none, minus), op.number(1), y);
  return relax::where(none, op.number(0), relax::where(minus, -x, relax::divide(x, safe)));
}

/// x to a whole power, by squaring.
Expr whole_power(const LoweringContext& op, Expr x, int64_t exponent) {
  if (exponent < 0) return op.number(1) / whole_power(op, x, -exponent);
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  const Expr half = op.let(whole_power(op, x, exponent / 2));
  return exponent % 2 == 0 ? half * half : half * half * x;
}

/// Exponents that need no transcendental function, and are exact where that would not be.
Expr lower_pow(const LoweringContext& op) {
  constexpr double longest_chain = 64;
  const size_t rank = std::max(op.rank("x"), op.rank("y"));
  const Expr x = op.input("x", rank);
  if (const double* exponent = op.literal_scalar("y")) {
    if (*exponent == 0.5) return relax::sqrt(x);
    if (*exponent == -0.5) return relax::rsqrt(x);
    if (*exponent == 0) return relax::full(op.result_dims(), op.number(1), op.real());
    if (std::trunc(*exponent) == *exponent && std::abs(*exponent) <= longest_chain) {
      return whole_power(op, op.let(x), static_cast<int64_t>(*exponent));
    }
  }
  return relax::power(x, op.input("y", rank));
}

Expr lower_clamp(const LoweringContext& op) {
  const double* low = op.literal_scalar("a");
  const double* high = op.literal_scalar("b");
  if (low != nullptr && high != nullptr && *low <= *high)
    return relax::clip(op.input("x"), *low, *high, op.real());
  const size_t rank = std::max({op.rank("x"), op.rank("a"), op.rank("b")});
  return relax::maximum(relax::minimum(op.input("x", rank), op.input("b", rank)),
                        op.input("a", rank));
}

Expr lower_select(const LoweringContext& op) {
  const size_t rank =
      std::max({op.rank("condition"), op.rank("true_value"), op.rank("false_value")});
  return relax::where(op.input("condition", rank), op.input("true_value", rank),
                      op.input("false_value", rank));
}

/// `below` for negative x, x elsewhere.
Expr rectify(const LoweringContext& op, Expr x, Expr below) {
  return relax::where(relax::less(x, op.number(0)), below, x);
}

/// alpha (e^x - 1) below zero.
Expr exponential_unit(const LoweringContext& op, Expr x, double alpha) {
  return rectify(op, x, op.number(alpha) * (exp(relax::minimum(x, op.number(0))) - op.number(1)));
}

Expr lower_elu(const LoweringContext& op) {
  return exponential_unit(op, op.input("x"), op.scalar("alpha"));
}
Expr lower_selu(const LoweringContext& op) {
  return op.number(op.scalar("lambda")) * exponential_unit(op, op.input("x"), op.scalar("alpha"));
}
Expr lower_gelu(const LoweringContext& op) {
  return op.input("x") * sigmoid(op.number(1.702) * op.input("x"));
}
/// log(1 + e^x), in a form that does not overflow.
Expr lower_softplus(const LoweringContext& op) {
  const Expr x = op.input("x");
  return relax::relu(x) + relax::log(op.number(1) + exp(-relax::abs(x)));
}
Expr lower_softabs(const LoweringContext& op) {
  const Expr x = op.input("x");
  return relax::sqrt(x * x + op.number(op.scalar("epsilon")));
}
Expr lower_prelu(const LoweringContext& op) {
  const size_t rank = std::max(op.rank("x"), op.rank("alpha"));
  const Expr x = op.input("x", rank);
  return rectify(op, x, op.input("alpha", rank) * x);
}
Expr lower_leaky_relu(const LoweringContext& op) {
  return relax::leaky_relu(op.input("x"), op.scalar("alpha"));
}

/// x times a line from 0 at -3 to 1 at 3.
Expr lower_hard_swish(const LoweringContext& op) {
  const Expr x = op.input("x");
  return x * relax::clip(x * op.number(1.0 / 6) + op.number(0.5), 0, 1, op.real());
}

std::vector<Expr> lower_copy_n(const LoweringContext& op) {
  return std::vector<Expr>(op.results("y").size(), op.input("x"));
}

Expr lower_add_n(const LoweringContext& op) {
  const auto& items = op.items("x");
  if (items.empty()) return op.number(0);
  size_t rank = 0;
  for (const nnef::Value& item : items) rank = std::max(rank, op.shape_of(item).size());
  Expr sum = op.item(items.front(), rank);
  for (size_t i = 1; i < items.size(); ++i) sum = op.let(sum + op.item(items[i], rank));
  return sum;
}

constexpr LoweringRow rows[] = {
    {"copy", lower_copy},
    {"neg", relax::negative},
    {"rcp", lower_rcp},
    {"exp", relax::exp},
    {"log", relax::log},
    {"sin", relax::sin},
    {"cos", relax::cos},
    {"tan", relax::tan},
    {"sinh", relax::sinh},
    {"cosh", relax::cosh},
    {"tanh", relax::tanh},
    {"asin", relax::asin},
    {"acos", relax::acos},
    {"atan", relax::atan},
    {"asinh", relax::asinh},
    {"acosh", relax::acosh},
    {"atanh", relax::atanh},
    {"abs", relax::abs},
    {"sign", relax::sign},
    {"not", relax::logical_not},
    {"floor", relax::floor},
    {"ceil", relax::ceil},
    {"round", lower_round},
    {"add", relax::add},
    {"sub", relax::subtract},
    {"mul", relax::multiply},
    {"div", lower_div},
    {"pow", lower_pow},
    {"lt", relax::less},
    {"gt", relax::greater},
    {"le", relax::less_equal},
    {"ge", relax::greater_equal},
    {"eq", relax::equal},
    {"ne", relax::not_equal},
    {"and", relax::logical_and},
    {"or", relax::logical_or},
    {"select", lower_select},
    {"sqr", lower_sqr},
    {"sqrt", relax::sqrt},
    {"rsqr", lower_rsqr},
    {"rsqrt", relax::rsqrt},
    {"log2", lower_log2},
    {"min", relax::minimum},
    {"max", relax::maximum},
    {"clamp", lower_clamp},
    {"relu", relax::relu},
    {"sigmoid", relax::sigmoid},
    {"softabs", lower_softabs},
    {"softplus", lower_softplus},
    {"elu", lower_elu},
    {"selu", lower_selu},
    {"gelu", lower_gelu},
    {"silu", relax::silu},
    {"prelu", lower_prelu},
    {"leaky_relu", lower_leaky_relu},
    {"copy_n", lower_copy_n},
    {"add_n", lower_add_n},
    {"tract_core_erf", relax::erf},
    {"tract_core_xor", relax::logical_xor},
    {"tract_core_bitand", relax::bitwise_and},
    {"tract_core_bitor", relax::bitwise_or},
    {"tract_core_bitxor", relax::bitwise_xor},
    {"tract_core_bitnot", relax::bitwise_not},
    {"tract_shl", relax::left_shift},
    {"tract_shr", relax::right_shift},
    {"tract_core_round_even", relax::round},
    {"tract_core_hard_swish", lower_hard_swish},
};

}  // namespace

std::span<const LoweringRow> elementwise_lowerings() { return rows; }

}  // namespace nnef_tvm
