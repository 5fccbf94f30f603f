#include "tvm/layout.h"

namespace nnef_tvm {

Pass convert_layout_pass(const Map<String, Array<String>>& layouts) {
  return call<Pass>("relax.transform.ConvertLayout", layouts, nullptr);
}

Function rewrite_calls(const Function& function, const std::string& op, size_t arity,
                       const std::function<Expr(const Expr&)>& rewrite) {
  auto callee = call<ObjectRef>("relax.dpl.ExprPattern", call<ObjectRef>("ir.GetOp", op));
  Array<ObjectRef> args;
  for (size_t i = 0; i < arity; ++i) args.push_back(call<ObjectRef>("relax.dpl.WildcardPattern"));
  auto pattern =
      call<ObjectRef>("relax.dpl.CallPattern", callee, args, /*varg_default_wildcard=*/false);
  auto replace = [&](const Expr& matched, const Map<ObjectRef, Expr>&) { return rewrite(matched); };
  return call<Function>("relax.dpl.rewrite_call", pattern, ffi::Function::FromTyped(replace),
                        function);
}

}  // namespace nnef_tvm
