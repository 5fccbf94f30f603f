#include "tvm/te.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

namespace nnef_tvm {
namespace {

PrimExpr intrinsic(const char* op, DLDataType type, const Array<PrimExpr>& args) {
  return call<PrimExpr>("ir.Call", prim_type(type), call<ObjectRef>("ir.GetOp", op), args, nullptr,
                        Array<Type>(), nullptr);
}

/// A function of floats, in 32 bits at least.
PrimExpr function_of(const char* op, const Array<PrimExpr>& args) {
  const DLDataType type = item_type(args[0]);
  if (type.bits >= 32) return intrinsic(op, type, args);
  Array<PrimExpr> wide;
  for (const PrimExpr& arg : args) wide.push_back(cast(arg, float32));
  return cast(intrinsic(op, float32, wide), type);
}

PrimExpr unary(const char* function, const PrimExpr& x) {
  return call<PrimExpr>(function, x, nullptr);
}

PrimExpr binary(const char* function, const PrimExpr& a, const PrimExpr& b) {
  return call<PrimExpr>(function, a, b, nullptr);
}

/// Code generators have no order on booleans, and not all of them equality.
PrimExpr comparison(const char* function, const PrimExpr& a, const PrimExpr& b) {
  if (!is_boolean(item_type(a))) return binary(function, a, b);
  return binary(function, cast(a, int8), cast(b, int8));
}

PrimExpr rounding(const char* function, const PrimExpr& x) {
  return is_float(item_type(x)) ? unary(function, x) : x;
}

/// TVM refuses to compile a division of reals by what it finds to be 0 (a literal, x - x): it must
/// not look into the divisor. The bits are taken as integers and back, which costs nothing.
PrimExpr divisor(const PrimExpr& b) {
  const bool known = b.GetTypeKey() == std::string_view("ir.FloatImm");
  if (known && field<double>(b, "value") != 0) return b;
  const DLDataType type = item_type(b);
  const DLDataType bits{kDLInt, type.bits, type.lanes};
  return reinterpret(reinterpret(b, bits), type);
}

}  // namespace

DLDataType item_type(const PrimExpr& value) { return field<DLDataType>(type_of(value), "dtype"); }
bool is_float(DLDataType type) { return type.code == kDLFloat || type.code == kDLBfloat; }
bool is_boolean(DLDataType type) { return type.code == kDLBool; }

PrimExpr broadcast(const PrimExpr& scalar, int lanes) {
  return call<PrimExpr>("prim.Broadcast", scalar, int_imm(lanes, int32), nullptr);
}

PrimExpr number(double value, DLDataType type) {
  if (type.lanes > 1) {
    const DLDataType scalar{type.code, type.bits, 1};
    return broadcast(number(value, scalar), type.lanes);
  }
  return is_float(type) ? float_imm(value, type) : int_imm(static_cast<int64_t>(value), type);
}

PrimExpr number_like(double value, const PrimExpr& other) {
  return number(value, item_type(other));
}

PrimExpr lowest(DLDataType type) {
  if (is_float(type)) return number(-std::numeric_limits<double>::infinity(), type);
  return call<PrimExpr>("prim.min_value", prim_type(type), nullptr);
}

PrimExpr highest(DLDataType type) {
  if (is_float(type)) return number(std::numeric_limits<double>::infinity(), type);
  return call<PrimExpr>("prim.max_value", prim_type(type), nullptr);
}

std::optional<int64_t> known_int(const PrimExpr& value) {
  if (value.GetTypeKey() != "ir.IntImm") return std::nullopt;
  return field<int64_t>(value, "value");
}

bool is_known(const PrimExpr& value, int64_t expected) { return known_int(value) == expected; }

int64_t known_factor(const PrimExpr& value) {
  if (const auto known = known_int(value)) return std::max<int64_t>(1, std::abs(*known));
  const std::string key = type_key(value);
  const bool product = key == "prim.Mul";
  if (!product && key != "prim.Add" && key != "prim.Sub") return 1;
  const int64_t a = known_factor(field<PrimExpr>(value, "a"));
  const int64_t b = known_factor(field<PrimExpr>(value, "b"));
  return product ? a * b : std::gcd(a, b);
}

PrimExpr operator+(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpAdd", a, b); }
PrimExpr operator-(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpSub", a, b); }
PrimExpr operator*(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpMul", a, b); }
PrimExpr operator/(const PrimExpr& a, const PrimExpr& b) {
  return binary("prim._OpDiv", a, is_float(item_type(b)) ? divisor(b) : b);
}
PrimExpr operator-(const PrimExpr& a) {
  // Not 0 - a, which has the wrong sign for zeros.
  return is_float(item_type(a)) ? a * -1.0 : 0 - a;
}
PrimExpr truncmod(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpTruncMod", a, b); }
PrimExpr floordiv(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpFloorDiv", a, b); }
PrimExpr floormod(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpFloorMod", a, b); }
PrimExpr ceildiv(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpCeilDiv", a, b); }
PrimExpr max(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpMax", a, b); }
PrimExpr min(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpMin", a, b); }

PrimExpr eq(const PrimExpr& a, const PrimExpr& b) { return comparison("prim._OpEQ", a, b); }
PrimExpr ne(const PrimExpr& a, const PrimExpr& b) {
  if (!is_float(item_type(a))) return comparison("prim._OpNE", a, b);
  // TVM's own operator is false for what is not a number, and so is the negation of equality, which
  // TVM rewrites to it.
  return select(eq(a, b), int_imm(0, boolean), int_imm(1, boolean));
}
PrimExpr lt(const PrimExpr& a, const PrimExpr& b) { return comparison("prim._OpLT", a, b); }
PrimExpr le(const PrimExpr& a, const PrimExpr& b) { return comparison("prim._OpLE", a, b); }
PrimExpr gt(const PrimExpr& a, const PrimExpr& b) { return comparison("prim._OpGT", a, b); }
PrimExpr ge(const PrimExpr& a, const PrimExpr& b) { return comparison("prim._OpGE", a, b); }
PrimExpr both(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpAnd", a, b); }
PrimExpr either(const PrimExpr& a, const PrimExpr& b) { return binary("prim._OpOr", a, b); }
PrimExpr negated(const PrimExpr& condition) { return unary("prim.Not", condition); }

PrimExpr all_of(std::span<const PrimExpr> conditions) {
  PrimExpr all = int_imm(1, boolean);
  for (const PrimExpr& condition : conditions) all = both(all, condition);
  return all;
}

PrimExpr select(const PrimExpr& condition, const PrimExpr& a, const PrimExpr& b) {
  return call<PrimExpr>("prim.Select", condition, a, b, nullptr);
}

PrimExpr if_then_else(const PrimExpr& condition, const PrimExpr& a, const PrimExpr& b) {
  return call<PrimExpr>("prim._OpIfThenElse", condition, a, b, nullptr);
}

PrimExpr cast(const PrimExpr& value, DLDataType type) {
  const DLDataType from = item_type(value);
  if (from == type) return value;
  if (is_boolean(type)) return ne(value, 0);
  return call<PrimExpr>("prim._cast", prim_type(type), value, nullptr);
}

bool is_integer(DLDataType type) { return type.code == kDLInt || type.code == kDLUInt; }

DLDataType wrapping_type(DLDataType type) {
  if (is_integer(type) && type.bits == 32) type.bits = 64;
  return type;
}

PrimExpr wrap(const PrimExpr& value, DLDataType type) {
  const DLDataType from = item_type(value);
  const bool narrows = is_integer(from) && is_integer(type) && from.bits == 64 && type.bits == 32;
  if (!narrows) return cast(value, type);
  const PrimExpr low = cast(bitwise_and(value, int_imm(0xffffffff, from)), int64);
  const PrimExpr sign = int_imm(int64_t{1} << 31);
  return cast(type.code == kDLInt ? bitwise_xor(low, sign) - sign : low, type);
}

PrimExpr reinterpret(const PrimExpr& value, DLDataType type) {
  return intrinsic("tirx.reinterpret", type, {value});
}

PrimExpr let(const PrimExpr& value, const std::function<PrimExpr(const PrimExpr&)>& body) {
  const std::string key = type_key(value);
  // TVM's analysis binds another name of a variable or number more than once, and refuses.
  if (key == "ir.Var" || key == "ir.FloatImm" || key == "ir.IntImm") return body(value);
  if (key == "prim.Let") {
    return call<PrimExpr>("prim.Let", field<Var>(value, "var"), field<PrimExpr>(value, "value"),
                          let(field<PrimExpr>(value, "body"), body), nullptr);
  }
  const Var name = var("value", type_of(value));
  return call<PrimExpr>("prim.Let", name, value, body(name), nullptr);
}

PrimExpr bitwise_and(const PrimExpr& a, const PrimExpr& b) {
  return binary("prim.bitwise_and", a, b);
}
PrimExpr bitwise_or(const PrimExpr& a, const PrimExpr& b) {
  return binary("prim.bitwise_or", a, b);
}
PrimExpr bitwise_xor(const PrimExpr& a, const PrimExpr& b) {
  return binary("prim.bitwise_xor", a, b);
}
PrimExpr bitwise_not(const PrimExpr& a) { return unary("prim.bitwise_not", a); }
PrimExpr left_shift(const PrimExpr& a, const PrimExpr& b) {
  return binary("prim.left_shift", a, b);
}
PrimExpr right_shift(const PrimExpr& a, const PrimExpr& b) {
  return binary("prim.right_shift", a, b);
}

PrimExpr abs(const PrimExpr& x) {
  const DLDataType type = item_type(x);
  return type.code == kDLUInt || is_boolean(type) ? x : unary("tirx.abs", x);
}
PrimExpr floor(const PrimExpr& x) { return rounding("tirx.floor", x); }
PrimExpr ceil(const PrimExpr& x) { return rounding("prim.ceil", x); }
PrimExpr trunc(const PrimExpr& x) { return rounding("tirx.trunc", x); }
PrimExpr round_half_to_even(const PrimExpr& x) { return rounding("tirx.nearbyint", x); }
PrimExpr isnan(const PrimExpr& x) { return unary("tirx.isnan", x); }
PrimExpr isinf(const PrimExpr& x) { return unary("tirx.isinf", x); }
PrimExpr isfinite(const PrimExpr& x) { return unary("tirx.isfinite", x); }
PrimExpr exp(const PrimExpr& x) { return function_of("tirx.exp", {x}); }
PrimExpr log(const PrimExpr& x) { return function_of("tirx.log", {x}); }
PrimExpr sqrt(const PrimExpr& x) { return function_of("tirx.sqrt", {x}); }
PrimExpr rsqrt(const PrimExpr& x) { return function_of("tirx.rsqrt", {x}); }
PrimExpr sin(const PrimExpr& x) { return function_of("tirx.sin", {x}); }
PrimExpr cos(const PrimExpr& x) { return function_of("tirx.cos", {x}); }
PrimExpr tan(const PrimExpr& x) { return function_of("tirx.tan", {x}); }
PrimExpr asin(const PrimExpr& x) { return function_of("tirx.asin", {x}); }
PrimExpr acos(const PrimExpr& x) { return function_of("tirx.acos", {x}); }
PrimExpr atan(const PrimExpr& x) { return function_of("tirx.atan", {x}); }

// LLVM has no rule for tirx.sinh and tirx.cosh. exp(|x| / 2) twice reaches as far as the result
// does.
PrimExpr sinh(const PrimExpr& x) {
  const PrimExpr root = exp(abs(x) * 0.5);
  const PrimExpr large = 0.5 * root * root - 0.5 / (root * root);
  // The difference cancels near 0: Taylor's series up to x^13 there.
  const PrimExpr square = x * x;
  PrimExpr series = number_like(1, x);
  for (const double divisor : {156, 110, 72, 42, 20, 6}) series = 1 + square * series / divisor;
  return select(lt(abs(x), 1), x * series, select(lt(x, 0), -large, large));
}

PrimExpr cosh(const PrimExpr& x) {
  const PrimExpr root = exp(abs(x) * 0.5);
  return 0.5 * root * root + 0.5 / (root * root);
}

namespace {

/// An odd function near 0 by its series, whose coefficients of x, x^3, ... are given: what TVM
/// makes of exponentials and logarithms cancels there.
PrimExpr with_series(const PrimExpr& x, std::span<const double> coefficients,
                     const PrimExpr& elsewhere) {
  constexpr double kNear = 0.25;
  const PrimExpr square = x * x;
  PrimExpr series = number_like(0, x);
  for (size_t i = coefficients.size(); i-- > 0;) series = series * square + coefficients[i];
  return select(lt(abs(x), kNear), x * series, elsewhere);
}

}  // namespace

PrimExpr tanh(const PrimExpr& x) { return function_of("tirx.tanh", {x}); }
PrimExpr asinh(const PrimExpr& x) { return function_of("tirx.asinh", {x}); }
PrimExpr acosh(const PrimExpr& x) { return function_of("tirx.acosh", {x}); }
PrimExpr atanh(const PrimExpr& x) {
  constexpr std::array kSeries{1.0, 1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11, 1.0 / 13};
  return with_series(x, kSeries, function_of("tirx.atanh", {x}));
}
PrimExpr erf(const PrimExpr& x) { return function_of("tirx.erf", {x}); }
PrimExpr sigmoid(const PrimExpr& x) { return function_of("tirx.sigmoid", {x}); }
PrimExpr atan2(const PrimExpr& y, const PrimExpr& x) { return function_of("tirx.atan2", {y, x}); }
PrimExpr pow(const PrimExpr& base, const PrimExpr& exponent) {
  return function_of("tirx.pow", {base, exponent});
}

PrimExpr call_by_name(const std::string& name, DLDataType result, const Array<PrimExpr>& args) {
  Array<PrimExpr> all = {call<PrimExpr>("ir.StringImm", name, nullptr)};
  for (const PrimExpr& arg : args) all.push_back(arg);
  return intrinsic("tirx.call_pure_extern", result, all);
}

namespace te {
namespace {

enum IterationKind { kDataParallel = 0, kReduction = 2 };

ObjectRef range_to(const PrimExpr& extent) {
  return call<ObjectRef>("ir.Range", int_imm(0), extent, nullptr);
}

ObjectRef iteration(const PrimExpr& extent, const std::string& name, IterationKind kind) {
  return call<ObjectRef>("tirx.IterVar", range_to(extent), var(name, prim_type(int64)),
                         static_cast<int>(kind), "", nullptr);
}

}  // namespace

Tensor::Tensor(TETensor handle)
    : handle_(std::move(handle)),
      dtype_(field<DLDataType>(call<Type>("te.TensorDType", handle_), "dtype")) {
  for (const PrimExpr& extent : field<Array<PrimExpr>>(handle_, "shape")) shape_.push_back(extent);
}

PrimExpr Tensor::operator()(const Indices& indices) const {
  return call<PrimExpr>("te.TensorLoad", handle_, Array<PrimExpr>(indices.begin(), indices.end()));
}

Tensor placeholder(const Shape& shape, DLDataType dtype, const std::string& name) {
  return Tensor(call<TETensor>("te.Placeholder", Array<PrimExpr>(shape.begin(), shape.end()),
                               prim_type(dtype), name));
}

std::vector<Tensor> compute_together(
    const Shape& shape, const std::string& name,
    const std::function<std::vector<PrimExpr>(const Indices&)>& body) {
  Array<ObjectRef> iterations;
  Indices indices;
  for (size_t i = 0; i < shape.size(); ++i) {
    iterations.push_back(iteration(shape[i], "i" + std::to_string(i), kDataParallel));
    indices.push_back(field<PrimExpr>(iterations.back(), "var"));
  }
  const std::vector<PrimExpr> values = body(indices);
  const auto operation = call<ObjectRef>("te.ComputeOp", name, "", nullptr, iterations,
                                         Array<PrimExpr>(values.begin(), values.end()));
  std::vector<Tensor> results;
  for (size_t i = 0; i < values.size(); ++i) {
    results.emplace_back(call<TETensor>("te.OpGetOutput", operation, static_cast<int64_t>(i)));
  }
  return results;
}

Tensor compute(const Shape& shape, const std::string& name, const Body& body) {
  return compute_together(shape, name, [&](const Indices& i) { return std::vector{body(i)}; })[0];
}

ReduceAxis reduce_axis(const PrimExpr& extent, const std::string& name) {
  const ObjectRef axis = iteration(extent, name, kReduction);
  return {axis, field<PrimExpr>(axis, "var")};
}

PrimExpr fold(const PrimExpr& value, const PrimExpr& start, const Combiner& combine,
              std::span<const ReduceAxis> axes) {
  if (axes.empty()) return value;
  const Type type = type_of(value);
  const Var a = var("a", type);
  const Var b = var("b", type);
  const auto reducer =
      call<ObjectRef>("te.CommReducer", Array<Var>{a}, Array<Var>{b},
                      Array<PrimExpr>{combine(a, b)}, Array<PrimExpr>{start}, nullptr);
  Array<ObjectRef> iterations;
  for (const ReduceAxis& axis : axes) iterations.push_back(axis.iteration);
  return call<PrimExpr>("te.Reduce", reducer, Array<PrimExpr>{value}, iterations,
                        int_imm(1, boolean), 0, Array<PrimExpr>(), nullptr);
}

PrimExpr sum(const PrimExpr& value, std::span<const ReduceAxis> axes) {
  return fold(
      value, number_like(0, value), [](auto& a, auto& b) { return a + b; }, axes);
}

PrimExpr prod(const PrimExpr& value, std::span<const ReduceAxis> axes) {
  return fold(
      value, number_like(1, value), [](auto& a, auto& b) { return a * b; }, axes);
}

PrimExpr maximum(const PrimExpr& value, std::span<const ReduceAxis> axes) {
  return fold(
      value, lowest(item_type(value)), [](auto& a, auto& b) { return max(a, b); }, axes);
}

PrimExpr minimum(const PrimExpr& value, std::span<const ReduceAxis> axes) {
  return fold(
      value, highest(item_type(value)), [](auto& a, auto& b) { return min(a, b); }, axes);
}

std::vector<PrimExpr> arg_extreme(const PrimExpr& value, const PrimExpr& index, bool greatest,
                                  std::span<const ReduceAxis> axes) {
  const Type value_type = type_of(value);
  const Type index_type = type_of(index);
  const Var value_a = var("value_a", value_type);
  const Var value_b = var("value_b", value_type);
  const Var index_a = var("index_a", index_type);
  const Var index_b = var("index_b", index_type);
  const PrimExpr better = greatest ? gt(value_a, value_b) : lt(value_a, value_b);
  const PrimExpr earlier = both(eq(value_a, value_b), lt(index_a, index_b));
  const PrimExpr first = either(better, earlier);
  const DLDataType type = item_type(value);
  const auto reducer = call<ObjectRef>(
      "te.CommReducer", Array<Var>{value_a, index_a}, Array<Var>{value_b, index_b},
      Array<PrimExpr>{select(first, value_a, value_b), select(first, index_a, index_b)},
      Array<PrimExpr>{greatest ? lowest(type) : highest(type), highest(item_type(index))}, nullptr);
  Array<ObjectRef> iterations;
  for (const ReduceAxis& axis : axes) iterations.push_back(axis.iteration);
  // TVM takes the two for one reduction when these are the same objects.
  const Array<PrimExpr> sources{value, index};
  const PrimExpr condition = int_imm(1, boolean);
  const Array<PrimExpr> no_start;
  std::vector<PrimExpr> results;
  for (int i = 0; i < 2; ++i) {
    results.push_back(
        call<PrimExpr>("te.Reduce", reducer, sources, iterations, condition, i, no_start, nullptr));
  }
  return results;
}

Array<ObjectRef> free_variables(const Array<PrimExpr>& values, const std::vector<PrimExpr>& bound) {
  Array<ObjectRef> found;
  const auto is_new = [&](const ObjectRef& variable) {
    const auto same = [&](const ObjectRef& other) { return other.same_as(variable); };
    return std::none_of(bound.begin(), bound.end(), same) &&
           std::none_of(found.begin(), found.end(), same);
  };
  for (const PrimExpr& value : values) {
    for (const ObjectRef& variable :
         call<Array<ObjectRef>>("tirx.analysis.UndefinedVars", value, Array<Var>())) {
      if (is_new(variable)) found.push_back(variable);
    }
  }
  return found;
}

Array<ObjectRef> unbound_variables(const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& results,
                                   const std::vector<PrimExpr>& numbers) {
  Array<PrimExpr> used(numbers.begin(), numbers.end());
  std::vector<PrimExpr> bound;
  for (const Tensor& input : inputs) {
    for (const PrimExpr& extent : input.shape()) {
      if (known_int(extent)) continue;
      used.push_back(extent);
      bound.push_back(extent);  // a lone variable is bound by the tensor's shape
    }
  }
  for (const Tensor& result : results) {
    for (const PrimExpr& extent : result.shape()) {
      if (!known_int(extent)) used.push_back(extent);
    }
  }
  return free_variables(used, bound);
}

PrimFunc prim_func(const Array<ObjectRef>& parameters) {
  const auto function = call<PrimFunc>("te.CreatePrimFunc", parameters, nullptr);
  const auto own = call<PrimFunc>("s_tir.RenewDefs", function);
  return call<PrimFunc>("ir.BaseFuncWithoutAttr", own, "global_symbol");
}

Indices InverseMap::map(const Indices& indices) const {
  const auto mapped =
      call<Array<PrimExpr>>("tirx.IndexMapMapIndices", index_map,
                            Array<PrimExpr>(indices.begin(), indices.end()), nullptr);
  return {mapped.begin(), mapped.end()};
}

InverseMap inverse_map(const ObjectRef& index_map, const Shape& shape) {
  Array<ObjectRef> ranges;
  for (const PrimExpr& extent : shape) ranges.push_back(range_to(extent));
  // The inverse, and the condition for places that no item goes to.
  const auto parts =
      call<Array<ObjectRef>>("tirx.IndexMapNonSurjectiveInverse", index_map, ranges, nullptr);
  return {parts[0], !known_int(as<PrimExpr>(parts[1]))};
}

Expr call_kernel(const ObjectRef& builder, const PrimFunc& function, const std::string& name,
                 const Array<Expr>& args, const Array<Type>& results) {
  const auto kernel = call<GlobalVar>("relax.BlockBuilderAddFunction", builder, function, name);
  return call<Expr>("relax.op.call_tir", kernel, tuple(args), results);
}

Expr emit(const ObjectRef& builder, const Expr& expr) {
  return call<Expr>("relax.BlockBuilderEmit", builder, expr, "");
}

ffi::Optional<Expr> binding_of(const ObjectRef& builder, const Expr& variable) {
  return call<ffi::Optional<Expr>>("relax.BlockBuilderLookupBinding", builder, variable);
}

}  // namespace te
}  // namespace nnef_tvm
