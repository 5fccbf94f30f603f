#include "compile/passes/rewrite.h"

#include <algorithm>
#include <vector>

#include "tvm/bindings.h"
#include "tvm/ir_module.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

/// The first result of the rules for the operator of a call; undefined when there is none.
Expr rewritten(const Definitions& definitions, const Expr& value,
               std::span<const RewriteRule> rules) {
  const std::string op = operator_name(value);
  if (op.empty()) return Expr();
  for (const RewriteRule& rule : rules) {
    if (op != rule.op) continue;
    if (Expr result = rule.rewrite(definitions, value); result.defined()) return result;
  }
  return Expr();
}

/// Applies the rules once to each binding; undefined when none did.
Expr sweep(const Expr& function, std::span<const RewriteRule> rules) {
  Definitions definitions(function);
  std::vector<Expr> values;
  bool changed = false;
  for (const Binding& binding : bindings_of(function)) {
    const Expr result = rewritten(definitions, binding.value, rules);
    values.push_back(result.defined() ? result : binding.value);
    if (!result.defined()) continue;
    definitions.forget(binding.var);
    changed = true;
  }
  return changed ? with_values(function, values) : Expr();
}

}  // namespace

Definitions::Definitions(const Expr& function) : weights_(function) {
  for (const Binding& binding : bindings_of(function)) {
    if (!operator_name(binding.value).empty()) values_[binding.var.get()] = binding.value;
    for (const Var& var : used_vars(binding.value)) ++uses_[var.get()];
  }
  for (const Var& var : used_vars(result_of(function))) uses_[var.get()] += 2;
}

Expr Definitions::call_of(const Expr& expr) const {
  const auto found = values_.find(expr.get());
  return found == values_.end() ? Expr() : found->second;
}

bool Definitions::used_once(const Expr& expr) const {
  const auto found = uses_.find(expr.get());
  return found != uses_.end() && found->second == 1;
}

IRModule rewrite_bindings(const IRModule& module, const std::string& entry,
                          std::span<const RewriteRule> rules) {
  // What a sweep leaves unused must be gone before the next one counts uses.
  IRModule result = module;
  while (true) {
    const Expr changed = sweep(find_function(result, entry), rules);
    if (!changed.defined()) return result;
    result = renormalised(with_function(result, find_global_var(result, entry), changed), entry);
  }
}

IRModule renormalised(IRModule module, const std::string& entry) {
  for (const Pass& pass :
       {relax_pass::normalize(), relax_pass::convert_to_dataflow(1),
        relax_pass::canonicalize_bindings(), relax_pass::dead_code_elimination({entry})}) {
    module = run_pass(pass, module);
  }
  return module;
}

}  // namespace nnef_tvm
