#include "compile/passes/group_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compile/schedule/cpu/rows.h"
#include "tvm/bindings.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/relax.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

// TVM's kinds of kernels (relay::OpPatternKind), as far as they are told apart here.
constexpr int64_t kBroadcast = 1;  // and below: one item from one item of each argument
constexpr int64_t kReduction = 3;
constexpr int64_t kFusable = 4;  // and below: FuseOps lets others join
constexpr int64_t kOpaque = 8;

/// A binding of the function by its position, and how values flow between bindings.
struct Node {
  Binding binding;
  PrimFunc kernel;  ///< undefined: no call of a kernel with one result
  int64_t pattern = kOpaque;
  std::vector<size_t> inputs;  ///< positions of the bindings it uses
  std::vector<size_t> users;
  bool is_result = false;  ///< the function returns it
};

class Grouping {
 public:
  Grouping(const IRModule& module, const Expr& function, const CpuTraits& traits)
      : traits_(traits) {
    std::unordered_map<const void*, size_t> position;
    for (const Binding& binding : bindings_of(function)) {
      Node step;
      step.binding = binding;
      if (operator_name(binding.value) == "relax.call_tir" && known_shape(binding.var)) {
        const auto callee = as<GlobalVar>(args_of(binding.value)[0]);
        const Expr kernel = find_function(module, field<String>(callee, "name_hint"));
        step.kernel = as<PrimFunc>(kernel);
        if (const auto kind = function_attr(kernel, "op_pattern"))
          step.pattern = kind->cast<int64_t>();
      }
      for (const Var& var : used_vars(binding.value)) {
        const auto found = position.find(var.get());
        if (found == position.end()) continue;
        step.inputs.push_back(found->second);
        steps_[found->second].users.push_back(steps_.size());
      }
      position[binding.var.get()] = steps_.size();
      steps_.push_back(std::move(step));
    }
    for (const Var& var : used_vars(result_of(function))) {
      const auto found = position.find(var.get());
      if (found != position.end()) steps_[found->second].is_result = true;
    }
  }

  const std::vector<Node>& steps() const { return steps_; }

  /// The groups, each of at least two bindings, in order, of which only the last is used outside.
  std::vector<std::vector<size_t>> groups() {
    std::vector<std::vector<size_t>> found;
    for (size_t seed = 0; seed < steps_.size(); ++seed) {
      if (taken_.count(seed) > 0) continue;
      const std::optional<Rows> rows = rows_at(seed);
      if (!rows) continue;
      std::set<size_t> members = followers(seed, *rows);
      take_producers(members, *rows);
      drop_until_one_result(members);
      if (members.size() < 2) continue;
      taken_.insert(members.begin(), members.end());
      found.emplace_back(members.begin(), members.end());
    }
    return found;
  }

 private:
  /// The rows that the kernel at a position reduces.
  std::optional<Rows> rows_at(size_t at) {
    const Node& step = steps_[at];
    const bool may_reduce = step.pattern == kReduction || step.pattern == kOpaque;
    if (!step.kernel.defined() || !may_reduce) return std::nullopt;
    const auto [found, is_new] = rows_.try_emplace(step.kernel.get());
    if (is_new) found->second = rows_of(step.kernel, traits_);
    return found->second;
  }

  bool suits(size_t at, const Rows& rows) {
    const Node& step = steps_[at];
    if (!step.kernel.defined() || taken_.count(at) > 0) return false;
    if (step.pattern <= kBroadcast) return runs_along(step.kernel, rows);
    return rows_at(at) == rows;
  }

  /// The seed and what may be computed with it of all that follows from it. What follows from a
  /// member through something else cannot: it would have to come between.
  std::set<size_t> followers(size_t seed, const Rows& rows) {
    std::set<size_t> members{seed};
    std::set<size_t> apart;
    for (size_t at = seed + 1; at < steps_.size(); ++at) {
      const auto uses = [&](const std::set<size_t>& set) {
        return std::any_of(steps_[at].inputs.begin(), steps_[at].inputs.end(),
                           [&](size_t input) { return set.count(input) > 0; });
      };
      if (uses(apart)) {
        apart.insert(at);
      } else if (uses(members)) {
        (suits(at, rows) ? members : apart).insert(at);
      }
    }
    return members;
  }

  /// Adds arithmetic that only members use, unless FuseOps joins it to what comes before.
  void take_producers(std::set<size_t>& members, const Rows& rows) {
    std::set<size_t> candidates;
    for (size_t at = *members.rbegin(); at-- > 0;) {
      const Node& step = steps_[at];
      if (members.count(at) > 0 || step.is_result || step.users.empty()) continue;
      const bool only_here = std::all_of(step.users.begin(), step.users.end(), [&](size_t user) {
        return members.count(user) > 0 || candidates.count(user) > 0;
      });
      if (only_here && step.pattern <= kBroadcast && suits(at, rows)) candidates.insert(at);
    }
    // From the first to the last: what an input keeps away keeps others away.
    for (size_t at : candidates) {
      const bool joins_others =
          std::any_of(steps_[at].inputs.begin(), steps_[at].inputs.end(), [&](size_t input) {
            return members.count(input) == 0 && steps_[input].pattern <= kFusable;
          });
      if (!joins_others) members.insert(at);
    }
  }

  void drop_until_one_result(std::set<size_t>& members) const {
    const auto results = [&] {
      return std::count_if(members.begin(), members.end(), [&](size_t at) {
        const Node& step = steps_[at];
        return step.is_result || std::any_of(step.users.begin(), step.users.end(),
                                             [&](size_t user) { return members.count(user) == 0; });
      });
    };
    while (!members.empty() && results() > 1) members.erase(std::prev(members.end()));
  }

  const CpuTraits& traits_;
  std::vector<Node> steps_;
  std::set<size_t> taken_;
  std::map<const void*, std::optional<Rows>> rows_;
};

/// The functions of groups: one for all groups that compute the same.
class GroupFunctions {
 public:
  explicit GroupFunctions(IRModule module) : module_(std::move(module)) {}

  const IRModule& module() const { return module_; }

  /// The call that stands for the group.
  Expr call_of(const std::vector<const Binding*>& group) {
    const Wiring wiring(group);
    const auto [function, is_new] = functions_.try_emplace(wiring.text);
    if (is_new) function->second = add(group, wiring);
    return call_function(function->second, wiring.arguments, type_of(group.back()->var));
  }

 private:
  /// What a group takes from outside, in the order of first use, and how its values flow.
  struct Wiring {
    explicit Wiring(const std::vector<const Binding*>& group) {
      std::unordered_map<const void*, std::string> names;
      for (const Binding* binding : group) {
        text += kernel_name(*binding) + "(";
        for (const Expr& argument : arguments_of(*binding)) {
          const auto [name, is_new] = names.try_emplace(argument.get());
          if (is_new) {
            name->second = fmt::format("p{}", arguments.size());
            arguments.push_back(argument);
          }
          text += name->second + ",";
        }
        text += ")";
        names[binding->var.get()] = fmt::format("v{}", names.size());
      }
    }

    std::string text;
    Array<Expr> arguments;
  };

  static std::string kernel_name(const Binding& binding) {
    return field<String>(as<GlobalVar>(args_of(binding.value)[0]), "name_hint");
  }
  static Array<Expr> arguments_of(const Binding& binding) {
    return field<Array<Expr>>(args_of(binding.value)[1], "fields");
  }

  std::string unused_name(const std::vector<const Binding*>& group) const {
    constexpr size_t kLongestName = 80;
    std::string name = "fused";
    for (const Binding* binding : group) name += "_" + kernel_name(*binding);
    name = name.substr(0, kLongestName);
    std::string unused = name;
    for (int i = 1; find_function(module_, unused).defined(); ++i) {
      unused = fmt::format("{}_{}", name, i);
    }
    return unused;
  }

  GlobalVar add(const std::vector<const Binding*>& group, const Wiring& wiring) {
    std::unordered_map<const void*, Expr> inside;
    Array<Var> params;
    for (const Expr& argument : wiring.arguments) {
      params.push_back(var(fmt::format("p{}", params.size()), type_of(argument)));
      inside[argument.get()] = params.back();
    }
    BlockBuilder builder(params);
    for (const Binding* binding : group) {
      Array<Expr> fields;
      for (const Expr& argument : arguments_of(*binding)) {
        fields.push_back(inside.at(argument.get()));
      }
      Array<Expr> args = args_of(binding->value);
      args.Set(1, tuple(fields));
      const Expr value = with_args(binding->value, args);
      inside[binding->var.get()] =
          binding == group.back() ? builder.emit_output(value) : builder.emit(value);
    }
    const std::string name = unused_name(group);
    const IRModule made =
        builder.finish(name, inside.at(group.back()->var.get()), {{"Primitive", int64_t{1}}});
    const GlobalVar var = find_global_var(made, name);
    module_ = with_function(module_, var, find_function(made, name));
    return var;
  }

  IRModule module_;
  std::map<std::string, GlobalVar> functions_;
};

}  // namespace

IRModule group_rows(const IRModule& module, const std::string& entry, const CpuTraits& traits) {
  const Expr function = find_function(module, entry);
  Grouping grouping(module, function, traits);
  const std::vector<std::vector<size_t>> groups = grouping.groups();
  if (groups.empty()) return module;
  const std::vector<Node>& steps = grouping.steps();
  std::vector<Expr> values;
  for (const Node& step : steps) values.push_back(step.binding.value);
  GroupFunctions functions(module);
  for (const std::vector<size_t>& positions : groups) {
    std::vector<const Binding*> group;
    for (size_t at : positions) group.push_back(&steps[at].binding);
    values[positions.back()] = functions.call_of(group);
  }
  const IRModule grouped = with_function(functions.module(), find_global_var(module, entry),
                                         with_values(function, values));
  return run_pass(relax_pass::dead_code_elimination({entry}),
                  run_pass(relax_pass::normalize(), grouped));
}

}  // namespace nnef_tvm
