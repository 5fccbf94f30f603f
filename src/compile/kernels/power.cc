#include "compile/kernels/elementwise.h"
#include "compile/kernels/reduce.h"

namespace nnef_tvm {
namespace {

/// Longest chain of multiplications for an exponent known now.
constexpr int64_t kLongestChain = 64;

PrimExpr chain(const PrimExpr& base, int64_t exponent) {
  if (exponent == 0) return number_like(1, base);
  if (exponent == 1) return base;
  return let(multiply(base, base), [&](const PrimExpr& squared) {
    const PrimExpr rest = chain(squared, exponent / 2);
    return exponent % 2 == 0 ? rest : multiply(rest, base);
  });
}

/// By squaring, from the highest bit of the exponent to the lowest. Wraps around as multiplication
/// does; negative exponents give the truncated reciprocal, and 0 of 0.
Expr integer_power(KernelCall& kernel) {
  const Operand base(kernel, 0);
  const Operand exponent(kernel, 1);
  const int64_t bits = kernel.dtype().bits - 1;
  const te::ReduceAxis step = te::reduce_axis(int_imm(bits), "bit");
  const auto bit_of = [](const PrimExpr& value, const PrimExpr& bit) {
    return ne(bitwise_and(right_shift(value, bit), number_like(1, value)), 0);
  };
  const te::Tensor wrapped =
      te::compute(kernel.shape(), "wrapping_power", [&](const te::Indices& i) {
        const PrimExpr b = cast(base.at(i), wrapping_type(kernel.dtype()));
        const PrimExpr e = exponent.at(i);
        const PrimExpr bit = cast(bits - 1 - step.index, item_type(e));
        const PrimExpr factor = select(bit_of(e, bit), b, number_like(1, b));
        const auto square_and_multiply = [](const PrimExpr& power, const PrimExpr& factor) {
          return power * power * factor;
        };
        return te::fold(factor, number_like(1, b), square_and_multiply, {&step, 1});
      });
  const te::Tensor positive = cast_stage(wrapped, kernel.dtype());
  if (kernel.dtype().code == kDLUInt) return kernel.finish(positive);
  return kernel.finish(te::compute(kernel.shape(), "signed_power", [&](const te::Indices& i) {
    const PrimExpr b = base.at(i);
    const PrimExpr e = exponent.at(i);
    const PrimExpr sign = select(bit_of(e, number_like(0, e)), b, number_like(1, b));
    const PrimExpr is_unit = either(eq(b, 1), eq(b, -1));
    return select(lt(e, 0), select(is_unit, sign, number_like(0, b)), positive(i));
  }));
}

/// A known exponent of 3 or more stays a parameter: TVM prints a warning where it sees one.
Expr float_power(ObjectRef builder, const Expr& call, const std::optional<PrimExpr>& constant) {
  const double known = constant ? field<double>(*constant, "value") : 0;
  if (known < 3) {
    return map_items(builder, call, [&](const auto& x) {
      return known == 2 ? let(x[0], [](const PrimExpr& b) { return b * b; }) : pow(x[0], x[1]);
    });
  }
  KernelCall kernel(builder, call);
  const Operand base(kernel, 0);
  const te::Tensor exponent = kernel.input(1);
  return kernel.finish(te::compute(kernel.shape(), "power", [&](const te::Indices& i) {
    return pow(base.at(i), exponent(broadcast_indices(exponent, i, kernel.shape())));
  }));
}

}  // namespace

Expr power(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const auto constant = kernel.constant_item(1);
  if (is_float(kernel.dtype())) return float_power(builder, call, constant);
  const auto exponent = constant ? known_int(*constant) : std::nullopt;
  if (!exponent || *exponent < 0 || *exponent > kLongestChain) return integer_power(kernel);
  return map_items(builder, call, [&](const auto& x) {
    return let(x[0], [&](const PrimExpr& base) { return chain(base, *exponent); });
  });
}

}  // namespace nnef_tvm
