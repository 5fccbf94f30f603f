#include "compile/passes/layout.h"

#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/layout.h"
#include "tvm/relax.h"
#include "tvm/target.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

/// A compile-time number as a tensor of rank 0 of the type of `like`.
Expr scalar_like(const PrimExpr& number, const Expr& like) {
  const Any value = field(number, "value");
  const auto integer = value.as<int64_t>();
  return constant(integer ? static_cast<double>(*integer) : value.cast<double>(), dtype_of(like));
}

Expr clip_by_extremes(const Expr& clip) {
  const auto args = field<Array<Expr>>(clip, "args");
  const Expr& x = args[0];
  return relax::minimum(relax::maximum(x, scalar_like(as<PrimExpr>(args[1]), x)),
                        scalar_like(as<PrimExpr>(args[2]), x));
}

Expr leaky_relu_by_extremes(const Expr& leaky) {
  const Expr x = field<Array<Expr>>(leaky, "args")[0];
  const auto alpha = field<double>(field<ObjectRef>(leaky, "attrs"), "alpha");
  const Expr scaled = relax::multiply(x, constant(alpha, dtype_of(x)));
  return alpha <= 1 ? relax::maximum(x, scaled) : relax::minimum(x, scaled);
}

/// TVM's pass fails on a stack at the last axis.
Expr stack_by_concat(const Expr& stack) {
  const Expr items = field<Array<Expr>>(stack, "args")[0];
  const auto axis_or_first =
      field<ffi::Optional<int64_t>>(field<ObjectRef>(stack, "attrs"), "axis");
  const auto rank = static_cast<int64_t>(shape_of(stack).size());
  const int64_t axis = axis_or_first.value_or(0) + (axis_or_first.value_or(0) < 0 ? rank : 0);
  const auto count = static_cast<int64_t>(field<Array<Type>>(type_of(items), "fields").size());
  Array<Expr> parts;
  for (int64_t i = 0; i < count; ++i) {
    parts.push_back(relax::expand_dims(tuple_get_item(items, i), {axis}));
  }
  return relax::concat(parts, axis);
}

/// TVM's pass knows no layouts for clip and leakyrelu, and would go back to NCHW around each.
IRModule without_layout_barriers(const IRModule& module) {
  const Expr main = find_function(module, "main");
  auto function = as<Function>(main);
  function = rewrite_calls(function, "relax.clip", 3, clip_by_extremes);
  function = rewrite_calls(function, "relax.nn.leakyrelu", 1, leaky_relu_by_extremes);
  function = rewrite_calls(function, "relax.stack", 1, stack_by_concat);
  for (const NamedFunction& item : functions_of(module)) {
    if (item.name == "main") return with_function(module, item.var, function);
  }
  return module;
}

}  // namespace

IRModule convert_layout(const IRModule& module, const Target& target) {
  TargetScope scope(target);
  const Map<String, Array<String>> layouts = {{"relax.nn.conv2d", {"NHWC", "HWIO"}}};
  return run_pass(convert_layout_pass(layouts), without_layout_barriers(module));
}

}  // namespace nnef_tvm
