#include <array>
#include <cmath>
#include <functional>

#include "reference/evaluation.h"

namespace nnef::reference {
namespace {

/// What the items of a result are computed as: logicals are integers.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, Integer, T>;

/// y[i] = F(x[i])
template <auto F>
void unary(Evaluation& e) {
  e.in_domain_of({"x"}, [&]<typename T>(T) {
    std::vector<Stored<decltype(F(T{}))>> y;
    for (const T x : e.numbers<T>("x").values) y.push_back(F(x));
    e.set("y", y);
  });
}

/// z[i] = F(x[i], y[i]), broadcast
template <auto F>
void binary(Evaluation& e) {
  e.in_domain_of({"x", "y"}, [&]<typename T>(T) {
    const Items<T> x = e.numbers<T>("x");
    const Items<T> y = e.numbers<T>("y");
    std::vector<Stored<decltype(F(T{}, T{}))>> z;
    each_index(e.result_extents("z"), [&](const Index& i) {
      z.push_back(F(x.values[place(x.shape, i)], y.values[place(y.shape, i)]));
    });
    e.set("z", z);
  });
}

void select(Evaluation& e) {
  e.in_domain_of({"true_value", "false_value"}, [&]<typename T>(T) {
    const Items<Integer> condition = e.numbers<Integer>("condition");
    const Items<T> yes = e.numbers<T>("true_value");
    const Items<T> no = e.numbers<T>("false_value");
    std::vector<T> output;
    each_index(e.result_extents("output"), [&](const Index& i) {
      const bool holds = condition.values[place(condition.shape, i)] != 0;
      output.push_back(holds ? yes.values[place(yes.shape, i)] : no.values[place(no.shape, i)]);
    });
    e.set("output", output);
  });
}

/// floor(x + 0.5) of the exact sum
double round_half_up(double x) {
  const double below = std::floor(x);
  return x - below >= 0.5 ? below + 1 : below;
}

/// To the nearest whole number; the even one of two.
double round_half_even(double x) {
  return std::remainder(x, 1.0) == 0 ? x : x - std::remainder(x, 1.0);
}

double power(double x, double y) { return std::pow(x, y); }

/// The low bits of x^y; 1 / x^-y truncated when y is negative, and 0 for x = 0.
Integer power(Integer x, Integer y) {
  const bool negative = y < 0;
  if (negative && x != 1 && x != -1) return 0;
  Integer result = 1;
  for (Integer left = negative ? -y : y; left > 0; left /= 2) {
    if (left % 2 == 1) result = times(result, x);
    x = times(x, x);
  }
  return result;
}

/// Shifts beyond the width of items leave what shifts by their width leave.
int shift(Integer y) { return static_cast<int>(std::clamp<Integer>(y, 0, 64)); }
Integer power_of_2(Integer y) { return Integer{1} << shift(y); }

constexpr std::array kRows{
    EvaluatorRow{"copy", unary<[](auto x) { return x; }>},
    EvaluatorRow{"neg", unary<std::negate<>{}>},
    EvaluatorRow{"rcp", unary<[](double x) { return 1 / x; }>},
    EvaluatorRow{"exp", unary<[](double x) { return std::exp(x); }>},
    EvaluatorRow{"log", unary<[](double x) { return std::log(x); }>},
    EvaluatorRow{"sin", unary<[](double x) { return std::sin(x); }>},
    EvaluatorRow{"cos", unary<[](double x) { return std::cos(x); }>},
    EvaluatorRow{"tan", unary<[](double x) { return std::tan(x); }>},
    EvaluatorRow{"sinh", unary<[](double x) { return std::sinh(x); }>},
    EvaluatorRow{"cosh", unary<[](double x) { return std::cosh(x); }>},
    EvaluatorRow{"tanh", unary<[](double x) { return std::tanh(x); }>},
    EvaluatorRow{"asin", unary<[](double x) { return std::asin(x); }>},
    EvaluatorRow{"acos", unary<[](double x) { return std::acos(x); }>},
    EvaluatorRow{"atan", unary<[](double x) { return std::atan(x); }>},
    EvaluatorRow{"asinh", unary<[](double x) { return std::asinh(x); }>},
    EvaluatorRow{"acosh", unary<[](double x) { return std::acosh(x); }>},
    EvaluatorRow{"atanh", unary<[](double x) { return std::atanh(x); }>},
    EvaluatorRow{"abs", unary<[](auto x) { return x < 0 ? -x : x; }>},
    EvaluatorRow{"sign", unary<[](auto x) { return decltype(x)((x > 0) - (x < 0)); }>},
    EvaluatorRow{"not", unary<[](Integer x) { return x == 0; }>},
    EvaluatorRow{"floor", unary<[](double x) { return std::floor(x); }>},
    EvaluatorRow{"ceil", unary<[](double x) { return std::ceil(x); }>},
    EvaluatorRow{"round", unary<round_half_up>},

    EvaluatorRow{"add", binary<std::plus<>{}>},
    EvaluatorRow{"sub", binary<std::minus<>{}>},
    EvaluatorRow{"mul", binary<[](auto x, auto y) { return times(x, y); }>},
    EvaluatorRow{"div", binary<[](auto x, auto y) { return quotient(x, y); }>},
    EvaluatorRow{"pow", binary<[](auto x, auto y) { return power(x, y); }>},
    EvaluatorRow{"lt", binary<std::less<>{}>},
    EvaluatorRow{"gt", binary<std::greater<>{}>},
    EvaluatorRow{"le", binary<std::less_equal<>{}>},
    EvaluatorRow{"ge", binary<std::greater_equal<>{}>},
    EvaluatorRow{"eq", binary<std::equal_to<>{}>},
    EvaluatorRow{"ne", binary<std::not_equal_to<>{}>},
    EvaluatorRow{"and", binary<[](Integer x, Integer y) { return x != 0 && y != 0; }>},
    EvaluatorRow{"or", binary<[](Integer x, Integer y) { return x != 0 || y != 0; }>},
    EvaluatorRow{"select", select},

    EvaluatorRow{"tract_core_erf", unary<[](double x) { return std::erf(x); }>},
    EvaluatorRow{"tract_core_round_even", unary<round_half_even>},
    EvaluatorRow{"tract_core_bitnot", unary<[](Integer x) { return -x - 1; }>},
    EvaluatorRow{"tract_core_xor",
                 binary<[](Integer x, Integer y) { return (x != 0) != (y != 0); }>},
    EvaluatorRow{"tract_core_bitand", binary<[](Integer x, Integer y) { return x & y; }>},
    EvaluatorRow{"tract_core_bitor", binary<[](Integer x, Integer y) { return x | y; }>},
    EvaluatorRow{"tract_core_bitxor", binary<[](Integer x, Integer y) { return x ^ y; }>},
    EvaluatorRow{"tract_shl", binary<[](Integer x, Integer y) { return times(x, power_of_2(y)); }>},
    EvaluatorRow{"tract_shr", binary<[](Integer x, Integer y) { return (x >> shift(y)); }>},
};

}  // namespace

std::span<const EvaluatorRow> elementwise_evaluators() { return kRows; }

}  // namespace nnef::reference
