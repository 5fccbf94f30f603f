#include "tvm/bindings.h"

#include "tvm/ir.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

bool is_var_binding(const ObjectRef& binding) {
  return type_key(binding) == "relax.expr.VarBinding";
}

}  // namespace

std::vector<Binding> bindings_of(const Expr& function) {
  std::vector<Binding> found;
  const auto body = field<Expr>(function, "body");
  if (type_key(body) != "relax.expr.SeqExpr") return found;
  for (const ObjectRef& block : field<Array<ObjectRef>>(body, "blocks")) {
    for (const ObjectRef& binding : field<Array<ObjectRef>>(block, "bindings")) {
      if (!is_var_binding(binding)) continue;
      found.push_back({field<Var>(binding, "var"), field<Expr>(binding, "value")});
    }
  }
  return found;
}

Expr with_values(const Expr& function, const std::vector<Expr>& values) {
  const auto body = field<Expr>(function, "body");
  size_t next = 0;
  Array<ObjectRef> blocks;
  for (const ObjectRef& block : field<Array<ObjectRef>>(body, "blocks")) {
    Array<ObjectRef> bindings;
    for (const ObjectRef& binding : field<Array<ObjectRef>>(block, "bindings")) {
      bindings.push_back(is_var_binding(binding)
                             ? call<ObjectRef>("relax.VarBinding", field<Var>(binding, "var"),
                                               values.at(next++), nullptr)
                             : binding);
    }
    const bool dataflow = type_key(block) == "relax.expr.DataflowBlock";
    blocks.push_back(call<ObjectRef>(dataflow ? "relax.DataflowBlock" : "relax.BindingBlock",
                                     bindings, nullptr));
  }
  const Expr changed = call<Expr>("relax.SeqExpr", blocks, field<Expr>(body, "body"), nullptr);
  return call<Expr>("relax.Function", field<Array<Var>>(function, "params"), changed,
                    field<ObjectRef>(function, "ret_ty"), field<bool>(function, "is_pure"),
                    field<ObjectRef>(function, "attrs"), nullptr);
}

Expr result_of(const Expr& function) {
  const auto body = field<Expr>(function, "body");
  return type_key(body) == "relax.expr.SeqExpr" ? field<Expr>(body, "body") : body;
}

Array<Var> used_vars(const Expr& expr) {
  return call<Array<Var>>("relax.analysis.used_vars", expr);
}

std::string operator_name(const ObjectRef& expr) {
  if (!expr.defined() || type_key(expr) != "ir.Call") return "";
  const auto callee = field<ObjectRef>(expr, "op");
  return type_key(callee) == "ir.Op" ? std::string(field<String>(callee, "name")) : "";
}

Array<Expr> args_of(const Expr& call) { return field<Array<Expr>>(call, "args"); }

Expr with_args(const Expr& original, const Array<Expr>& args) {
  return call<Expr>("ir.Call", type_of(original), field<Expr>(original, "op"), args,
                    field<ffi::Optional<ObjectRef>>(original, "attrs"),
                    field<Array<Type>>(original, "ty_args"), nullptr);
}

Expr untyped(const Expr& original, const Array<Expr>& args) {
  return call<Expr>("ir.Call", call<Type>("ir.TypeMissing"), field<Expr>(original, "op"), args,
                    field<ffi::Optional<ObjectRef>>(original, "attrs"),
                    field<Array<Type>>(original, "ty_args"), nullptr);
}

Expr with_names(const Expr& function, const std::unordered_map<const void*, std::string>& names) {
  Expr renamed = function;
  for (const auto& [key, constructor] :
       {std::pair("ir.Var", "ir.Var"), std::pair("relax.expr.DataflowVar", "relax.DataflowVar")}) {
    std::unordered_map<const void*, ObjectRef> made;
    renamed = replace_objects(renamed, key, [&](const ObjectRef& var) -> ObjectRef {
      const auto name = names.find(var.get());
      if (name == names.end()) return var;
      ObjectRef& replacement = made[var.get()];
      if (!replacement.defined()) {
        replacement = call<ObjectRef>(constructor, name->second, type_of(as<Expr>(var)), nullptr);
      }
      return replacement;
    });
  }
  return renamed;
}

Expr with_attrs_of(const Expr& function, const Expr& other) {
  return call<Expr>("relax.Function", field<Array<Var>>(function, "params"),
                    field<Expr>(function, "body"), field<ObjectRef>(function, "ret_ty"),
                    field<bool>(function, "is_pure"), field<ObjectRef>(other, "attrs"), nullptr);
}

std::optional<std::vector<int64_t>> known_shape(const Expr& expr) {
  return known_shape(type_of(expr));
}

std::optional<std::vector<int64_t>> known_shape(const Type& type) {
  if (type_key(type) != "relax.TensorType") return std::nullopt;
  const auto shape = field<ffi::Optional<ObjectRef>>(type, "shape");
  if (!shape.has_value() || type_key(*shape) != "relax.expr.ShapeExpr") return std::nullopt;
  std::vector<int64_t> extents;
  for (const ObjectRef& extent : field<Array<ObjectRef>>(*shape, "values")) {
    if (type_key(extent) != "ir.IntImm") return std::nullopt;
    extents.push_back(field<int64_t>(extent, "value"));
  }
  return extents;
}

}  // namespace nnef_tvm
