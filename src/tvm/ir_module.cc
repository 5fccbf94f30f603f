#include "tvm/ir_module.h"

#include <algorithm>

namespace nnef_tvm {

std::vector<NamedFunction> functions_of(const IRModule& module) {
  std::vector<NamedFunction> functions;
  for (const auto& [var, function] : field<Map<GlobalVar, Expr>>(module, "functions")) {
    functions.push_back({var, field<String>(var, "name_hint"), function});
  }
  std::sort(functions.begin(), functions.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return functions;
}

IRModule make_module(const std::vector<NamedFunction>& functions) {
  Map<GlobalVar, Expr> map;
  for (const NamedFunction& item : functions) map.Set(item.var, item.function);
  return call<IRModule>("ir.IRModule", map, nullptr, Map<String, Any>());
}

bool is_relax_function(const Expr& function) { return type_key(function) == "relax.expr.Function"; }
bool is_prim_func(const Expr& function) { return type_key(function) == "tirx.PrimFunc"; }

IRModule with_function(const IRModule& module, const GlobalVar& var, const Expr& function) {
  auto copy = call<IRModule>("ir.Module_Clone", module);
  call<void>("ir.Module_Add", copy, var, function, /*update=*/true);
  return copy;
}

IRModule with_module_attr(const IRModule& module, const std::string& key, const Any& value) {
  return call<IRModule>("ir.Module_WithAttr", module, key, value);
}

Expr extern_function(const std::string& symbol) {
  return call<Expr>("relax.ExternFunc", symbol, nullptr, nullptr);
}

Expr find_function(const IRModule& module, const std::string& name) {
  if (!call<bool>("ir.Module_ContainGlobalVar", module, name)) return Expr();
  return call<Expr>("ir.Module_Lookup_str", module, name);
}

GlobalVar find_global_var(const IRModule& module, const std::string& name) {
  return call<GlobalVar>("ir.Module_GetGlobalVar", module, name);
}

Expr with_params_and_body(const Expr& function, const Array<Var>& more_params, const Expr& body) {
  auto params = field<Array<Var>>(function, "params");
  for (const Var& param : more_params) params.push_back(param);
  return call<Expr>("relax.Function", params, body, field<ObjectRef>(function, "ret_ty"),
                    field<bool>(function, "is_pure"), field<ObjectRef>(function, "attrs"), nullptr);
}

std::optional<Any> function_attr(const Expr& function, const std::string& key) {
  auto attrs = call<ffi::Optional<ObjectRef>>("ir.BaseFunc_Attrs", function);
  if (!attrs.has_value()) return std::nullopt;
  auto entries = call<Map<String, Any>>("ir.DictAttrsGetDict", *attrs);
  auto found = entries.find(key);
  if (found == entries.end()) return std::nullopt;
  return (*found).second;
}

Expr with_function_attr(const Expr& function, const std::string& key, const Any& value) {
  return call<Expr>("ir.BaseFuncWithAttr", function, key, value);
}

Expr without_function_attr(const Expr& function, const std::string& key) {
  return call<Expr>("ir.BaseFuncWithoutAttr", function, key);
}

uint64_t structural_hash(const Expr& expr) {
  return static_cast<uint64_t>(call<int64_t>("ffi.StructuralHash", expr, /*map_free_vars=*/true,
                                             /*skip_tensor_content=*/false));
}

std::vector<std::string> called_operators(const Expr& function) {
  std::vector<std::string> names;
  auto visit = [&](const ObjectRef& node) {
    if (type_key(node) != "ir.Call") return;
    auto callee = field<ObjectRef>(node, "op");
    if (type_key(callee) == "ir.Op") names.push_back(field<String>(callee, "name"));
  };
  call<void>("relax.analysis.post_order_visit", function, ffi::Function::FromTyped(visit));
  return names;
}

Expr replace_objects(const Expr& root, const char* key,
                     const std::function<ObjectRef(const ObjectRef&)>& replacement) {
  constexpr int kChildrenFirst = 1;
  int32_t type_index = 0;
  TVMFFIByteArray name{key, std::char_traits<char>::length(key)};
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeKeyToIndex(&name, &type_index));
  Array<Any> entry{type_index, ffi::Function::FromTyped(replacement)};
  return call<Expr>("ffi.StructuralMap", root, Array<Any>{entry}, Array<Any>(), kChildrenFirst);
}

}  // namespace nnef_tvm
