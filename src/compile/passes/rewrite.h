// Rewriting of single bindings of a Relax function by rules, until none applies.
#pragma once

#include <span>
#include <string>
#include <unordered_map>

#include "compile/passes/weight_vars.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// What a rule may ask about the function around a call.
class Definitions {
 public:
  explicit Definitions(const Expr& function);

  /// The call that a variable stands for; undefined for what is no such variable.
  Expr call_of(const Expr& expr) const;
  /// Whether nothing but one binding uses the variable.
  bool used_once(const Expr& expr) const;
  bool is_weight(const Expr& expr) const { return weights_.is_weight(expr); }

  /// The variable's value is about to be replaced: call_of() knows it no longer.
  void forget(const Var& var) { values_.erase(var.get()); }

 private:
  std::unordered_map<const void*, Expr> values_;
  std::unordered_map<const void*, int> uses_;
  WeightVars weights_;
};

/// Calls of an operator by what may stand for them: undefined when the rule does not apply. Each
/// rule makes the function smaller, by a measure of its own, or returns what no rule takes.
struct RewriteRule {
  const char* op;
  Expr (*rewrite)(const Definitions& definitions, const Expr& call);
};

/// Applies the rules to the function's bindings. Bindings that it leaves unused stay.
IRModule rewrite_bindings(const IRModule& module, const std::string& entry,
                          std::span<const RewriteRule> rules);

/// After changes of bindings: values are bound to variables of their own and have types, and what
/// nothing needs is gone.
IRModule renormalised(IRModule module, const std::string& entry);

}  // namespace nnef_tvm
