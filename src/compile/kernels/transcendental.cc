#include "compile/kernels/transcendental.h"

#include <array>
#include <limits>
#include <numbers>
#include <span>
#include <string_view>

#include "tvm/lowering.h"

namespace nnef_tvm {
namespace {

DLDataType with_lanes(DLDataType type, const PrimExpr& like) {
  type.lanes = item_type(like).lanes;
  return type;
}

PrimExpr to_bits(const PrimExpr& x) { return reinterpret(x, with_lanes(int32, x)); }
PrimExpr from_bits(const PrimExpr& bits) { return reinterpret(bits, with_lanes(float32, bits)); }

PrimExpr infinity_like(const PrimExpr& x) { return highest(item_type(x)); }

// Not min and max of TVM's: what is not a number stays that.
PrimExpr at_most(const PrimExpr& operand, double limit) {
  return let(operand,
             [&](const PrimExpr& x) { return select(lt(limit, x), number_like(limit, x), x); });
}
PrimExpr at_least(const PrimExpr& operand, double limit) {
  return let(operand,
             [&](const PrimExpr& x) { return select(lt(x, limit), number_like(limit, x), x); });
}

/// c[0] + c[1] x + c[2] x^2 + ...
PrimExpr polynomial(const PrimExpr& x, std::span<const double> coefficients) {
  PrimExpr value = number_like(coefficients.back(), x);
  for (size_t i = coefficients.size() - 1; i-- > 0;) value = value * x + coefficients[i];
  return value;
}

// The coefficients are minimax fits (Remez), weighted for the relative error of the function.

// (exp(r) - 1 - r) / r^2 for |r| <= 0.35.
constexpr std::array kExp = {0.49999994, 0.166665152, 0.041668456, 0.00836941879, 0.00138131448};
// (log(1 + f) - f + f^2 / 2) / f^3 for sqrt(1/2) <= 1 + f <= sqrt(2).
constexpr std::array kLog = {0.333333313, -0.250008196, 0.200012267, -0.166233569,
                             0.142017573, -0.131601796, 0.127615765, -0.0763450116};
// (tanh(x) / x - 1) / x^2 as a polynomial of x^2, for |x| <= 0.625.
constexpr double kTanhNear = 0.625;
constexpr std::array kTanh = {-0.333332807, 0.133314416, -0.0537397154, 0.020639088,
                              -0.00570498686};
// erf(x) / x - 1 as a polynomial of x^2, for |x| <= 0.95.
constexpr double kErfNear = 0.925;
constexpr std::array kErf = {0.128379166,   -0.376126319,    0.112836637,   -0.0268577058,
                             0.00519695226, -0.000809770369, 8.18509434e-05};
// log(1 - erf(x)) for 0.9 <= x <= 3.95; beyond that erf is 1 in 32 bits.
constexpr double kErfFar = 4;
constexpr std::array kLogErfc = {-0.000166449798, -1.12779725,    -0.636976123,  -0.104113661,
                                 0.0223152041,    -0.00306548784, 0.000198219379};
// log2((1 + s) / (1 - s)) / s as a polynomial of s^2, for (1 + s) / (1 - s) as 1 + f above.
constexpr std::array kLog2 = {2.88539008177785,   0.9617966941133053, 0.5770779423770194,
                              0.4122092510426268, 0.3199057552364455, 0.2828992827731867};
// 2^r for |r| <= 1/2.
constexpr std::array kExp2 = {0.9999999999610725,    0.6931471807311442,   0.2402265120416004,
                              0.05550410347295899,   0.009618026441808156, 0.001333392546684102,
                              0.0001546955322916162, 1.520172198884237e-5};

// A float and the nearest integer to it: added to this number, a float has no place for a fraction,
// and the integer stands in its lowest bits (of 64: the lowest 32). As bits, and added again with
// the other sign, since TVM takes (x + c) - c for x whatever c is, also where a name stands for x +
// c.
constexpr uint32_t kRounderBits32 = 0x4B400000;
constexpr uint64_t kRounderBits64 = 0x4338000000000000;
constexpr uint32_t kSignBit32 = 0x80000000;
constexpr uint64_t kSignBit64 = 0x8000000000000000;

PrimExpr rounder_of_bits(const PrimExpr& x, uint32_t sign32, uint64_t sign64) {
  const bool wide = item_type(x).bits == 64;
  const PrimExpr bits = wide ? int_imm(static_cast<int64_t>(kRounderBits64 | sign64), int64)
                             : int_imm(static_cast<int32_t>(kRounderBits32 | sign32), int32);
  const PrimExpr scalar = reinterpret(bits, wide ? float64 : float32);
  return item_type(x).lanes == 1 ? scalar : broadcast(scalar, item_type(x).lanes);
}

PrimExpr rounder_like(const PrimExpr& x) { return rounder_of_bits(x, 0, 0); }
PrimExpr negative_rounder_like(const PrimExpr& x) {
  return rounder_of_bits(x, kSignBit32, kSignBit64);
}

constexpr int kMantissaBits = 23;
constexpr int kExponentBias = 127;

/// 2^k for -126 <= k <= 127.
PrimExpr power_of_two(const PrimExpr& k) {
  return from_bits(left_shift(k + kExponentBias, number_like(kMantissaBits, k)));
}

/// x * 2^k: in two steps, whose powers are in range, and the second of which rounds.
PrimExpr scaled(const PrimExpr& x, const PrimExpr& k) {
  return let(right_shift(k, number_like(1, k)),
             [&](const PrimExpr& half) { return x * power_of_two(half) * power_of_two(k - half); });
}

/// exp(x), for results that 32 bits can hold; `scale` multiplies by a power of two.
PrimExpr exp_in_range(const PrimExpr& operand,
                      PrimExpr (*scale)(const PrimExpr& x, const PrimExpr& k)) {
  constexpr double kLog2E = 1.4426950408889634;
  // log(2) in two parts; products of the first with the integers in question are exact.
  constexpr double kLn2High = 0x1.63p-1;
  constexpr double kLn2Low = -2.12194440054690583e-4;
  return let(operand, [&](const PrimExpr& x) {
    return let(x * kLog2E + rounder_like(x), [&](const PrimExpr& rounded) {
      return let(rounded + negative_rounder_like(x), [&](const PrimExpr& n) {
        return let(x - n * kLn2High - n * kLn2Low, [&](const PrimExpr& r) {
          const PrimExpr mantissa = polynomial(r, kExp) * (r * r) + r + 1;
          return let(to_bits(rounded) - static_cast<int32_t>(kRounderBits32),
                     [&](const PrimExpr& k) { return scale(mantissa, k); });
        });
      });
    });
  });
}

PrimExpr scaled_once(const PrimExpr& x, const PrimExpr& k) { return x * power_of_two(k); }

// Below, exp is 0; above, it is infinite.
constexpr double kExpLowest = -104;
constexpr double kExpHighest = 89;

/// A positive number taken apart: m * 2^e with sqrt(1/2) <= m < sqrt(2), `body` of m and e (an
/// integer).
PrimExpr split(const PrimExpr& x,
               const std::function<PrimExpr(const PrimExpr& m, const PrimExpr& e)>& body) {
  constexpr int kRootHalfBits = 0x3F3504F3;
  constexpr int kMantissaMask = (1 << kMantissaBits) - 1;
  const PrimExpr subnormal = lt(x, 0x1p-126);
  const PrimExpr normal = select(subnormal, x * 0x1p23, x);
  return let(to_bits(normal) - kRootHalfBits, [&](const PrimExpr& bits) {
    const PrimExpr exponent = right_shift(bits, number_like(kMantissaBits, bits));
    const PrimExpr shift =
        select(subnormal, number_like(kMantissaBits, bits), number_like(0, bits));
    const PrimExpr mantissa = bitwise_and(bits, number_like(kMantissaMask, bits));
    return body(from_bits(mantissa + kRootHalfBits), exponent - shift);
  });
}

/// `positive` for positive x; the limits of a logarithm elsewhere.
PrimExpr with_limits_of_log(const PrimExpr& x, const PrimExpr& positive) {
  const PrimExpr nothing = number_like(std::numeric_limits<double>::quiet_NaN(), x);
  const PrimExpr finite = select(lt(x, infinity_like(x)), positive, x);
  return select(lt(x, 0), nothing, select(eq(x, 0), lowest(item_type(x)), finite));
}

PrimExpr odd(const PrimExpr& x, const PrimExpr& of_magnitude) {
  return select(lt(x, 0), -of_magnitude, of_magnitude);
}

/// `body` of log2(x) in 64 bits, for 0 < x < infinity.
PrimExpr log2_float64(const PrimExpr& x, const std::function<PrimExpr(const PrimExpr&)>& body) {
  return split(x, [&](const PrimExpr& narrow, const PrimExpr& e) {
    const DLDataType wide = with_lanes(float64, x);
    return let(cast(narrow, wide), [&](const PrimExpr& m) {
      return let((m - 1) / (m + 1), [&](const PrimExpr& s) {
        return let(s * s, [&](const PrimExpr& square) {
          return body(s * polynomial(square, kLog2) + cast(e, wide));
        });
      });
    });
  });
}

/// 2^x of 64 bits, in 32 bits.
PrimExpr exp2_to_float32(const PrimExpr& operand) {
  constexpr double kLowest = -151;
  constexpr double kHighest = 129;
  return let(at_most(at_least(operand, kLowest), kHighest), [&](const PrimExpr& x) {
    return let(x + rounder_like(x), [&](const PrimExpr& rounded) {
      return let(x - (rounded + negative_rounder_like(x)), [&](const PrimExpr& r) {
        const PrimExpr bits = reinterpret(rounded, with_lanes(int64, rounded));
        return let(cast(bits, with_lanes(int32, x)), [&](const PrimExpr& k) {
          return scaled(cast(polynomial(r, kExp2), with_lanes(float32, x)), k);
        });
      });
    });
  });
}

/// The magnitude of a power with its sign. Of negative bases there are powers only where the
/// exponent is an integer.
PrimExpr with_sign_of_power(const PrimExpr& base, const PrimExpr& exponent,
                            const PrimExpr& magnitude) {
  return let(magnitude, [&](const PrimExpr& size) {
    const PrimExpr half = exponent * 0.5;
    const PrimExpr is_integer = eq(floor(exponent), exponent);
    const PrimExpr is_odd = both(is_integer, negated(eq(floor(half), half)));
    const PrimExpr is_negative = both(lt(base, 0), lt(lowest(item_type(base)), base));
    const PrimExpr nothing = number_like(std::numeric_limits<double>::quiet_NaN(), base);
    // Negative zero and infinity have a sign too, but powers of any exponent.
    const PrimExpr signed_size = select(both(lt(to_bits(base), 0), is_odd), -size, size);
    return select(is_integer, signed_size, select(is_negative, nothing, size));
  });
}

}  // namespace

PrimExpr exp_float32(const PrimExpr& x) {
  return exp_in_range(at_most(at_least(x, kExpLowest), kExpHighest), scaled);
}

PrimExpr log_float32(const PrimExpr& operand) {
  constexpr double kLn2High = 0x1.63p-1;
  constexpr double kLn2Low = -2.12194440054690583e-4;
  return let(operand, [&](const PrimExpr& x) {
    const PrimExpr positive = split(x, [&](const PrimExpr& m, const PrimExpr& e) {
      return let(m - 1, [&](const PrimExpr& f) {
        return let(cast(e, with_lanes(float32, x)), [&](const PrimExpr& n) {
          return let(f * f, [&](const PrimExpr& square) {
            const PrimExpr small = n * kLn2Low + (square * f * polynomial(f, kLog) - square * 0.5);
            return small + f + n * kLn2High;
          });
        });
      });
    });
    return with_limits_of_log(x, positive);
  });
}

PrimExpr tanh_float32(const PrimExpr& operand) {
  constexpr double kOne = 10;  // from here on, 1 in 32 bits
  return let(operand, [&](const PrimExpr& x) {
    return let(abs(x), [&](const PrimExpr& size) {
      const PrimExpr far = 1 - 2 / (exp_in_range(at_most(size * 2, 2 * kOne), scaled_once) + 1);
      const PrimExpr near = let(x * x, [&](const PrimExpr& square) {
        return x * (square * polynomial(square, kTanh) + 1);
      });
      return select(lt(size, kTanhNear), near, odd(x, far));
    });
  });
}

PrimExpr erf_float32(const PrimExpr& operand) {
  return let(operand, [&](const PrimExpr& x) {
    return let(at_most(abs(x), kErfFar), [&](const PrimExpr& size) {
      const PrimExpr far = 1 - exp_in_range(polynomial(size, kLogErfc), scaled_once);
      const PrimExpr near =
          let(x * x, [&](const PrimExpr& square) { return x + x * polynomial(square, kErf); });
      return select(lt(size, kErfNear), near, odd(x, far));
    });
  });
}

/// The series of positive terms x e^-x^2 (1 + 2x^2/3 (1 + 2x^2/5 (...))), as long as it must be at
/// 6, from where on erf is 1 in 64 bits.
PrimExpr erf_float64(const PrimExpr& operand) {
  constexpr double kOne = 6;
  constexpr int kTerms = 160;
  return let(at_most(at_least(operand, -kOne), kOne), [&](const PrimExpr& x) {
    return let(x * x * 2, [&](const PrimExpr& twice) {
      PrimExpr series = number_like(1, x);
      for (int term = kTerms; term > 0; --term)
        series = 1 + twice * (1.0 / (2 * term + 1)) * series;
      return x * exp(twice * -0.5) * series * (std::numbers::inv_sqrtpi * 2);
    });
  });
}

PrimExpr sigmoid_float32(const PrimExpr& operand) {
  return let(operand, [&](const PrimExpr& x) {
    const PrimExpr less = exp_in_range(at_least(-abs(x), kExpLowest), scaled);
    return let(less,
               [&](const PrimExpr& e) { return select(lt(x, 0), e, number_like(1, e)) / (1 + e); });
  });
}

PrimExpr pow_float32(const PrimExpr& base_operand, const PrimExpr& exponent_operand) {
  return let(base_operand, [&](const PrimExpr& base) {
    return let(exponent_operand, [&](const PrimExpr& exponent) {
      return let(abs(base), [&](const PrimExpr& size) {
        const DLDataType wide = with_lanes(float64, base);
        const PrimExpr magnitude = log2_float64(size, [&](const PrimExpr& finite) {
          const PrimExpr logarithm =
              select(lt(size, infinity_like(size)), select(lt(0, size), finite, lowest(wide)),
                     cast(size, wide));
          return exp2_to_float32(cast(exponent, wide) * logarithm);
        });
        return pow_of_magnitude(base, exponent, magnitude);
      });
    });
  });
}

PrimExpr pow_of_magnitude(const PrimExpr& base, const PrimExpr& exponent,
                          const PrimExpr& magnitude) {
  return let(magnitude, [&](const PrimExpr& power) {
    // 1 to any power and anything to the power 0 are 1, also what is not a number.
    const PrimExpr is_one = either(eq(abs(base), 1), eq(exponent, 0));
    return with_sign_of_power(base, exponent, select(is_one, number_like(1, power), power));
  });
}

namespace {

using Unary = PrimExpr (*)(const PrimExpr&);

struct UnaryRow {
  const char* op;
  Unary formula;
};

constexpr std::array<UnaryRow, 2> kUnary = {{
    {"tirx.exp", exp_float32},
    {"tirx.log", log_float32},
}};

/// What vectors could be made of, but for a mark that TVM's tables lack.
constexpr std::array kVectorizable = {"tirx.erf", "tirx.nearbyint", "tirx.rsqrt"};

/// TVM folds comparisons of constants, of vectors to what it then refuses: taken as bits and back,
/// which costs nothing, they are no constants to it.
PrimExpr opaque(const PrimExpr& x) { return from_bits(to_bits(x)); }

bool is_float32(const PrimExpr& x) {
  const DLDataType type = item_type(x);
  return type.code == kDLFloat && type.bits == 32;
}

/// Whether a formula may stand for a function of this argument: of 32 bits, and without another
/// formula or what becomes one, since TVM's analysis writes every name out and so would take time
/// exponential in their depth, or refuse.
bool takes_formula(const PrimExpr& x) {
  static constexpr std::array<std::string_view, 7> kFormulas = {
      "prim.Let", "tirx.exp", "tirx.log", "tirx.tanh", "tirx.erf", "tirx.sigmoid", "tirx.pow"};
  return is_float32(x) && !holds_any(x, kFormulas);
}

/// tanh where no formula may stand, with one use of its argument.
PrimExpr tanh_of_formula(const PrimExpr& x) { return 1 - 2 / (exp(x * 2) + 1); }

}  // namespace

void register_transcendentals() {
  static const bool registered = first_in_process("transcendentals") && [] {
    for (const UnaryRow& row : kUnary) {
      set_lowering("llvm", row.op, [formula = row.formula](const Array<PrimExpr>& args) {
        return takes_formula(args[0]) ? std::optional(formula(opaque(args[0]))) : std::nullopt;
      });
    }
    // TVM's own rule for erf ends the process.
    set_lowering("llvm", "tirx.erf", [](const Array<PrimExpr>& args) {
      return std::optional(is_float32(args[0]) ? erf_float32(opaque(args[0]))
                                               : erf_float64(args[0]));
    });
    set_lowering("llvm", "tirx.tanh", [](const Array<PrimExpr>& args) {
      if (!is_float32(args[0])) return std::optional<PrimExpr>();
      return std::optional(takes_formula(args[0]) ? tanh_float32(opaque(args[0]))
                                                  : tanh_of_formula(args[0]));
    });
    // TVM has no rule of its own for sigmoid here.
    set_lowering("llvm", "tirx.sigmoid", [](const Array<PrimExpr>& args) {
      return std::optional(takes_formula(args[0]) ? sigmoid_float32(opaque(args[0]))
                                                  : 1 / (exp(-args[0]) + 1));
    });
    set_lowering("llvm", "tirx.pow", [](const Array<PrimExpr>& args) {
      return takes_formula(args[0]) && takes_formula(args[1])
                 ? std::optional(pow_float32(opaque(args[0]), opaque(args[1])))
                 : std::nullopt;
    });
    for (const char* op : kVectorizable) mark_vectorizable(op);
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace nnef_tvm
