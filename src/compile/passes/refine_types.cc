#include "compile/passes/refine_types.h"

#include <algorithm>
#include <unordered_map>

#include "compile/passes/rewrite.h"
#include "tvm/bindings.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/relax.h"

namespace nnef_tvm {
namespace {

/// Expressions over variables that have other types by now.
class Retyped {
 public:
  void add(const Var& before, const Var& after) { vars_[before.get()] = after; }

  /// Calls without types: the block builder infers them.
  Expr operator()(const Expr& expr) const {
    if (const auto found = vars_.find(expr.get()); found != vars_.end()) return found->second;
    const std::string key = type_key(expr);
    if (key == "ir.Tuple") return tuple(all(field<Array<Expr>>(expr, "fields")));
    if (key == "ir.TupleGetItem") {
      return tuple_get_item((*this)(field<Expr>(expr, "tuple_value")),
                            field<int64_t>(expr, "index"));
    }
    // The type of a kernel's call is an argument of the call.
    if (operator_name(expr).empty() || operator_name(expr).starts_with("relax.call_")) {
      return key == "ir.Call" ? with_args(expr, all(args_of(expr))) : expr;
    }
    return untyped(expr, all(args_of(expr)));
  }

 private:
  Array<Expr> all(const Array<Expr>& list) const {
    Array<Expr> result;
    for (const Expr& item : list) result.push_back((*this)(item));
    return result;
  }

  std::unordered_map<const void*, Var> vars_;
};

}  // namespace

size_t count_unknown_shapes(const IRModule& module) {
  const auto bindings = bindings_of(find_function(module, "main"));
  return static_cast<size_t>(
      std::count_if(bindings.begin(), bindings.end(), [](const Binding& binding) {
        return type_key(type_of(binding.var)) == "relax.TensorType" && !known_shape(binding.var);
      }));
}

IRModule refine_types(const IRModule& module) {
  const Expr main = find_function(module, "main");
  BlockBuilder builder(field<Array<Var>>(main, "params"));
  Retyped retyped;
  for (const Binding& binding : bindings_of(main)) {
    retyped.add(binding.var,
                builder.emit_output(retyped(binding.value), field<String>(binding.var, "name")));
  }
  const IRModule built = builder.finish("main", retyped(result_of(main)), {});
  const Expr result = with_attrs_of(find_function(built, "main"), main);
  return renormalised(with_function(module, find_global_var(module, "main"), result), "main");
}

}  // namespace nnef_tvm
