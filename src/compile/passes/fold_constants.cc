#include "compile/passes/fold_constants.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "compile/passes/rewrite.h"
#include "tvm/bindings.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/relax.h"

namespace nnef_tvm {
namespace {

constexpr int64_t kFewItems = 4096;

bool is_small_tensor(const Expr& expr) {
  const auto shape = known_shape(expr);
  return shape && std::accumulate(shape->begin(), shape->end(), int64_t{1}, std::multiplies<>()) <=
                      kFewItems;
}

/// The variables whose values are known from constants in the function itself.
class Known {
 public:
  bool is_known(const Expr& expr) const {
    const std::string key = type_key(expr);
    if (key == "ir.GenericConst") return is_small_tensor(expr);
    if (key == "ir.Tuple") return all_known(field<Array<Expr>>(expr, "fields"));
    if (key == "relax.expr.ShapeExpr") return static_shape(expr);
    return key == "ir.IntImm" || key == "ir.FloatImm" || vars_.count(expr.get()) > 0;
  }

  bool all_known(const Array<Expr>& list) const {
    return std::all_of(list.begin(), list.end(), [&](const Expr& e) { return is_known(e); });
  }

  /// Calls of kernels are not operators of tensors alone.
  bool is_computable(const Expr& value) const {
    const std::string op = operator_name(value);
    return !op.empty() && !op.starts_with("relax.call_") && !op.starts_with("relax.builtin.") &&
           is_small_tensor(value) && all_known(args_of(value));
  }

  void add(const Var& var) { vars_.insert(var.get()); }

 private:
  static bool static_shape(const Expr& shape) {
    const auto values = field<Array<Expr>>(shape, "values");
    return std::all_of(values.begin(), values.end(),
                       [](const Expr& extent) { return type_key(extent) == "ir.IntImm"; });
  }

  std::unordered_set<const void*> vars_;
};

/// An expression with variables replaced by others.
Expr substituted(const Expr& expr, const std::unordered_map<const void*, Expr>& values) {
  const auto found = values.find(expr.get());
  if (found != values.end()) return found->second;
  if (type_key(expr) != "ir.Tuple") return expr;
  Array<Expr> fields;
  for (const Expr& item : field<Array<Expr>>(expr, "fields")) {
    fields.push_back(substituted(item, values));
  }
  return tuple(fields);
}

Expr with_substituted_args(const Expr& call, const std::unordered_map<const void*, Expr>& values) {
  Array<Expr> args;
  bool changed = false;
  for (const Expr& arg : args_of(call)) {
    args.push_back(substituted(arg, values));
    changed = changed || !args.back().same_as(arg);
  }
  return changed ? with_args(call, args) : call;
}

}  // namespace

SmallConstants small_constants(const IRModule& module) {
  SmallConstants found;
  Known known;
  BlockBuilder builder({});
  std::unordered_map<const void*, Expr> values;
  Array<Expr> results;
  for (const Binding& binding : bindings_of(find_function(module, "main"))) {
    if (!known.is_computable(binding.value)) continue;
    known.add(binding.var);
    const Expr value = builder.emit_output(with_substituted_args(binding.value, values));
    values[binding.var.get()] = value;
    results.push_back(value);
    found.vars.push_back(binding.var);
  }
  if (!found.vars.empty()) {
    found.module = builder.finish(kConstantsName, tuple(results), {{"num_input", int64_t{0}}});
  }
  return found;
}

IRModule with_constants(const IRModule& module, const std::vector<Var>& vars,
                        const std::vector<ffi::Tensor>& values) {
  std::unordered_map<const void*, Expr> constants;
  for (size_t i = 0; i < vars.size(); ++i) constants[vars[i].get()] = constant(values.at(i));
  const Expr main = find_function(module, "main");
  std::vector<Expr> changed;
  for (const Binding& binding : bindings_of(main)) {
    const auto found = constants.find(binding.var.get());
    if (found != constants.end()) {
      changed.push_back(found->second);
    } else {
      const bool is_call = !operator_name(binding.value).empty();
      changed.push_back(is_call ? with_substituted_args(binding.value, constants)
                                : substituted(binding.value, constants));
    }
  }
  return renormalised(
      with_function(module, find_global_var(module, "main"), with_values(main, changed)), "main");
}

}  // namespace nnef_tvm
