#include "compile/passes/hoist_constants.h"

#include <map>

#include "tvm/ir.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {

HoistedConstants hoist_constants(const IRModule& module, const std::string& entry, Hoist which) {
  HoistedConstants hoisted;
  Array<Var> params;
  std::map<const ffi::Object*, Var> seen;
  Expr function = find_function(module, entry);
  auto replacement = [&](const ObjectRef& constant) -> ObjectRef {
    auto value = field(constant, "value").as<ffi::Tensor>();
    if (!value.has_value()) return constant;
    if (which == Hoist::kArrays && value->numel() == 1) return constant;
    auto [found, is_new] = seen.try_emplace(constant.get());
    if (is_new) {
      hoisted.names.push_back("const" + std::to_string(hoisted.names.size()));
      hoisted.values.push_back(*value);
      found->second = var(hoisted.names.back(), type_of(as<Expr>(constant)));
      params.push_back(found->second);
    }
    return found->second;
  };
  Expr body = replace_objects(field<Expr>(function, "body"), "ir.GenericConst", replacement);
  hoisted.module = params.empty() ? module
                                  : with_function(module, find_global_var(module, entry),
                                                  with_params_and_body(function, params, body));
  return hoisted;
}

}  // namespace nnef_tvm
