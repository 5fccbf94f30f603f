#include "compile/compile.h"

#include <fmt/format.h>

#include "compile/cpu_target.h"
#include "compile/device_target.h"
#include "compile/kernels/winograd.h"
#include "compile/passes/fold_affine.h"
#include "compile/passes/hoist_constants.h"
#include "compile/passes/layout.h"
#include "compile/passes/simplify.h"
#include "compile/pipeline.h"
#include "compile/schedule/cpu/schedule.h"
#include "compile/schedule/gpu/schedule.h"
#include "runtime/error_text.h"
#include "runtime/threads.h"
#include "runtime/vm.h"
#include "tvm/ir_module.h"
#include "tvm/target.h"

namespace nnef_tvm {

namespace {

void report_internal(const std::string& what, nnef::Diagnostics& diagnostics) {
  diagnostics
      .error("compile/internal", {}, fmt::format("TVM could not compile this model: {}", what))
      .help("this is a fault of tvm-nnef, not of the model: please report it with the model");
}

/// Runs a module made by split_transform() on this machine.
std::vector<ffi::Tensor> run_transform(const IRModule& scheduled,
                                       const std::vector<ffi::Tensor>& params) {
  ffi::Module executable = build_executable(scheduled, host_target_for_one_run());
  ffi::Module machine = nnef_runtime::start_vm(executable, nnef_runtime::VmAllocator::naive);
  nnef_runtime::configure_threads(0);
  Array<ffi::Tensor> bundle(params.begin(), params.end());
  auto made =
      nnef_runtime::module_function(machine, kTransformName)(bundle).cast<Array<ffi::Tensor>>();
  return {made.begin(), made.end()};
}

/// The names of main's parameters after its inputs and states.
std::vector<std::string> parameter_names(const IRModule& module, size_t inputs) {
  std::vector<std::string> names;
  for (const Var& param : field<Array<Var>>(find_function(module, "main"), "params")) {
    names.push_back(field<String>(param, "name"));
  }
  if (names.size() < inputs) {
    TVM_FFI_THROW(ValueError) << "function 'main' has " << names.size() << " parameters, but "
                              << inputs << " inputs and states were named";
  }
  names.erase(names.begin(), names.begin() + static_cast<ptrdiff_t>(inputs));
  return names;
}

/// A module of kernels and the values of main's parameters after the inputs.
struct Model {
  IRModule module;
  std::vector<ffi::Tensor> params;
};

/// The module with all its operators lowered; what depends on weights alone is computed.
Model lower(const IRModule& module, const std::vector<ffi::Tensor>& params, const Target& target,
            WinogradUse winograd, nnef::Diagnostics& diagnostics) {
  const IRModule lean = fold_affine(simplify(tidy(module)));
  SplitModel split = split_transform(simplify(tidy(convert_layout(lean, target))));
  IRModule main = split.main;
  if (!is_device_target(target)) main = use_winograd(main, "main", cpu_traits(target), winograd);
  main = lower_operators(main, "main", diagnostics);
  if (diagnostics.has_errors()) return {};
  Model model;
  if (!params.empty()) {
    IRModule transform = lower_operators(split.transform, kTransformName, diagnostics);
    if (diagnostics.has_errors()) return {};
    model.params = run_transform(schedule_cpu(transform, host_target_for_one_run()), params);
  }
  HoistedConstants constants = hoist_constants(main, "main");
  model.module = constants.module;
  model.params.insert(model.params.end(), constants.values.begin(), constants.values.end());
  return model;
}

/// The module with its kernels scheduled and its weights laid out for them.
Model schedule(const Model& model, const Target& target) {
  if (is_device_target(target)) return {schedule_gpu(model.module, target), model.params};
  IRModule scheduled = schedule_cpu(model.module, target, WeightLayout::kPack);
  if (model.params.empty()) return {scheduled, {}};
  SplitModel split = split_transform(scheduled);
  return {split.main, run_transform(split.transform, model.params)};
}

/// What the result says of main's arguments and results.
struct Interface {
  std::vector<nnef_runtime::TensorSpec> inputs;
  std::vector<nnef_runtime::TensorSpec> outputs;
  std::vector<nnef_runtime::StateSpec> states;
};

/// The processor that runs the code which is not in kernels.
Target host_of(const Target& target) {
  return is_device_target(target) ? host_target_for_one_run() : target;
}

std::string device_name(const ChosenTarget& chosen) {
  if (chosen.device) return fmt::format("{}:{}", chosen.device->kind, chosen.device->index);
  return is_device_target(chosen.target) ? target_kind(chosen.target) : "";
}

std::optional<Compiled> compile_for(const ChosenTarget& chosen, WinogradUse winograd,
                                    const IRModule& module, const std::vector<ffi::Tensor>& params,
                                    Interface interface, nnef::Diagnostics& diagnostics) {
  const Target& target = chosen.target;
  TargetScope scope(target);
  Model lowered = lower(module, params, target, winograd, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  if (chosen.device && !check_item_types(lowered.module, *chosen.device, diagnostics)) {
    return std::nullopt;
  }
  Model ready = schedule(lowered, target);
  auto names = parameter_names(ready.module, interface.inputs.size() + interface.states.size());
  if (ready.params.size() != names.size()) {
    TVM_FFI_THROW(ValueError) << "function 'main' needs " << names.size() << " weights, "
                              << ready.params.size() << " are there";
  }
  return Compiled{.executable = build_executable(ready.module, target),
                  .parameters = std::move(ready.params),
                  .parameter_names = std::move(names),
                  .inputs = std::move(interface.inputs),
                  .outputs = std::move(interface.outputs),
                  .states = std::move(interface.states),
                  .target_json = target_json(target),
                  .device = device_name(chosen),
                  .cpu_features = required_features(host_of(target))};
}

}  // namespace

std::optional<Compiled> compile(IRModule module, std::vector<ffi::Tensor> params,
                                std::vector<nnef_runtime::TensorSpec> inputs,
                                std::vector<nnef_runtime::TensorSpec> outputs,
                                const CompileOptions& options, nnef::Diagnostics& diagnostics,
                                std::vector<nnef_runtime::StateSpec> states) {
  if (!load_compiler(diagnostics)) return std::nullopt;
  try {
    auto target = choose_any_target(options.target, diagnostics);
    if (!target) return std::nullopt;
    return compile_for(*target, options.winograd, module, params,
                       {std::move(inputs), std::move(outputs), std::move(states)}, diagnostics);
  } catch (const ffi::Error& error) {
    report_internal(nnef_runtime::first_line(error), diagnostics);
  } catch (const std::exception& error) {
    report_internal(error.what(), diagnostics);
  }
  return std::nullopt;
}

}  // namespace nnef_tvm
