#include "compile/kernels/elementwise.h"

#include <numbers>

namespace nnef_tvm {
namespace {

using Unary = PrimExpr (*)(const PrimExpr&);
using Binary = PrimExpr (*)(const PrimExpr&, const PrimExpr&);

template <Unary function>
Expr unary(ObjectRef builder, Expr call) {
  return map_items(builder, call, [](const auto& x) { return function(x[0]); });
}

template <Binary function>
Expr binary(ObjectRef builder, Expr call) {
  return map_items(builder, call, [](const auto& x) { return function(x[0], x[1]); });
}

/// Of two integers, modulo 2^n.
template <Binary function>
PrimExpr wrapping(const PrimExpr& a, const PrimExpr& b) {
  const DLDataType type = item_type(a);
  const DLDataType wide = wrapping_type(type);
  return wrap(function(cast(a, wide), cast(b, wide)), type);
}

PrimExpr sum(const PrimExpr& a, const PrimExpr& b) { return a + b; }
PrimExpr difference(const PrimExpr& a, const PrimExpr& b) { return a - b; }
PrimExpr product(const PrimExpr& a, const PrimExpr& b) { return a * b; }

// Of one operand.

PrimExpr negative(const PrimExpr& x) {
  return is_float(item_type(x)) ? -x : wrapping<difference>(number_like(0, x), x);
}
PrimExpr square(const PrimExpr& x) { return multiply(x, x); }

PrimExpr absolute(const PrimExpr& x) {
  if (item_type(x).code != kDLInt) return abs(x);
  return select(lt(x, 0), negative(x), x);
}

PrimExpr sign(const PrimExpr& x) {
  if (item_type(x).code == kDLUInt) return min(x, 1);
  return select(lt(x, 0), number_like(-1, x),
                select(gt(x, 0), number_like(1, x), number_like(0, x)));
}

/// A property that integers have or lack altogether.
template <Unary property, bool of_integers>
PrimExpr float_property(const PrimExpr& x) {
  return is_float(item_type(x)) ? property(x) : int_imm(of_integers, boolean);
}

PrimExpr relu(const PrimExpr& x) { return max(x, 0); }
PrimExpr silu(const PrimExpr& x) { return x * sigmoid(x); }

PrimExpr gelu(const PrimExpr& x) { return x * (0.5 + 0.5 * erf(x * (1 / std::numbers::sqrt2))); }

PrimExpr gelu_tanh(const PrimExpr& x) {
  const double scale = std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
  return 0.5 * x * (1 + tanh(scale * x * (1 + 0.044715 * x * x)));
}

PrimExpr selu(const PrimExpr& x) {
  const double alpha = 1.6732632423543772848170429916717;
  const double scale = 1.0507009873554804934193349852946;
  return scale * (max(x, 0) + min(alpha * (exp(x) - 1), 0));
}

// Of two operands.

/// Division by zero traps, and so does that of the lowest integer by -1: here those give 0 and the
/// wrapped negative.
template <Binary divide, bool remainder>
PrimExpr divide_integers(const PrimExpr& a, const PrimExpr& b) {
  if (const auto divisor = known_int(b); divisor && *divisor != 0 && *divisor != -1) {
    return divide(a, b);
  }
  PrimExpr traps = eq(b, 0);
  PrimExpr result = number_like(0, a);
  if (item_type(a).code == kDLInt) {
    traps = either(traps, eq(b, -1));
    if (!remainder) result = select(eq(b, 0), result, negative(a));
  }
  return select(traps, result, divide(a, select(traps, number_like(1, b), b)));
}

PrimExpr add(const PrimExpr& a, const PrimExpr& b) { return wrapping<sum>(a, b); }
PrimExpr subtract(const PrimExpr& a, const PrimExpr& b) { return wrapping<difference>(a, b); }
PrimExpr quotient(const PrimExpr& a, const PrimExpr& b) { return a / b; }

PrimExpr divide(const PrimExpr& a, const PrimExpr& b) {
  return is_float(item_type(a)) ? a / b : divide_integers<quotient, false>(a, b);
}

PrimExpr floor_divide(const PrimExpr& a, const PrimExpr& b) {
  return is_float(item_type(a)) ? floor(a / b) : divide_integers<floordiv, false>(a, b);
}

PrimExpr mod(const PrimExpr& a, const PrimExpr& b) {
  return is_float(item_type(a)) ? a - trunc(a / b) * b : divide_integers<truncmod, true>(a, b);
}

PrimExpr floor_mod(const PrimExpr& a, const PrimExpr& b) {
  return is_float(item_type(a)) ? a - floor(a / b) * b : divide_integers<floormod, true>(a, b);
}

PrimExpr greater_of(const PrimExpr& a, const PrimExpr& b) {
  return is_boolean(item_type(a)) ? either(a, b) : max(a, b);
}

PrimExpr lesser_of(const PrimExpr& a, const PrimExpr& b) {
  return is_boolean(item_type(a)) ? both(a, b) : min(a, b);
}

PrimExpr log_add_exp(const PrimExpr& a, const PrimExpr& b) {
  const PrimExpr greater = max(a, b);
  return greater + log(exp(a - greater) + exp(b - greater));
}

/// Logic on any type: whether items differ from zero.
PrimExpr logical_and(const PrimExpr& a, const PrimExpr& b) {
  return both(cast(a, boolean), cast(b, boolean));
}

PrimExpr logical_or(const PrimExpr& a, const PrimExpr& b) {
  return either(cast(a, boolean), cast(b, boolean));
}

PrimExpr logical_xor(const PrimExpr& a, const PrimExpr& b) {
  return ne(cast(a, boolean), cast(b, boolean));
}

PrimExpr logical_not(const PrimExpr& x) { return negated(cast(x, boolean)); }

template <Binary logical, Binary bitwise>
PrimExpr bits(const PrimExpr& a, const PrimExpr& b) {
  return is_boolean(item_type(a)) ? logical(a, b) : bitwise(a, b);
}

PrimExpr flipped_bits(const PrimExpr& x) {
  return is_boolean(item_type(x)) ? negated(x) : bitwise_not(x);
}

Expr where(ObjectRef builder, Expr call) {
  return map_items(builder, call,
                   [](const auto& x) { return select(cast(x[0], boolean), x[1], x[2]); });
}

Expr fused_multiply_add(ObjectRef builder, Expr call) {
  return map_items(builder, call, [](const auto& x) { return add(multiply(x[0], x[1]), x[2]); });
}

// With attributes.

Expr clip(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const PrimExpr low = kernel.prim(1);
  const PrimExpr high = kernel.prim(2);
  const te::Tensor x = kernel.input(0);
  return kernel.finish(te::compute(x.shape(), "clip", [&](const te::Indices& i) {
    return max(min(x(i), cast(high, x.dtype())), cast(low, x.dtype()));
  }));
}

Expr astype(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  if (dtype_of(kernel.arg(0)) == kernel.dtype()) return kernel.arg(0);
  const te::Tensor x = kernel.input(0);
  return kernel.finish(te::compute(
      x.shape(), "astype", [&](const te::Indices& i) { return cast(x(i), kernel.dtype()); }));
}

Expr leaky_relu(ObjectRef builder, Expr call) {
  const double alpha = KernelCall(builder, call).real("alpha");
  return map_items(builder, call,
                   [&](const auto& x) { return select(gt(x[0], 0), x[0], x[0] * alpha); });
}

Expr prelu(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::Tensor slope = kernel.input(1);
  const size_t axis = kernel.axis("axis", x.rank());
  return kernel.finish(te::compute(x.shape(), "prelu", [&](const te::Indices& i) {
    const PrimExpr channel = is_known(slope.extent(0), 1) ? int_imm(0) : i[axis];
    return select(gt(x(i), 0), x(i), x(i) * slope({channel}));
  }));
}

Expr softplus(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const double beta = kernel.real("beta");
  const double threshold = kernel.real("threshold");
  return map_items(builder, call, [&](const auto& x) {
    const PrimExpr scaled = x[0] * beta;
    // log(1 + exp(v)) without overflow.
    const PrimExpr soft = max(scaled, 0) + log(1 + exp(-abs(scaled)));
    return select(gt(scaled, threshold), x[0], soft / beta);
  });
}

/// At inference, the identity; the mask is all ones.
Expr dropout(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor ones = te::compute(
      kernel.shape(1), "ones", [&](const te::Indices&) { return number(1, kernel.dtype(1)); });
  return tuple({kernel.arg(0), kernel.finish_item("dropout_mask", ones, 1)});
}

constexpr LegalisationRow kRows[] = {
    {"relax.abs", unary<absolute>},
    {"relax.acos", unary<acos>},
    {"relax.acosh", unary<acosh>},
    {"relax.asin", unary<asin>},
    {"relax.asinh", unary<asinh>},
    {"relax.atan", unary<atan>},
    {"relax.atanh", unary<atanh>},
    {"relax.bitwise_not", unary<flipped_bits>},
    {"relax.ceil", unary<ceil>},
    {"relax.cos", unary<cos>},
    {"relax.cosh", unary<cosh>},
    {"relax.erf", unary<erf>},
    {"relax.exp", unary<exp>},
    {"relax.floor", unary<floor>},
    {"relax.isfinite", unary<float_property<isfinite, true>>},
    {"relax.isinf", unary<float_property<isinf, false>>},
    {"relax.isnan", unary<float_property<isnan, false>>},
    {"relax.log", unary<log>},
    {"relax.logical_not", unary<logical_not>},
    {"relax.negative", unary<negative>},
    {"relax.round", unary<round_half_to_even>},
    {"relax.rsqrt", unary<rsqrt>},
    {"relax.sigmoid", unary<sigmoid>},
    {"relax.sign", unary<sign>},
    {"relax.sin", unary<sin>},
    {"relax.sinh", unary<sinh>},
    {"relax.sqrt", unary<sqrt>},
    {"relax.square", unary<square>},
    {"relax.tan", unary<tan>},
    {"relax.tanh", unary<tanh>},
    {"relax.trunc", unary<trunc>},

    {"relax.nn.gelu", unary<gelu>},
    {"relax.nn.gelu_tanh", unary<gelu_tanh>},
    {"relax.nn.leakyrelu", leaky_relu},
    {"relax.nn.prelu", prelu},
    {"relax.nn.relu", unary<relu>},
    {"relax.nn.selu", unary<selu>},
    {"relax.nn.silu", unary<silu>},
    {"relax.nn.softplus", softplus},
    {"relax.nn.dropout", dropout},

    {"relax.add", binary<add>},
    {"relax.atan2", binary<atan2>},
    {"relax.bitwise_and", binary<bits<both, bitwise_and>>},
    {"relax.bitwise_or", binary<bits<either, bitwise_or>>},
    {"relax.bitwise_xor", binary<bits<ne, bitwise_xor>>},
    {"relax.divide", binary<divide>},
    {"relax.equal", binary<eq>},
    {"relax.floor_divide", binary<floor_divide>},
    {"relax.floor_mod", binary<floor_mod>},
    {"relax.greater", binary<gt>},
    {"relax.greater_equal", binary<ge>},
    {"relax.left_shift", binary<left_shift>},
    {"relax.less", binary<lt>},
    {"relax.less_equal", binary<le>},
    {"relax.log_add_exp", binary<log_add_exp>},
    {"relax.logical_and", binary<logical_and>},
    {"relax.logical_or", binary<logical_or>},
    {"relax.logical_xor", binary<logical_xor>},
    {"relax.maximum", binary<greater_of>},
    {"relax.minimum", binary<lesser_of>},
    {"relax.mod", binary<mod>},
    {"relax.multiply", binary<multiply>},
    {"relax.not_equal", binary<ne>},
    {"relax.power", power},
    {"relax.right_shift", binary<right_shift>},
    {"relax.subtract", binary<subtract>},

    {"relax.astype", astype},
    {"relax.clip", clip},
    {"relax.ewise_fma", fused_multiply_add},
    {"relax.where", where},
};

}  // namespace

PrimExpr multiply(const PrimExpr& a, const PrimExpr& b) { return wrapping<product>(a, b); }

te::Indices broadcast_indices(const te::Tensor& tensor, const te::Indices& indices,
                              const te::Shape& shape) {
  te::Indices own;
  const size_t offset = indices.size() - tensor.rank();
  for (size_t axis = 0; axis < tensor.rank(); ++axis) {
    // A plain index wherever it will do shows TVM which kernels work item by item.
    const bool repeats = is_known(tensor.extent(axis), 1) && !is_known(shape[offset + axis], 1);
    own.push_back(repeats ? int_imm(0) : indices[offset + axis]);
  }
  return own;
}

Operand::Operand(KernelCall& kernel, size_t argument)
    : shape_(kernel.shape()), item_(kernel.constant_item(argument)) {
  if (item_) return;
  if (kernel.is_tensor(argument)) {
    tensor_ = kernel.input(argument);
  } else {
    item_ = kernel.prim(argument);
  }
}

PrimExpr Operand::at(const te::Indices& indices) const {
  return item_ ? *item_ : (*tensor_)(broadcast_indices(*tensor_, indices, shape_));
}

Expr map_items(ObjectRef builder, Expr call,
               const std::function<PrimExpr(const std::vector<PrimExpr>&)>& body) {
  KernelCall kernel(builder, call);
  std::vector<Operand> operands;
  for (size_t i = 0; i < kernel.arity(); ++i) operands.emplace_back(kernel, i);
  return kernel.finish(te::compute(kernel.shape(), kernel.name(), [&](const te::Indices& indices) {
    std::vector<PrimExpr> items;
    for (const Operand& operand : operands) items.push_back(operand.at(indices));
    return body(items);
  }));
}

std::span<const LegalisationRow> elementwise_kernels() { return kRows; }

}  // namespace nnef_tvm
