#include "compile/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "compile/cpu_target.h"
#include "compile/device_code.h"
#include "compile/device_target.h"
#include "compile/kernels/device_functions.h"
#include "compile/kernels/kernels.h"
#include "compile/kernels/transcendental.h"
#include "compile/passes/group_rows.h"
#include "compile/passes/hold_outputs.h"
#include "runtime/parallel.h"
#include "runtime/threads.h"
#include "tvm/build.h"
#include "tvm/ir_module.h"
#include "tvm/target.h"
#include "tvm/transform.h"

namespace nnef_tvm {

namespace {

IRModule run_passes(IRModule module, const std::vector<Pass>& passes) {
  for (const Pass& pass : passes) module = run_pass(pass, module);
  return module;
}

/// The module of one Relax function; with main are the loops that it hands to the runtime.
IRModule only(const IRModule& module, const std::string& entry) {
  std::vector<NamedFunction> kept = functions_of(module);
  std::erase_if(kept, [&](const NamedFunction& item) {
    if (!is_relax_function(item.function) || item.name == entry) return false;
    return entry == kTransformName || item.name == kTransformName || item.name == "main";
  });
  return run_pass(relax_pass::dead_code_elimination({entry}), make_module(kept));
}

// Operators that stay in lowered Relax: calls of kernels, and what the virtual machine does itself.
constexpr std::array<std::string_view, 4> kRuntimeFamilies = {"relax.call_", "relax.builtin.",
                                                              "relax.memory.", "relax.vm."};
constexpr std::array<std::string_view, 6> kRuntimeOps = {
    "relax.reshape",         "relax.shape_of",       "relax.tensor_to_shape",
    "relax.shape_to_tensor", "relax.invoke_closure", "relax.null_value"};

bool is_runtime_op(std::string_view op) {
  return std::any_of(kRuntimeFamilies.begin(), kRuntimeFamilies.end(),
                     [&](std::string_view family) { return op.starts_with(family); }) ||
         std::find(kRuntimeOps.begin(), kRuntimeOps.end(), op) != kRuntimeOps.end();
}

void report_unsupported(const IRModule& module, const std::string& entry,
                        nnef::Diagnostics& diagnostics) {
  std::map<std::string, int> leftover;
  for (const NamedFunction& item : functions_of(module)) {
    if (!is_relax_function(item.function)) continue;
    if (item.name != entry && (item.name == "main" || item.name == kTransformName)) continue;
    for (const std::string& op : called_operators(item.function)) {
      if (!is_runtime_op(op)) ++leftover[op];
    }
  }
  for (const auto& [op, count] : leftover) {
    diagnostics.error("compile/unsupported", {},
                      fmt::format("no kernel for the Relax operator '{}' ({} {})", op, count,
                                  count == 1 ? "call" : "calls"));
  }
}

}  // namespace

IRModule tidy(const IRModule& module) {
  return run_passes(module, {
                                relax_pass::convert_to_dataflow(1),
                                relax_pass::decompose_ops_for_inference(),
                                relax_pass::canonicalize_bindings(),
                                relax_pass::eliminate_common_subexpr(),
                                relax_pass::dead_code_elimination({"main"}),
                            });
}

SplitModel split_transform(const IRModule& module) {
  IRModule lifted = run_pass(relax_pass::lift_transform_params(), hold_outputs(module, "main"));
  return {only(lifted, "main"), only(lifted, kTransformName)};
}

IRModule lower_operators(const IRModule& module, const std::string& entry, const CpuTraits& traits,
                         nnef::Diagnostics& diagnostics, std::vector<FusionGroup>* groups) {
  register_tir_builder();
  register_transcendentals();
  register_device_functions();
  IRModule legal = run_pass(relax_pass::legalize_ops(legalisation_map()), module);
  report_unsupported(legal, entry, diagnostics);
  if (diagnostics.has_errors()) return legal;
  // Reshapes become views before fusion, which would make copies with divisions in their indices of
  // them.
  const IRModule kernels = run_passes(legal, {
                                                 relax_pass::fold_constant(),
                                                 relax_pass::rewrite_dataflow_reshape(),
                                                 relax_pass::annotate_tir_op_pattern(),
                                             });
  const IRModule fused = run_pass(relax_pass::fuse_ops(), group_rows(kernels, entry, traits));
  if (groups != nullptr) *groups = fusion_groups(kernels, fused, entry);
  return run_passes(fused, {relax_pass::fuse_tir(), relax_pass::dead_code_elimination({entry})});
}

namespace {

IRModule lower_to_bytecode_form(const IRModule& module) {
  return run_passes(module, {
                                relax_pass::to_non_dataflow(),
                                relax_pass::remove_purity_checking(),
                                relax_pass::call_tir_rewrite(),
                                relax_pass::static_plan_block_memory(),
                                relax_pass::lower_alloc_tensor(),
                                relax_pass::kill_after_last_use(),
                                relax_pass::lower_runtime_builtin(),
                                relax_pass::compute_prim_value(),
                                relax_pass::vm_shape_lower(),
                                relax_pass::attach_global_symbol(),
                            });
}

// LLVM's code generation is most of the time to compile. It has no state that threads share, and a
// module of its own costs a few milliseconds; several for each thread even out the work.
constexpr size_t kModulesPerThread = 4;

std::vector<std::vector<NamedFunction>> in_groups(const std::vector<NamedFunction>& kernels) {
  const size_t threads = static_cast<size_t>(nnef_runtime::physical_cores());
  std::vector<std::vector<NamedFunction>> groups(
      std::min(kernels.size(), threads * kModulesPerThread));
  for (size_t i = 0; i < kernels.size(); ++i) groups[i % groups.size()].push_back(kernels[i]);
  return groups;
}

template <typename Work>
void for_groups(size_t count, const Work& work) {
  nnef_runtime::parallel_for(count, static_cast<size_t>(nnef_runtime::physical_cores()), work);
}

std::vector<ffi::Module> build_cpu_kernels(const std::vector<NamedFunction>& kernels,
                                           const Target& target) {
  const std::vector<std::vector<NamedFunction>> groups = in_groups(kernels);
  std::vector<ffi::Optional<ffi::Module>> built(groups.size());
  for_groups(groups.size(),
             [&](size_t i) { built[i] = build_tir(make_module(groups[i]), target); });
  std::vector<ffi::Module> modules;
  for (const auto& module : built) modules.push_back(*module);
  return modules;
}

/// Modules of the host's code, all of which import one module with all kernels.
std::vector<ffi::Module> build_device_kernels(const std::vector<NamedFunction>& functions,
                                              const Target& target) {
  const Target host = host_target_for_one_run();
  const Target hosted = with_host(lowering_target(target), host);
  const std::vector<std::vector<NamedFunction>> groups = in_groups(functions);
  std::vector<DeviceCode> code(groups.size());
  std::vector<ffi::Optional<ffi::Module>> built(groups.size());
  for_groups(groups.size(), [&](size_t i) {
    code[i] = lower_for_device(make_module(groups[i]), hosted);
    built[i] = build_host(code[i].host, host);
  });
  std::vector<NamedFunction> kernels;
  for (const DeviceCode& item : code) {
    for (const NamedFunction& kernel : functions_of(item.kernels)) kernels.push_back(kernel);
  }
  std::vector<ffi::Module> modules;
  for (const auto& module : built) modules.push_back(*module);
  if (kernels.empty()) return modules;
  const ffi::Module device = build_device_code(make_module(kernels), target);
  for (const ffi::Module& module : modules) module->ImportModule(device);
  return modules;
}

std::vector<ffi::Module> build_kernels_of(std::vector<NamedFunction> functions,
                                          const Target& target) {
  std::erase_if(functions, [](const NamedFunction& item) { return !is_prim_func(item.function); });
  return is_device_target(target) ? build_device_kernels(functions, target)
                                  : build_cpu_kernels(functions, target);
}

}  // namespace

ffi::Module build_executable(const IRModule& scheduled, const Target& target) {
  TargetScope scope(target);
  IRModule module = lower_to_bytecode_form(scheduled);
  ExecutableBuilder builder;
  return builder.link(target, build_kernels_of(functions_of(builder.generate(module)), target));
}

IRModule with_machine_code(const IRModule& scheduled, const Target& target) {
  TargetScope scope(target);
  std::vector<NamedFunction> functions = functions_of(lower_to_bytecode_form(scheduled));
  const std::vector<ffi::Module> kernels = build_kernels_of(functions, target);
  for (NamedFunction& item : functions) {
    if (is_prim_func(item.function)) item.function = extern_function(item.name);
  }
  return with_module_attr(make_module(functions), "external_mods",
                          Array<ffi::Module>(kernels.begin(), kernels.end()));
}

}  // namespace nnef_tvm
