#include "compile/opencl_truths.h"

#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/te.h"

namespace nnef_tvm {

namespace {

bool is_vector(const ObjectRef& expr) { return item_type(as<PrimExpr>(expr)).lanes > 1; }

PrimExpr part(const ObjectRef& expr, const char* name) { return field<PrimExpr>(expr, name); }

/// One choice for all lanes is a choice between vectors.
ObjectRef choice(const ObjectRef& select) {
  const PrimExpr condition = part(select, "condition");
  if (!is_vector(select) || type_key(condition) != "prim.Broadcast") return select;
  return if_then_else(part(condition, "value"), part(select, "true_value"),
                      part(select, "false_value"));
}

/// A truth value as a number.
ObjectRef number_of(const ObjectRef& cast) {
  const PrimExpr value = part(cast, "value");
  if (!is_vector(cast) || !is_boolean(item_type(value))) return cast;
  const DLDataType type = item_type(as<PrimExpr>(cast));
  return choice(select(value, number(1, type), number(0, type)));
}

}  // namespace

IRModule with_opencl_truths(const IRModule& kernels) {
  std::vector<NamedFunction> functions = functions_of(kernels);
  for (NamedFunction& item : functions) {
    const Expr chosen = replace_objects(item.function, "prim.Select", choice);
    item.function = replace_objects(chosen, "prim.Cast", number_of);
  }
  return make_module(functions);
}

}  // namespace nnef_tvm
