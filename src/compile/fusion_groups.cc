#include "compile/fusion_groups.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tvm/bindings.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

/// What a binding does, as far as its value alone tells: the kernel or operator that it calls.
std::string action(const Expr& value) {
  const std::string op = operator_name(value);
  if (op == "relax.call_tir") return field<String>(args_of(value)[0], "name_hint");
  return op.empty() ? type_key(value) : op;
}

/// The function that fusion made of a call's callees; undefined for calls that it left alone.
Expr fused_function(const IRModule& module, const Expr& value) {
  if (type_key(value) != "ir.Call") return Expr();
  const auto callee = field<Expr>(value, "op");
  return type_key(callee) == "ir.GlobalVar"
             ? find_function(module, field<String>(callee, "name_hint"))
             : Expr();
}

/// Finds bindings of the function before fusion, each once.
class Finder {
 public:
  explicit Finder(const Expr& function) : bindings_(bindings_of(function)) {
    for (size_t i = 0; i < bindings_.size(); ++i) {
      by_action_[action(bindings_[i].value)].push_back(i);
      for (const Var& var : used_vars(bindings_[i].value)) used_[i].insert(var.get());
    }
  }

  /// The first of those not found yet that does `action`, preferably to one of the variables;
  /// undefined when there is none.
  Var find(const std::string& action, const std::unordered_set<const void*>& inputs) {
    auto& candidates = by_action_[action];
    if (candidates.empty()) return Var();
    auto chosen = std::find_if(candidates.begin(), candidates.end(), [&](size_t i) {
      return std::any_of(used_[i].begin(), used_[i].end(),
                         [&](const void* var) { return inputs.count(var) > 0; });
    });
    if (chosen == candidates.end()) chosen = candidates.begin();
    const Var var = bindings_[*chosen].var;
    candidates.erase(chosen);
    return var;
  }

 private:
  std::vector<Binding> bindings_;
  std::unordered_map<std::string, std::vector<size_t>> by_action_;
  std::unordered_map<size_t, std::unordered_set<const void*>> used_;
};

}  // namespace

std::vector<FusionGroup> fusion_groups(const IRModule& before, const IRModule& after,
                                       const std::string& entry) {
  Finder finder(find_function(before, entry));
  std::unordered_map<const void*, Var> origins;  // of variables of the fused function
  std::vector<FusionGroup> groups;
  for (const Binding& binding : bindings_of(find_function(after, entry))) {
    const Expr function = fused_function(after, binding.value);
    std::unordered_set<const void*> inputs;
    for (const Var& var : used_vars(binding.value)) {
      const auto origin = origins.find(var.get());
      inputs.insert(origin == origins.end() ? static_cast<const void*>(var.get())
                                            : origin->second.get());
    }
    std::vector<Expr> values{binding.value};
    if (function.defined()) {
      values.clear();
      for (const Binding& member : bindings_of(function)) values.push_back(member.value);
    }
    FusionGroup group;
    for (const Expr& value : values) {
      const Var member = finder.find(action(value), inputs);
      if (!member.defined()) continue;
      inputs.insert(member.get());
      origins[binding.var.get()] = member;
      group.members.push_back(field<String>(member, "name"));
    }
    if (!function.defined() && operator_name(binding.value) != "relax.call_tir") continue;
    group.kernel = function.defined()
                       ? std::string(field<String>(field<Expr>(binding.value, "op"), "name_hint"))
                       : action(binding.value);
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace nnef_tvm
