// Relax: the block builder, and one thin wrapper for each operator function that is used (TVM's own
// argument order).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tvm/ir.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// Builds one function with one dataflow block. Scopes that are still open when it is destroyed are
/// closed.
class BlockBuilder {
 public:
  /// Opens the function's scope and its dataflow block.
  explicit BlockBuilder(Array<Var> params);
  ~BlockBuilder();
  BlockBuilder(const BlockBuilder&) = delete;
  BlockBuilder& operator=(const BlockBuilder&) = delete;

  /// Binds an expression, normalised with its type, to a new variable of the block. Calls nested in
  /// it are bound to variables of their own first.
  Var emit(Expr expr, const std::string& name = "");
  /// The same for a variable that is visible outside the block.
  Var emit_output(Expr expr, const std::string& name = "");
  /// Adds another function of the module, whose body is made by `make`. It is public: passes change
  /// the parameters of others.
  GlobalVar add_function(const std::string& name, const Array<Var>& params,
                         const std::function<Expr()>& make);
  /// Closes the block and the function, and returns a module with it as `name`.
  IRModule finish(const std::string& name, Expr result, Map<String, Any> attributes);

  /// TVM's own block builder.
  const ObjectRef& handle() const { return builder_; }

 private:
  ObjectRef builder_;
  Array<Var> params_;
  bool in_block_ = false;
  bool in_scope_ = false;
};

namespace relax {

using Ints = std::vector<int64_t>;

// Element by element.
Expr abs(Expr x);
Expr acos(Expr x);
Expr acosh(Expr x);
Expr asin(Expr x);
Expr asinh(Expr x);
Expr atan(Expr x);
Expr atanh(Expr x);
Expr ceil(Expr x);
Expr cos(Expr x);
Expr cosh(Expr x);
Expr erf(Expr x);
Expr exp(Expr x);
Expr floor(Expr x);
Expr isnan(Expr x);
Expr log(Expr x);
Expr logical_not(Expr x);
Expr negative(Expr x);
Expr relu(Expr x);
/// Half to even.
Expr round(Expr x);
Expr rsqrt(Expr x);
Expr sigmoid(Expr x);
Expr sign(Expr x);
Expr silu(Expr x);
Expr sin(Expr x);
Expr sinh(Expr x);
Expr sqrt(Expr x);
Expr tan(Expr x);
Expr tanh(Expr x);
Expr bitwise_not(Expr x);

Expr add(Expr a, Expr b);
Expr divide(Expr a, Expr b);
Expr equal(Expr a, Expr b);
Expr greater(Expr a, Expr b);
Expr greater_equal(Expr a, Expr b);
Expr less(Expr a, Expr b);
Expr less_equal(Expr a, Expr b);
Expr logical_and(Expr a, Expr b);
Expr logical_or(Expr a, Expr b);
Expr logical_xor(Expr a, Expr b);
Expr bitwise_and(Expr a, Expr b);
Expr bitwise_or(Expr a, Expr b);
Expr bitwise_xor(Expr a, Expr b);
Expr left_shift(Expr a, Expr b);
Expr right_shift(Expr a, Expr b);
Expr maximum(Expr a, Expr b);
Expr minimum(Expr a, Expr b);
Expr multiply(Expr a, Expr b);
Expr not_equal(Expr a, Expr b);
Expr power(Expr a, Expr b);
Expr subtract(Expr a, Expr b);

/// The bounds are of the type of the items, as they must be.
Expr clip(Expr x, double low, double high, DLDataType dtype = float32);
Expr leaky_relu(Expr x, double alpha);
Expr where(Expr condition, Expr a, Expr b);
Expr astype(Expr x, DLDataType dtype);

// Reductions; the axes stay, with extent 1.
Expr sum(Expr x, const Ints& axes);
Expr prod(Expr x, const Ints& axes);
Expr mean(Expr x, const Ints& axes);
Expr max(Expr x, const Ints& axes);
Expr min(Expr x, const Ints& axes);
/// int64; the first of equal items wins.
Expr argmax(Expr x, int64_t axis);
Expr argmin(Expr x, int64_t axis);
Expr softmax(Expr x, int64_t axis);
/// A tuple of the first items of the order, and of their int64 positions.
Expr topk(Expr x, int64_t k, int64_t axis, bool largest);

// Windows over the last `stride.size()` (1 to 3) axes of N, C, spatial...; paddings are all
// befores, then all afters.
Expr conv(Expr x, Expr weight, const Ints& stride, const Ints& padding, const Ints& dilation,
          int64_t groups);
/// Of N, H, W, C with a weight [H, W, in channels, out channels].
Expr conv2d_channels_last(Expr x, Expr weight, const Ints& stride, const Ints& padding);
/// The weight is [in channels, out channels / groups, spatial...].
Expr conv_transpose(Expr x, Expr weight, const Ints& stride, const Ints& padding,
                    const Ints& output_padding, const Ints& dilation, int64_t groups);
/// The padding counts as minus infinity.
Expr max_pool(Expr x, const Ints& size, const Ints& stride, const Ints& padding,
              const Ints& dilation);
/// `count_padding`: the divisor is the whole window, not just its part inside.
Expr avg_pool(Expr x, const Ints& size, const Ints& stride, const Ints& padding,
              const Ints& dilation, bool count_padding);
/// With zeros outside `x`: before, after for each axis in turn.
Expr pad(Expr x, const Ints& width, double value);

/// Of [N, C, H, W] to new H, W; method "nearest_neighbor" or "linear".
Expr resize2d(Expr x, const Ints& size, const char* method, const char* coordinates,
              const char* rounding);

// Movement.
Expr broadcast_to(Expr x, const Ints& shape);
Expr broadcast_to(Expr x, const Extents& shape);
Expr concat(Array<Expr> items, int64_t axis);
Expr expand_dims(Expr x, const Ints& axes);
Expr full(const Ints& shape, Expr value, DLDataType dtype);
Expr full(const Extents& shape, Expr value, DLDataType dtype);
Expr permute_dims(Expr x, const Ints& axes);
Expr reshape(Expr x, const Ints& shape);
Expr reshape(Expr x, const Extents& shape);
/// Cuts before each of `indices`; a tuple.
Expr split(Expr x, const Ints& indices, int64_t axis);
Expr squeeze(Expr x, const Ints& axes);
Expr stack(Array<Expr> items, int64_t axis);
Expr strided_slice(Expr x, const Ints& axes, const Ints& begin, const Ints& end,
                   const Ints& stride);
/// The same, where all of it is known to be inside of `x`.
Expr slice_inside(Expr x, const Ints& axes, const Extents& begin, const Extents& end,
                  const Ints& stride);
/// Indices beyond the extent are brought inside: "clip" or "wrap" (negative ones count from the
/// end).
Expr take(Expr x, Expr indices, int64_t axis, const char* mode);
Expr tile(Expr x, const Ints& repeats);
Expr flip(Expr x, int64_t axis);
/// The items on one side of the diagonal k, with it.
Expr triu(Expr x, int64_t k);
Expr tril(Expr x, int64_t k);
Expr gather_elements(Expr x, Expr indices, int64_t axis);
Expr gather_nd(Expr x, Expr indices, int64_t batch_dims);
/// `reduction` is "update", "add", "mul", "min" or "max".
Expr scatter_elements(Expr x, Expr indices, Expr updates, int64_t axis, const char* reduction);
Expr scatter_nd(Expr x, Expr indices, Expr updates, const char* reduction);

/// A variable of extents, whose values are those of variables.
Type shape_type(const Extents& extents);
/// A call of a function of the runtime, which is given the virtual machine first; it returns a
/// tuple.
Expr call_runtime(const std::string& function, const Array<Expr>& args, const Array<Type>& results);

/// The same tensor, which transformations of parameters do not look beyond.
Expr stop_lift_params(Expr x);

// Linear algebra.
Expr matmul(Expr a, Expr b);
Expr einsum(Array<Expr> operands, const std::string& subscripts);

/// Arithmetic for files that opt in by `using namespace nnef_tvm::relax::operators`.
namespace operators {
inline Expr operator+(Expr a, Expr b) { return add(std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return subtract(std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return multiply(std::move(a), std::move(b)); }
inline Expr operator/(Expr a, Expr b) { return divide(std::move(a), std::move(b)); }
inline Expr operator-(Expr a) { return negative(std::move(a)); }
}  // namespace operators

}  // namespace relax
}  // namespace nnef_tvm
