#include "compile/origins.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "compile/passes/weight_vars.h"
#include "compile/work.h"
#include "tvm/bindings.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

using nnef_runtime::KernelSpec;
using nnef_runtime::OperationSpec;
using nnef_runtime::Program;

constexpr std::string_view kPrefix = "operation";

/// The number in a variable's name; a suffix that makes a name unique does not matter.
std::optional<size_t> step_of_name(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  size_t step = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), step);
  return error == std::errc() ? std::optional(step) : std::nullopt;
}

std::string name_of(const Var& var) { return field<String>(var, "name"); }

/// Where the frontend left a span.
std::string source_of(const Expr& value) {
  const auto span = field<ffi::Optional<ObjectRef>>(value, "span");
  if (!span || type_key(*span) != "ir.Span") return "";
  return fmt::format("{}:{}",
                     std::string(field<String>(field<ObjectRef>(*span, "source_name"), "name")),
                     field<int64_t>(*span, "line"));
}

OperationSpec described(const Binding& binding) {
  std::string op = operator_name(binding.value);
  if (op.starts_with("relax.")) op.erase(0, 6);
  return {op.empty() ? type_key(binding.value) : op, name_of(binding.var),
          source_of(binding.value)};
}

/// For variables of a function that have no number: the steps of what uses them.
class Followers {
 public:
  Followers(const Expr& function, size_t steps) : steps_(steps) {
    for (const Binding& binding : bindings_of(function)) {
      for (const Var& used : used_vars(binding.value)) users_[used.get()].push_back(binding.var);
    }
  }

  std::set<size_t> steps_of(const Var& var) const {
    if (const auto step = step_of_name(name_of(var)); step && *step < steps_) return {*step};
    std::set<size_t> found;
    const auto users = users_.find(var.get());
    if (users == users_.end()) return found;
    for (const Var& user : users->second) found.merge(steps_of(user));
    // The first one: the others follow it, or are its like.
    if (found.size() > 1) found.erase(std::next(found.begin()), found.end());
    return found;
  }

 private:
  size_t steps_;
  std::unordered_map<const void*, std::vector<Var>> users_;
};

}  // namespace

Origins::Origins(const IRModule& module, const std::map<std::string, OperationSpec>& sources) {
  const Expr main = find_function(module, "main");
  const WeightVars weights(main);
  const std::vector<Binding> bindings = bindings_of(main);
  std::unordered_map<const void*, size_t> places;
  std::unordered_map<const void*, std::string> names;
  size_t unnamed = 0;
  for (size_t i = 0; i < bindings.size(); ++i) {
    const Binding& binding = bindings[i];
    names[binding.var.get()] = fmt::format("{}{}", kPrefix, i);
    steps_.push_back(
        {static_cast<uint32_t>(operations_.size()), {}, weights.is_weight(binding.value)});
    for (const Var& used : used_vars(binding.value)) {
      const auto place = places.find(used.get());
      if (place != places.end()) steps_[place->second].consumers.push_back(i);
    }
    places[binding.var.get()] = i;
    const auto source = sources.find(name_of(binding.var));
    ++unnamed;
    if (source == sources.end() && !sources.empty()) continue;
    operations_.push_back(source == sources.end() ? described(binding) : source->second);
    unnamed = 0;
  }
  if (unnamed != 0) operations_.push_back({});
  module_ = with_function(module, find_global_var(module, "main"), with_names(main, names));
}

void Origins::count_work(const IRModule& module) {
  const Expr main = find_function(module, "main");
  const Followers followers(main, steps_.size());
  std::unordered_map<const void*, std::set<size_t>> steps;
  const std::vector<Binding> bindings = bindings_of(main);
  for (const Binding& binding : bindings) {
    steps[binding.var.get()] = followers.steps_of(binding.var);
    for (const size_t step : steps[binding.var.get()]) flops_[step] += work_of(binding.value);
  }
  // What the function returns may have lost its name.
  for (const Binding& binding : bindings) {
    if (!steps[binding.var.get()].empty()) continue;
    std::set<size_t> before;
    for (const Var& used : used_vars(binding.value)) before.merge(std::set(steps[used.get()]));
    const auto step = follower(before, [&](size_t s) { return flops_.count(s) == 0; });
    if (!step) continue;
    steps[binding.var.get()] = {*step};
    flops_[*step] += work_of(binding.value);
  }
}

namespace {

/// A kernel's call while its operations are looked for.
struct Place {
  KernelSpec kernel;
  std::set<size_t> steps;
  size_t unnamed = 0;          ///< calls in it whose names were lost
  std::vector<size_t> inputs;  ///< the kernels whose results it takes
};

/// The kernels that make a variable: through views of their results.
class Makers {
 public:
  void add(const Binding& binding, std::optional<size_t> kernel) {
    std::vector<size_t>& made = makers_[binding.var.get()];
    if (kernel) {
      made = {*kernel};
    } else {
      made = of(binding.value);
    }
  }

  std::vector<size_t> of(const Expr& value) const {
    std::vector<size_t> found;
    for (const Var& used : used_vars(value)) {
      const auto made = makers_.find(used.get());
      if (made != makers_.end())
        found.insert(found.end(), made->second.begin(), made->second.end());
    }
    return found;
  }

 private:
  std::unordered_map<const void*, std::vector<size_t>> makers_;
};

}  // namespace

/// The group of a kernel of the lowered function, from the `next` one on: since fusion, some
/// kernels went to compile time, and packing weights added to the names of others.
const FusionGroup* Origins::group_of(const std::string& kernel, size_t& next) const {
  for (size_t i = next; i < groups_.size(); ++i) {
    const std::string& name = groups_[i].kernel;
    if (kernel != name && kernel.substr(0, kernel.rfind("_prepacked")) != name) continue;
    next = i + 1;
    return &groups_[i];
  }
  return nullptr;
}

/// The first step that follows one of `before` and is free.
std::optional<size_t> Origins::follower(const std::set<size_t>& before,
                                        const std::function<bool(size_t)>& is_free) const {
  std::optional<size_t> first;
  for (const size_t step : before) {
    for (const size_t consumer : steps_[step].consumers) {
      if (is_free(consumer) && (!first || consumer < *first)) first = consumer;
    }
  }
  return first;
}

Program Origins::program(const IRModule& lowered) const {
  std::vector<Place> places;
  Makers makers;
  std::set<size_t> placed;
  size_t next = 0;
  for (const Binding& binding : bindings_of(find_function(lowered, "main"))) {
    const bool is_kernel = operator_name(binding.value) == "relax.call_tir";
    if (is_kernel) {
      Place place{{}, {}, 0, makers.of(binding.value)};
      place.kernel.name = field<String>(args_of(binding.value)[0], "name_hint");
      place.kernel.bytes = bytes_of(binding.value);
      if (const FusionGroup* group = group_of(place.kernel.name, next)) {
        for (const std::string& name : group->members) {
          const auto step = step_of_name(name);
          if (step && *step < steps_.size()) {
            place.steps.insert(*step);
          } else {
            ++place.unnamed;
          }
        }
      }
      placed.insert(place.steps.begin(), place.steps.end());
      places.push_back(std::move(place));
    }
    makers.add(binding, is_kernel ? std::optional(places.size() - 1) : std::nullopt);
  }
  for (Place& place : places) {
    for (; place.unnamed > 0; --place.unnamed) {
      std::set<size_t> before = place.steps;
      for (const size_t input : place.inputs) {
        before.insert(places[input].steps.begin(), places[input].steps.end());
      }
      // Of those that came to the end of the passes.
      const auto step =
          follower(before, [&](size_t s) { return placed.count(s) == 0 && flops_.count(s) > 0; });
      if (!step) break;
      place.steps.insert(*step);
      placed.insert(*step);
    }
  }
  std::vector<std::set<size_t>> steps;
  for (const Place& place : places) steps.push_back(place.steps);
  Program program;
  program.operations = operations_;
  for (const auto& [step, kernel] : homes(steps)) places[kernel].steps.insert(step);
  for (Place& place : places) {
    std::set<uint32_t> operations;
    for (const size_t step : place.steps) {
      operations.insert(steps_[step].operation);
      const auto flops = flops_.find(step);
      if (flops != flops_.end()) place.kernel.flops += flops->second;
    }
    place.kernel.operations.assign(operations.begin(), operations.end());
  }
  // What only brings data into another layout is there for what uses it.
  for (size_t i = places.size(); i-- > 0;) {
    for (const size_t input : places[i].inputs) {
      if (places[input].kernel.operations.empty()) {
        places[input].kernel.operations = places[i].kernel.operations;
      }
    }
  }
  for (Place& place : places) program.kernels.push_back(std::move(place.kernel));
  return program;
}

/// The kernel that each step ended in: its own, or that of the nearest one after it, for steps that
/// passes merged into others.
std::map<size_t, size_t> Origins::homes(const std::vector<std::set<size_t>>& kernels) const {
  std::map<size_t, size_t> homes;
  for (size_t kernel = 0; kernel < kernels.size(); ++kernel) {
    for (const size_t step : kernels[kernel]) homes.try_emplace(step, kernel);
  }
  for (size_t i = steps_.size(); i-- > 0;) {
    if (steps_[i].weights_only || homes.count(i) > 0) continue;
    for (const size_t consumer : steps_[i].consumers) {
      const auto home = homes.find(consumer);
      if (home != homes.end()) homes.try_emplace(i, home->second);
    }
  }
  return homes;
}

}  // namespace nnef_tvm
