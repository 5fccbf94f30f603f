// Tensor expressions: arithmetic on scalars of TIR, and tensors as functions from indices to
// scalars.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tvm/ir.h"
#include "tvm/object.h"

namespace nnef_tvm {

// Scalars. Operands of one operation have the same type; numbers written in C++ take the type of
// the other operand.

DLDataType item_type(const PrimExpr& value);
bool is_float(DLDataType type);
bool is_boolean(DLDataType type);

/// A vector of equal items.
PrimExpr broadcast(const PrimExpr& scalar, int lanes);
/// A number of any scalar type, or a vector of it.
PrimExpr number(double value, DLDataType type);
/// A number of the type of `value`.
PrimExpr number_like(double number, const PrimExpr& value);
PrimExpr lowest(DLDataType type);  ///< minus infinity, where there is one
PrimExpr highest(DLDataType type);
/// The value of a compile-time integer.
std::optional<int64_t> known_int(const PrimExpr& value);
bool is_known(const PrimExpr& value, int64_t expected);
/// A positive factor that an integer expression has for all values of its variables.
int64_t known_factor(const PrimExpr& value);

PrimExpr operator+(const PrimExpr& a, const PrimExpr& b);
PrimExpr operator-(const PrimExpr& a, const PrimExpr& b);
PrimExpr operator*(const PrimExpr& a, const PrimExpr& b);
PrimExpr operator/(const PrimExpr& a, const PrimExpr& b);  ///< integers: towards zero
PrimExpr operator-(const PrimExpr& a);
PrimExpr truncmod(const PrimExpr& a, const PrimExpr& b);
PrimExpr floordiv(const PrimExpr& a, const PrimExpr& b);
PrimExpr floormod(const PrimExpr& a, const PrimExpr& b);
PrimExpr ceildiv(const PrimExpr& a, const PrimExpr& b);
PrimExpr max(const PrimExpr& a, const PrimExpr& b);
PrimExpr min(const PrimExpr& a, const PrimExpr& b);

PrimExpr eq(const PrimExpr& a, const PrimExpr& b);
PrimExpr ne(const PrimExpr& a, const PrimExpr& b);
PrimExpr lt(const PrimExpr& a, const PrimExpr& b);
PrimExpr le(const PrimExpr& a, const PrimExpr& b);
PrimExpr gt(const PrimExpr& a, const PrimExpr& b);
PrimExpr ge(const PrimExpr& a, const PrimExpr& b);
PrimExpr both(const PrimExpr& a, const PrimExpr& b);
PrimExpr either(const PrimExpr& a, const PrimExpr& b);
PrimExpr negated(const PrimExpr& condition);
/// The conjunction; true when there are none.
PrimExpr all_of(std::span<const PrimExpr> conditions);

template <typename Number>
concept Arithmetic = std::integral<Number> || std::floating_point<Number>;

#define NNEF_TVM_MIXED(operation)                                \
  template <Arithmetic Number>                                   \
  PrimExpr operation(const PrimExpr& a, Number b) {              \
    return operation(a, number_like(static_cast<double>(b), a)); \
  }                                                              \
  template <Arithmetic Number>                                   \
  PrimExpr operation(Number a, const PrimExpr& b) {              \
    return operation(number_like(static_cast<double>(a), b), b); \
  }
NNEF_TVM_MIXED(operator+)
NNEF_TVM_MIXED(operator-)
NNEF_TVM_MIXED(operator*)
NNEF_TVM_MIXED(operator/)
NNEF_TVM_MIXED(floordiv)
NNEF_TVM_MIXED(floormod)
NNEF_TVM_MIXED(ceildiv)
NNEF_TVM_MIXED(max)
NNEF_TVM_MIXED(min)
NNEF_TVM_MIXED(eq)
NNEF_TVM_MIXED(ne)
NNEF_TVM_MIXED(lt)
NNEF_TVM_MIXED(le)
NNEF_TVM_MIXED(gt)
NNEF_TVM_MIXED(ge)
#undef NNEF_TVM_MIXED

/// Evaluates both sides: for values without memory accesses that may be out of bounds.
PrimExpr select(const PrimExpr& condition, const PrimExpr& a, const PrimExpr& b);
/// Evaluates one side only.
PrimExpr if_then_else(const PrimExpr& condition, const PrimExpr& a, const PrimExpr& b);
/// To boolean: whether it differs from zero.
PrimExpr cast(const PrimExpr& value, DLDataType type);

/// Integers wrap around; but LLVM, and TVM's simplification, take it that those of 32 bits and more
/// do not. The type to compute sums and products in: of twice the width for 32 bits, itself
/// otherwise.
DLDataType wrapping_type(DLDataType type);
/// The low bits of an integer, as a value of which TVM knows no bounds (it takes the value of a
/// cast to be within those of its operand); a cast, for anything else.
PrimExpr wrap(const PrimExpr& value, DLDataType type);
/// The same bits, as another type of the same size.
PrimExpr reinterpret(const PrimExpr& value, DLDataType type);
/// Names a value, so that a long expression may use it more than once.
PrimExpr let(const PrimExpr& value, const std::function<PrimExpr(const PrimExpr&)>& body);

PrimExpr bitwise_and(const PrimExpr& a, const PrimExpr& b);
PrimExpr bitwise_or(const PrimExpr& a, const PrimExpr& b);
PrimExpr bitwise_xor(const PrimExpr& a, const PrimExpr& b);
PrimExpr bitwise_not(const PrimExpr& a);
PrimExpr left_shift(const PrimExpr& a, const PrimExpr& b);
PrimExpr right_shift(const PrimExpr& a, const PrimExpr& b);

// Functions of mathematics. Integers are their own floor, ceil, trunc and nearest integer. 16-bit
// floats are computed in 32 bits, since not every target has the function for them.
PrimExpr abs(const PrimExpr& x);
PrimExpr floor(const PrimExpr& x);
PrimExpr ceil(const PrimExpr& x);
PrimExpr trunc(const PrimExpr& x);
PrimExpr round_half_to_even(const PrimExpr& x);
PrimExpr isnan(const PrimExpr& x);
PrimExpr isinf(const PrimExpr& x);
PrimExpr isfinite(const PrimExpr& x);
PrimExpr exp(const PrimExpr& x);
PrimExpr log(const PrimExpr& x);
PrimExpr sqrt(const PrimExpr& x);
PrimExpr rsqrt(const PrimExpr& x);
PrimExpr sin(const PrimExpr& x);
PrimExpr cos(const PrimExpr& x);
PrimExpr tan(const PrimExpr& x);
PrimExpr asin(const PrimExpr& x);
PrimExpr acos(const PrimExpr& x);
PrimExpr atan(const PrimExpr& x);
PrimExpr sinh(const PrimExpr& x);
PrimExpr cosh(const PrimExpr& x);
PrimExpr tanh(const PrimExpr& x);
PrimExpr asinh(const PrimExpr& x);
PrimExpr acosh(const PrimExpr& x);
PrimExpr atanh(const PrimExpr& x);
PrimExpr erf(const PrimExpr& x);
PrimExpr sigmoid(const PrimExpr& x);
PrimExpr atan2(const PrimExpr& y, const PrimExpr& x);
PrimExpr pow(const PrimExpr& base, const PrimExpr& exponent);  ///< of floats
/// A call, in generated code, of a function of that name.
PrimExpr call_by_name(const std::string& name, DLDataType result, const Array<PrimExpr>& args);

namespace te {

using Shape = std::vector<PrimExpr>;
using Indices = std::vector<PrimExpr>;

/// A tensor of an expression under construction.
class Tensor {
 public:
  explicit Tensor(TETensor handle);

  const TETensor& handle() const { return handle_; }
  const Shape& shape() const { return shape_; }
  size_t rank() const { return shape_.size(); }
  const PrimExpr& extent(size_t axis) const { return shape_[axis]; }
  DLDataType dtype() const { return dtype_; }
  /// The value at the indices.
  PrimExpr operator()(const Indices& indices) const;

 private:
  TETensor handle_;
  Shape shape_;
  DLDataType dtype_;
};

Tensor placeholder(const Shape& shape, DLDataType dtype, const std::string& name);

using Body = std::function<PrimExpr(const Indices&)>;
/// The tensor whose items are `body` of their indices.
Tensor compute(const Shape& shape, const std::string& name, const Body& body);
/// Several tensors of one shape, computed together (as the results of one reduction).
std::vector<Tensor> compute_together(
    const Shape& shape, const std::string& name,
    const std::function<std::vector<PrimExpr>(const Indices&)>& body);

/// An index that a reduction runs over.
struct ReduceAxis {
  ObjectRef iteration;
  PrimExpr index;
};
ReduceAxis reduce_axis(const PrimExpr& extent, const std::string& name);

// Reductions: only as the whole body of a compute. Over no axes, the value itself.
PrimExpr sum(const PrimExpr& value, std::span<const ReduceAxis> axes);
PrimExpr prod(const PrimExpr& value, std::span<const ReduceAxis> axes);
PrimExpr maximum(const PrimExpr& value, std::span<const ReduceAxis> axes);
PrimExpr minimum(const PrimExpr& value, std::span<const ReduceAxis> axes);
using Combiner = std::function<PrimExpr(const PrimExpr&, const PrimExpr&)>;
/// Combines from the first value to the last, starting with `start`.
PrimExpr fold(const PrimExpr& value, const PrimExpr& start, const Combiner& combine,
              std::span<const ReduceAxis> axes);
/// Of pairs (value, index): the greatest value with its lowest index, or the least value.
std::vector<PrimExpr> arg_extreme(const PrimExpr& value, const PrimExpr& index, bool greatest,
                                  std::span<const ReduceAxis> axes);

/// The variables in `values`, except those that `bound` names by themselves; each once.
Array<ObjectRef> free_variables(const Array<PrimExpr>& values, const std::vector<PrimExpr>& bound);

/// The variables that a kernel needs besides its inputs: of extents and of `numbers`. An extent of
/// an input that is a variable by itself is known from it.
Array<ObjectRef> unbound_variables(const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& results,
                                   const std::vector<PrimExpr>& numbers);

/// The function with the given parameters: placeholders and scalar variables, then results.
/// Its symbolic extents are variables of its own.
PrimFunc prim_func(const Array<ObjectRef>& parameters);

/// Where the items of a tensor go under one of TVM's index maps, seen from the result.
struct InverseMap {
  ObjectRef index_map;
  bool pads;  ///< whether there are places that no item goes to

  Indices map(const Indices& indices) const;
};
InverseMap inverse_map(const ObjectRef& index_map, const Shape& shape);

// Kernels in a Relax function that a block builder of TVM's is at work on.

/// A call of `function`, added to the module by this name (another when that is taken; functions
/// that are equal are added once).
Expr call_kernel(const ObjectRef& builder, const PrimFunc& function, const std::string& name,
                 const Array<Expr>& args, const Array<Type>& results);
/// A variable bound to the expression.
Expr emit(const ObjectRef& builder, const Expr& expr);
/// What a variable is bound to, if that is known.
ffi::Optional<Expr> binding_of(const ObjectRef& builder, const Expr& variable);

}  // namespace te
}  // namespace nnef_tvm
