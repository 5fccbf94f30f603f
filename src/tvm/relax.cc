#include "tvm/relax.h"

#include <array>
#include <utility>

namespace nnef_tvm {

BlockBuilder::BlockBuilder(Array<Var> params)
    : builder_(call<ObjectRef>("relax.BlockBuilderCreate", nullptr)), params_(std::move(params)) {
  for (const Var& param : params_) {
    call<String>("relax.BlockBuilderGetUniqueName", builder_, field<String>(param, "name"));
  }
  call<void>("relax.BlockBuilderBeginScope", builder_, params_);
  in_scope_ = true;
  call<void>("relax.BlockBuilderBeginDataflowBlock", builder_);
  in_block_ = true;
}

BlockBuilder::~BlockBuilder() {
  // Only after an exception inside a lowering: TVM asserts that its scopes are closed.
  try {
    if (in_block_) call("relax.BlockBuilderEndBlock", builder_);
    if (in_scope_) call<void>("relax.BlockBuilderEndScope", builder_);
  } catch (const ffi::Error&) {
    // Nothing to save: the builder is discarded.
  }
}

Var BlockBuilder::emit(Expr expr, const std::string& name) {
  return call<Var>("relax.BlockBuilderEmit", builder_, expr, name);
}

Var BlockBuilder::emit_output(Expr expr, const std::string& name) {
  return call<Var>("relax.BlockBuilderEmitOutput", builder_, expr, name);
}

GlobalVar BlockBuilder::add_function(const std::string& name, const Array<Var>& params,
                                     const std::function<Expr()>& make) {
  call<void>("relax.BlockBuilderBeginScope", builder_, params);
  call<void>("relax.BlockBuilderBeginDataflowBlock", builder_);
  const Expr result = make();
  Array<ObjectRef> blocks{call<ObjectRef>("relax.BlockBuilderEndBlock", builder_)};
  const auto body = call<Expr>("relax.BlockBuilderNormalize", builder_, seq_expr(blocks, result));
  call<void>("relax.BlockBuilderEndScope", builder_);
  const ObjectRef attrs = dict_attrs({{"global_symbol", String(name)}});
  return call<GlobalVar>("relax.BlockBuilderAddFunction", builder_,
                         relax_function(params, body, attrs), name);
}

IRModule BlockBuilder::finish(const std::string& name, Expr result, Map<String, Any> attributes) {
  in_block_ = false;
  Array<ObjectRef> blocks{call<ObjectRef>("relax.BlockBuilderEndBlock", builder_)};
  const auto body = call<Expr>("relax.BlockBuilderNormalize", builder_, seq_expr(blocks, result));
  in_scope_ = false;
  call<void>("relax.BlockBuilderEndScope", builder_);
  attributes.Set("global_symbol", String(name));
  call("relax.BlockBuilderAddFunction", builder_,
       relax_function(params_, body, dict_attrs(attributes)), name);
  return call<IRModule>("relax.BlockBuilderFinalize", builder_);
}

namespace relax {
namespace {

Array<int64_t> ints(const Ints& values) { return Array<int64_t>(values.begin(), values.end()); }

/// The layouts of TVM's 1-, 2- and 3-dimensional windows.
struct WindowNames {
  const char* conv;
  const char* conv_transpose;
  const char* max_pool;
  const char* avg_pool;
  const char* data;
  const char* weight;
  const char* transposed_weight;
};

constexpr std::array<WindowNames, 3> window_names = {{
    {"relax.op.nn.conv1d", "relax.op.nn.conv1d_transpose", "relax.op.nn.max_pool1d",
     "relax.op.nn.avg_pool1d", "NCW", "OIW", "IOW"},
    {"relax.op.nn.conv2d", "relax.op.nn.conv2d_transpose", "relax.op.nn.max_pool2d",
     "relax.op.nn.avg_pool2d", "NCHW", "OIHW", "IOHW"},
    {"relax.op.nn.conv3d", "relax.op.nn.conv3d_transpose", "relax.op.nn.max_pool3d",
     "relax.op.nn.avg_pool3d", "NCDHW", "OIDHW", "IODHW"},
}};

const WindowNames& names_for(const Ints& stride) { return window_names.at(stride.size() - 1); }

}  // namespace

Expr abs(Expr x) { return call<Expr>("relax.op.abs", x); }
Expr acos(Expr x) { return call<Expr>("relax.op.acos", x); }
Expr acosh(Expr x) { return call<Expr>("relax.op.acosh", x); }
Expr asin(Expr x) { return call<Expr>("relax.op.asin", x); }
Expr asinh(Expr x) { return call<Expr>("relax.op.asinh", x); }
Expr atan(Expr x) { return call<Expr>("relax.op.atan", x); }
Expr atanh(Expr x) { return call<Expr>("relax.op.atanh", x); }
Expr ceil(Expr x) { return call<Expr>("relax.op.ceil", x); }
Expr cos(Expr x) { return call<Expr>("relax.op.cos", x); }
Expr cosh(Expr x) { return call<Expr>("relax.op.cosh", x); }
Expr erf(Expr x) { return call<Expr>("relax.op.erf", x); }
Expr exp(Expr x) { return call<Expr>("relax.op.exp", x); }
Expr floor(Expr x) { return call<Expr>("relax.op.floor", x); }
Expr isnan(Expr x) { return call<Expr>("relax.op.isnan", x); }
Expr log(Expr x) { return call<Expr>("relax.op.log", x); }
Expr logical_not(Expr x) { return call<Expr>("relax.op.logical_not", x); }
Expr negative(Expr x) { return call<Expr>("relax.op.negative", x); }
Expr relu(Expr x) { return call<Expr>("relax.op.nn.relu", x); }
Expr round(Expr x) { return call<Expr>("relax.op.round", x); }
Expr rsqrt(Expr x) { return call<Expr>("relax.op.rsqrt", x); }
Expr sigmoid(Expr x) { return call<Expr>("relax.op.sigmoid", x); }
Expr sign(Expr x) { return call<Expr>("relax.op.sign", x); }
Expr silu(Expr x) { return call<Expr>("relax.op.nn.silu", x); }
Expr sin(Expr x) { return call<Expr>("relax.op.sin", x); }
Expr sinh(Expr x) { return call<Expr>("relax.op.sinh", x); }
Expr sqrt(Expr x) { return call<Expr>("relax.op.sqrt", x); }
Expr tan(Expr x) { return call<Expr>("relax.op.tan", x); }
Expr tanh(Expr x) { return call<Expr>("relax.op.tanh", x); }
Expr bitwise_not(Expr x) { return call<Expr>("relax.op.bitwise_not", x); }

Expr add(Expr a, Expr b) { return call<Expr>("relax.op.add", a, b); }
Expr divide(Expr a, Expr b) { return call<Expr>("relax.op.divide", a, b); }
Expr equal(Expr a, Expr b) { return call<Expr>("relax.op.equal", a, b); }
Expr greater(Expr a, Expr b) { return call<Expr>("relax.op.greater", a, b); }
Expr greater_equal(Expr a, Expr b) { return call<Expr>("relax.op.greater_equal", a, b); }
Expr less(Expr a, Expr b) { return call<Expr>("relax.op.less", a, b); }
Expr less_equal(Expr a, Expr b) { return call<Expr>("relax.op.less_equal", a, b); }
Expr logical_and(Expr a, Expr b) { return call<Expr>("relax.op.logical_and", a, b); }
Expr logical_or(Expr a, Expr b) { return call<Expr>("relax.op.logical_or", a, b); }
Expr logical_xor(Expr a, Expr b) { return call<Expr>("relax.op.logical_xor", a, b); }
Expr bitwise_and(Expr a, Expr b) { return call<Expr>("relax.op.bitwise_and", a, b); }
Expr bitwise_or(Expr a, Expr b) { return call<Expr>("relax.op.bitwise_or", a, b); }
Expr bitwise_xor(Expr a, Expr b) { return call<Expr>("relax.op.bitwise_xor", a, b); }
Expr left_shift(Expr a, Expr b) { return call<Expr>("relax.op.left_shift", a, b); }
Expr right_shift(Expr a, Expr b) { return call<Expr>("relax.op.right_shift", a, b); }
Expr maximum(Expr a, Expr b) { return call<Expr>("relax.op.maximum", a, b); }
Expr minimum(Expr a, Expr b) { return call<Expr>("relax.op.minimum", a, b); }
Expr multiply(Expr a, Expr b) { return call<Expr>("relax.op.multiply", a, b); }
Expr not_equal(Expr a, Expr b) { return call<Expr>("relax.op.not_equal", a, b); }
Expr power(Expr a, Expr b) { return call<Expr>("relax.op.power", a, b); }
Expr subtract(Expr a, Expr b) { return call<Expr>("relax.op.subtract", a, b); }

Expr clip(Expr x, double low, double high, DLDataType dtype) {
  return call<Expr>("relax.op.clip", x, float_imm(low, dtype), float_imm(high, dtype));
}
Expr leaky_relu(Expr x, double alpha) { return call<Expr>("relax.op.nn.leakyrelu", x, alpha); }
Expr where(Expr condition, Expr a, Expr b) { return call<Expr>("relax.op.where", condition, a, b); }
Expr astype(Expr x, DLDataType dtype) { return call<Expr>("relax.op.astype", x, dtype); }

Expr sum(Expr x, const Ints& axes) { return call<Expr>("relax.op.sum", x, ints(axes), true); }
Expr prod(Expr x, const Ints& axes) { return call<Expr>("relax.op.prod", x, ints(axes), true); }
Expr mean(Expr x, const Ints& axes) { return call<Expr>("relax.op.mean", x, ints(axes), true); }
Expr max(Expr x, const Ints& axes) { return call<Expr>("relax.op.max", x, ints(axes), true); }
Expr min(Expr x, const Ints& axes) { return call<Expr>("relax.op.min", x, ints(axes), true); }
Expr argmax(Expr x, int64_t axis) { return call<Expr>("relax.op.argmax", x, axis, true); }
Expr argmin(Expr x, int64_t axis) { return call<Expr>("relax.op.argmin", x, axis, true); }
Expr softmax(Expr x, int64_t axis) { return call<Expr>("relax.op.nn.softmax", x, axis); }

Expr topk(Expr x, int64_t k, int64_t axis, bool largest) {
  return call<Expr>("relax.op.topk", x, k, axis, "both", largest, int64);
}

Expr conv(Expr x, Expr weight, const Ints& stride, const Ints& padding, const Ints& dilation,
          int64_t groups) {
  const WindowNames& names = names_for(stride);
  return call<Expr>(names.conv, x, weight, ints(stride), ints(padding), ints(dilation), groups,
                    names.data, names.weight, nullptr, nullptr);
}

Expr conv2d_channels_last(Expr x, Expr weight, const Ints& stride, const Ints& padding) {
  return call<Expr>("relax.op.nn.conv2d", x, weight, ints(stride), ints(padding), ints({1, 1}),
                    int64_t{1}, "NHWC", "HWIO", "NHWC", nullptr);
}

Expr conv_transpose(Expr x, Expr weight, const Ints& stride, const Ints& padding,
                    const Ints& output_padding, const Ints& dilation, int64_t groups) {
  const WindowNames& names = names_for(stride);
  return call<Expr>(names.conv_transpose, x, weight, ints(stride), ints(padding),
                    ints(output_padding), ints(dilation), groups, names.data,
                    names.transposed_weight, nullptr, nullptr);
}

Expr max_pool(Expr x, const Ints& size, const Ints& stride, const Ints& padding,
              const Ints& dilation) {
  const WindowNames& names = names_for(stride);
  return call<Expr>(names.max_pool, x, ints(size), ints(stride), ints(padding), ints(dilation),
                    /*ceil_mode=*/false, /*count_include_pad=*/false, names.data, nullptr);
}

Expr avg_pool(Expr x, const Ints& size, const Ints& stride, const Ints& padding,
              const Ints& dilation, bool count_padding) {
  const WindowNames& names = names_for(stride);
  return call<Expr>(names.avg_pool, x, ints(size), ints(stride), ints(padding), ints(dilation),
                    /*ceil_mode=*/false, count_padding, names.data, nullptr);
}

Expr pad(Expr x, const Ints& width, double value) {
  return call<Expr>("relax.op.nn.pad", x, ints(width), "constant", value);
}

Expr resize2d(Expr x, const Ints& size, const char* method, const char* coordinates,
              const char* rounding) {
  constexpr double cubic_alpha = -0.75;  // of no effect with these methods
  const Array<Expr> roi{float_imm(0), float_imm(0), float_imm(0), float_imm(0)};
  return call<Expr>("relax.op.image.resize2d", x, shape_expr(size), roi, "NCHW", method,
                    coordinates, rounding, cubic_alpha, /*cubic_exclude=*/0,
                    /*extrapolation_value=*/0.0, nullptr);
}

Expr broadcast_to(Expr x, const Ints& shape) {
  return call<Expr>("relax.op.broadcast_to", x, shape_expr(shape));
}
Expr concat(Array<Expr> items, int64_t axis) {
  return call<Expr>("relax.op.concat", tuple(items), axis);
}
Expr expand_dims(Expr x, const Ints& axes) {
  return call<Expr>("relax.op.expand_dims", x, ints(axes));
}
Expr broadcast_to(Expr x, const Extents& shape) {
  return call<Expr>("relax.op.broadcast_to", x, shape_expr(shape));
}

Expr full(const Extents& shape, Expr value, DLDataType dtype) {
  return call<Expr>("relax.op.full", shape_expr(shape), value, dtype);
}

Expr full(const Ints& shape, Expr value, DLDataType dtype) {
  return call<Expr>("relax.op.full", shape_expr(shape), value, dtype);
}
Expr permute_dims(Expr x, const Ints& axes) {
  return call<Expr>("relax.op.permute_dims", x, ints(axes));
}
Expr reshape(Expr x, const Extents& shape) {
  return call<Expr>("relax.op.reshape", x, shape_expr(shape));
}

Expr reshape(Expr x, const Ints& shape) {
  return call<Expr>("relax.op.reshape", x, shape_expr(shape));
}
Expr split(Expr x, const Ints& indices, int64_t axis) {
  Array<PrimExpr> cuts;
  for (int64_t index : indices) cuts.push_back(int_imm(index));
  return call<Expr>("relax.op.split", x, cuts, axis);
}
Expr squeeze(Expr x, const Ints& axes) { return call<Expr>("relax.op.squeeze", x, ints(axes)); }
Expr stack(Array<Expr> items, int64_t axis) {
  return call<Expr>("relax.op.stack", tuple(items), axis);
}
Expr slice_inside(Expr x, const Ints& axes, const Extents& begin, const Extents& end,
                  const Ints& stride) {
  return call<Expr>("relax.op.strided_slice", x, prim_tuple(axes), prim_tuple(begin),
                    prim_tuple(end), prim_tuple(stride), /*assume_inbound=*/true);
}

Expr strided_slice(Expr x, const Ints& axes, const Ints& begin, const Ints& end,
                   const Ints& stride) {
  return call<Expr>("relax.op.strided_slice", x, prim_tuple(axes), prim_tuple(begin),
                    prim_tuple(end), prim_tuple(stride), /*assume_inbound=*/false);
}
Expr take(Expr x, Expr indices, int64_t axis, const char* mode) {
  return call<Expr>("relax.op.take", x, indices, axis, mode);
}
Type shape_type(const Extents& extents) {
  return call<Type>("relax.ShapeType", Array<Expr>(extents.begin(), extents.end()), -1, nullptr);
}

Expr call_runtime(const std::string& function, const Array<Expr>& args,
                  const Array<Type>& results) {
  return call<Expr>("relax.op.call_builtin_with_ctx",
                    call<Expr>("relax.ExternFunc", function, nullptr, nullptr), tuple(args),
                    Array<Type>{tuple_type(results)});
}

Expr stop_lift_params(Expr x) { return call<Expr>("relax.op.builtin.stop_lift_params", x); }
Expr tile(Expr x, const Ints& repeats) { return call<Expr>("relax.op.tile", x, ints(repeats)); }

Expr flip(Expr x, int64_t axis) { return call<Expr>("relax.op.flip", x, axis); }
Expr triu(Expr x, int64_t k) { return call<Expr>("relax.op.triu", x, int_imm(k)); }
Expr tril(Expr x, int64_t k) { return call<Expr>("relax.op.tril", x, int_imm(k)); }
Expr gather_elements(Expr x, Expr indices, int64_t axis) {
  return call<Expr>("relax.op.gather_elements", x, indices, axis);
}
Expr gather_nd(Expr x, Expr indices, int64_t batch_dims) {
  return call<Expr>("relax.op.gather_nd", x, indices, batch_dims);
}
Expr scatter_elements(Expr x, Expr indices, Expr updates, int64_t axis, const char* reduction) {
  return call<Expr>("relax.op.scatter_elements", x, indices, updates, axis, reduction);
}
Expr scatter_nd(Expr x, Expr indices, Expr updates, const char* reduction) {
  return call<Expr>("relax.op.scatter_nd", x, indices, updates, reduction);
}

Expr einsum(Array<Expr> operands, const std::string& subscripts) {
  return call<Expr>("relax.op.einsum", tuple(operands), subscripts);
}
Expr matmul(Expr a, Expr b) { return call<Expr>("relax.op.matmul", a, b, nullptr); }

}  // namespace relax
}  // namespace nnef_tvm
