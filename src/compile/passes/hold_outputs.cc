#include "compile/passes/hold_outputs.h"

#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/relax.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

Expr held(const Expr& output) {
  const bool is_tuple = type_key(type_of(output)) == "ir.TupleType";
  if (!is_tuple) return relax::stop_lift_params(output);
  Array<Expr> fields;
  const auto types = field<Array<Type>>(type_of(output), "fields");
  for (size_t i = 0; i < types.size(); ++i) {
    fields.push_back(relax::stop_lift_params(tuple_get_item(output, static_cast<int64_t>(i))));
  }
  return tuple(fields);
}

}  // namespace

IRModule hold_outputs(const IRModule& module, const std::string& entry) {
  const Expr function = find_function(module, entry);
  const auto body = field<Expr>(function, "body");
  const Expr with_marks =
      seq_expr(field<Array<ObjectRef>>(body, "blocks"), held(field<Expr>(body, "body")));
  IRModule marked = with_function(module, find_global_var(module, entry),
                                  with_params_and_body(function, {}, with_marks));
  marked = run_pass(relax_pass::normalize(), marked);
  return run_pass(relax_pass::convert_to_dataflow(1), marked);
}

}  // namespace nnef_tvm
