#include <algorithm>
#include <array>

#include "recipes.h"

namespace generator {
namespace {

constexpr Range unit{-1, 1};
constexpr Range inside_unit{-0.9375, 0.9375};
constexpr Range above_one{1, 9};
constexpr Range alphas{0.25, 2};

template <Range const& R>
void unary(Draft& d, const std::string& operation) {
  d.call(operation, {d.tensor(DType::scalar, 0, R)}, {});
}

void scalar_unary(Draft& d, const std::string& operation) { unary<any_number>(d, operation); }

void number_unary(Draft& d, const std::string& operation) {
  d.call(operation, {d.tensor(d.number())}, {});
}

void copy(Draft& d, const std::string& operation) {
  d.call(operation, {d.tensor(d.any_type())}, {});
}

void logical_not(Draft& d, const std::string& operation) {
  d.call(operation, {d.tensor(DType::logical)}, {});
}

/// A shape and one or two that broadcast to it, or now and then beyond it.
void binary_of(Draft& d, const std::string& operation, DType dtype, Range left, Range right) {
  const Operand x = d.tensor(dtype, 0, left);
  Extents full = x.shape;
  if (full.size() < 5 && volume(full) < 50 && d.choices.rarely(5)) full.push_back(d.extent(3));
  const Operand y = d.partner(dtype, full, right);
  if (d.choices.flip()) {
    d.call(operation, {y, x}, {});
  } else {
    d.call(operation, {x, y}, {});
  }
}

void binary(Draft& d, const std::string& operation) {
  binary_of(d, operation, d.number(), any_number, any_number);
}

/// Real numbers away from 0 in both places, since either may be the divisor.
void division(Draft& d, const std::string& operation) {
  const DType dtype = d.number();
  const Range range = dtype == DType::scalar ? positive : any_number;
  binary_of(d, operation, dtype, range, range);
}

void power(Draft& d, const std::string& operation) {
  const DType dtype = d.number();
  if (dtype == DType::integer) {
    const Operand x = d.tensor(dtype);
    d.call(operation, {x, d.partner(dtype, x.shape, {-1, 4})}, {});
  } else if (d.choices.flip()) {
    constexpr std::array<const char*, 8> exponents{"2.0",  "1.0", "0.0",  "3.0",
                                                   "-1.0", "4.0", "-2.0", "5.0"};
    const Operand exponent{exponents[d.choices.below(exponents.size())], dtype, {}};
    d.call(operation, {d.tensor(dtype), exponent}, {});
  } else {
    const Operand x = d.tensor(dtype, 0, positive);
    d.call(operation, {x, d.partner(dtype, x.shape, {-3, 3})}, {});
  }
}

void logical_binary(Draft& d, const std::string& operation) {
  binary_of(d, operation, DType::logical, any_number, any_number);
}

void select(Draft& d, const std::string& operation) {
  const DType dtype = d.any_type();
  const Operand yes = d.tensor(dtype);
  const Operand condition = d.partner(DType::logical, yes.shape);
  const Operand no = d.partner(dtype, yes.shape);
  if (d.choices.flip()) {
    d.call(operation, {condition, no, yes}, {});
  } else {
    d.call(operation, {condition, yes, no}, {});
  }
}

void clamp(Draft& d, const std::string& operation) {
  const DType dtype = d.number();
  const Operand x = d.tensor(dtype);
  const Operand low = d.partner(dtype, x.shape, {-3, 1});
  d.call(operation, {x, low, d.partner(dtype, x.shape, {0, 3})}, {});
}

void prelu(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar);
  d.call(operation, {x, d.partner(DType::scalar, x.shape)}, {});
}

std::string drawn(Draft& d, const std::string& name, Range range) {
  return name + " = " + d.literal(DType::scalar, range).text;
}

void leaky_relu(Draft& d, const std::string& operation) {
  d.call(operation, {d.tensor(DType::scalar)}, {drawn(d, "alpha", {-1, 1})});
}

void softabs(Draft& d, const std::string& operation) {
  d.call(operation, {d.tensor(DType::scalar)}, {drawn(d, "epsilon", {0.125, 1})});
}

void elu(Draft& d, const std::string& operation) {
  std::vector<std::string> attributes;
  if (d.choices.flip()) attributes.push_back(drawn(d, "alpha", alphas));
  d.call(operation, {d.tensor(DType::scalar)}, attributes);
}

void selu(Draft& d, const std::string& operation) {
  std::vector<std::string> attributes;
  if (d.choices.flip()) attributes.push_back(drawn(d, "alpha", alphas));
  if (d.choices.flip()) attributes.push_back(drawn(d, "lambda", alphas));
  d.call(operation, {d.tensor(DType::scalar)}, attributes);
}

void copy_n(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(d.any_type());
  const int64_t times = d.choices.integer(1, 4);
  d.call_array(operation, {x}, {attribute("times", times)}, false, static_cast<size_t>(times));
}

void add_n(Draft& d, const std::string& operation) {
  std::vector<Operand> operands{d.tensor(DType::scalar)};
  const int64_t more = d.choices.integer(0, 4);
  for (int64_t i = 0; i < more; ++i) operands.push_back(d.shaped(DType::scalar, operands[0].shape));
  d.call_array(operation, operands, {}, true, std::nullopt);
}

constexpr std::array kRecipes{
    Recipe{"copy", copy, Precision::exact},
    Recipe{"neg", number_unary, Precision::exact},
    Recipe{"rcp", unary<positive>},
    Recipe{"exp", scalar_unary},
    Recipe{"log", unary<positive>},
    Recipe{"sin", scalar_unary},
    Recipe{"cos", scalar_unary},
    Recipe{"tan", scalar_unary},
    Recipe{"sinh", scalar_unary},
    Recipe{"cosh", scalar_unary},
    Recipe{"tanh", scalar_unary},
    Recipe{"asin", unary<unit>},
    Recipe{"acos", unary<unit>},
    Recipe{"atan", scalar_unary},
    Recipe{"asinh", scalar_unary},
    Recipe{"acosh", unary<above_one>},
    Recipe{"atanh", unary<inside_unit>},
    Recipe{"abs", number_unary, Precision::exact},
    Recipe{"sign", number_unary, Precision::exact},
    Recipe{"not", logical_not, Precision::exact},
    Recipe{"floor", scalar_unary, Precision::exact},
    Recipe{"ceil", scalar_unary, Precision::exact},
    Recipe{"round", scalar_unary, Precision::exact},
    Recipe{"add", binary},
    Recipe{"sub", binary},
    Recipe{"mul", binary},
    Recipe{"div", division},
    Recipe{"pow", power},
    Recipe{"lt", binary, Precision::exact},
    Recipe{"gt", binary, Precision::exact},
    Recipe{"le", binary, Precision::exact},
    Recipe{"ge", binary, Precision::exact},
    Recipe{"eq", binary, Precision::exact},
    Recipe{"ne", binary, Precision::exact},
    Recipe{"and", logical_binary, Precision::exact},
    Recipe{"or", logical_binary, Precision::exact},
    Recipe{"select", select, Precision::exact},
    Recipe{"sqr", number_unary},
    Recipe{"sqrt", unary<positive>},
    Recipe{"rsqr", unary<positive>},
    Recipe{"rsqrt", unary<positive>},
    Recipe{"log2", unary<positive>},
    Recipe{"min", binary, Precision::exact},
    Recipe{"max", binary, Precision::exact},
    Recipe{"clamp", clamp, Precision::exact},
    Recipe{"relu", scalar_unary, Precision::exact},
    Recipe{"sigmoid", scalar_unary},
    Recipe{"softplus", scalar_unary},
    Recipe{"gelu", scalar_unary},
    Recipe{"silu", scalar_unary},
    Recipe{"softabs", softabs},
    Recipe{"elu", elu},
    Recipe{"selu", selu},
    Recipe{"leaky_relu", leaky_relu},
    Recipe{"prelu", prelu},
    Recipe{"copy_n", copy_n, Precision::exact},
    Recipe{"add_n", add_n},
};

}  // namespace

std::span<const Recipe> elementwise_recipes() { return kRecipes; }

}  // namespace generator
