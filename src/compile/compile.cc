#include "compile/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compile/cpu_target.h"
#include "compile/cuda.h"
#include "compile/device_target.h"
#include "compile/kernels/winograd.h"
#include "compile/origins.h"
#include "compile/passes/bind_numbers.h"
#include "compile/passes/fold_affine.h"
#include "compile/passes/fold_constants.h"
#include "compile/passes/hoist_constants.h"
#include "compile/passes/layout.h"
#include "compile/passes/raise_extremes.h"
#include "compile/passes/refine_types.h"
#include "compile/passes/simplify.h"
#include "compile/pipeline.h"
#include "compile/schedule/cpu/schedule.h"
#include "compile/schedule/gpu/schedule.h"
#include "runtime/cpu_features.h"
#include "runtime/error_text.h"
#include "runtime/threads.h"
#include "runtime/vm.h"
#include "tvm/ir_module.h"
#include "tvm/target.h"
#include "tvm/transform.h"

namespace nnef_tvm {

namespace {

void report_internal(const std::string& what, nnef::Diagnostics& diagnostics) {
  diagnostics
      .error("compile/internal", {}, fmt::format("TVM could not compile this model: {}", what))
      .help("this is a fault of tvm-nnef, not of the model: please report it with the model");
}

/// The kind of errors of code generation that are the device's, not ours.
constexpr const char* kDeviceLimit = "DeviceLimit";

void report_limit(const std::string& what, const std::string& target,
                  nnef::Diagnostics& diagnostics) {
  diagnostics
      .error("compile/device-code", {},
             fmt::format("no kernels for '{}' can do this: {}", target, what))
      .help("choose another kind of device ('nnefc devices' lists them), or --target llvm");
}

/// The processor that runs the code which is not in kernels.
Target host_of(const Target& target) {
  return is_device_target(target) ? host_target_for_one_run() : target;
}

/// A machine of this process for a scheduled module that runs once.
ffi::Module machine_for(const IRModule& scheduled) {
  ffi::Module executable = build_executable(scheduled, host_target_for_one_run());
  nnef_runtime::configure_threads(0);
  return nnef_runtime::start_vm(executable, nnef_runtime::VmAllocator::naive);
}

/// Runs a module made by split_transform() on this machine.
std::vector<ffi::Tensor> run_transform(const IRModule& scheduled,
                                       const std::vector<ffi::Tensor>& params) {
  Array<ffi::Tensor> bundle(params.begin(), params.end());
  auto made = nnef_runtime::module_function(machine_for(scheduled), kTransformName)(bundle)
                  .cast<Array<ffi::Tensor>>();
  return {made.begin(), made.end()};
}

/// What depends on small constants alone, computed on this machine.
IRModule compute_constants(const IRModule& module, nnef::Diagnostics& diagnostics) {
  const SmallConstants constants = small_constants(module);
  if (constants.vars.empty()) return module;
  const IRModule lowered = lower_operators(constants.module, kConstantsName,
                                           cpu_traits(host_target_for_one_run()), diagnostics);
  if (diagnostics.has_errors()) return module;
  const IRModule scheduled = schedule_cpu(lowered, host_target_for_one_run());
  auto made = nnef_runtime::module_function(machine_for(scheduled), kConstantsName)()
                  .cast<Array<ffi::Tensor>>();
  return with_constants(module, constants.vars, {made.begin(), made.end()});
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

/// Frontends write weights as parameters or as constants, and the same thing in several ways. From
/// here on, single numbers are constants and everything larger is a parameter.
Model canonical(const IRModule& module, const std::vector<ffi::Tensor>& params,
                nnef::Diagnostics& diagnostics) {
  Model model = bind_numbers(module, "main", params);
  model.module = simplify(raise_extremes(tidy(model.module)));
  model.module = simplify(compute_constants(model.module, diagnostics));
  // Shapes that become known make more of the arithmetic on shapes computable.
  for (size_t unknown = count_unknown_shapes(model.module), last = 0; unknown != last;) {
    if (diagnostics.has_errors()) return {};
    model.module = simplify(refine_types(model.module));
    model.module = simplify(compute_constants(model.module, diagnostics));
    last = std::exchange(unknown, count_unknown_shapes(model.module));
  }
  model.module = fold_affine(model.module);
  const HoistedConstants constants = hoist_constants(model.module, "main", Hoist::kArrays);
  model.module = constants.module;
  model.params.insert(model.params.end(), constants.values.begin(), constants.values.end());
  return model;
}

/// The module with all its operators lowered; what depends on weights alone is computed.
Model lower(Origins& origins, const std::vector<ffi::Tensor>& params, const Target& target,
            WinogradUse winograd, Tuner& tuner, nnef::Diagnostics& diagnostics) {
  const Model lean = canonical(origins.module(), params, diagnostics);
  if (diagnostics.has_errors()) return {};
  SplitModel split = split_transform(simplify(tidy(convert_layout(lean.module, target))));
  origins.count_work(split.main);
  const bool on_device = is_device_target(target);
  const CpuTraits traits = cpu_traits(host_of(target));
  WinogradPlans plans;
  if (winograd == WinogradUse::kWherePays && !on_device)
    plans = tuner.plan_convolutions(split.main);
  IRModule main = split.main;
  if (!on_device) {
    main = use_winograd(main, "main", winograd_choice(traits, winograd, std::move(plans)));
  }
  main = lower_operators(main, "main", traits, diagnostics, &origins.groups());
  if (diagnostics.has_errors()) return {};
  Model model;
  if (!lean.params.empty()) {
    IRModule transform = lower_operators(split.transform, kTransformName, traits, diagnostics);
    if (diagnostics.has_errors()) return {};
    model.params = run_transform(schedule_cpu(transform, host_target_for_one_run()), lean.params);
  }
  HoistedConstants constants = hoist_constants(main, "main");
  model.module = constants.module;
  model.params.insert(model.params.end(), constants.values.begin(), constants.values.end());
  return model;
}

/// The module with its weights as its kernels want them, which the schedule has put into kernels of
/// their own.
Model with_weights_laid_out(const IRModule& scheduled, const std::vector<ffi::Tensor>& params) {
  if (params.empty()) return {scheduled, {}};
  SplitModel split = split_transform(scheduled);
  return {split.main, run_transform(split.transform, params)};
}

/// The module with its kernels scheduled and its weights laid out for them.
Model schedule(const Model& model, const ChosenTarget& chosen, Tuner& tuner) {
  const Target& target = chosen.target;
  if (is_device_target(target)) {
    return with_weights_laid_out(
        schedule_gpu(model.module, target, gpu_traits(target, chosen.device)), model.params);
  }
  return with_weights_laid_out(
      schedule_cpu(model.module, target, WeightLayout::kPack, tuner.plan_kernels(model.module)),
      model.params);
}

/// What the result says of main's arguments and results.
struct Interface {
  std::vector<nnef_runtime::TensorSpec> inputs;
  std::vector<nnef_runtime::TensorSpec> outputs;
  std::vector<nnef_runtime::StateSpec> states;
};

std::string device_name(const ChosenTarget& chosen) {
  if (chosen.device) return fmt::format("{}:{}", chosen.device->kind, chosen.device->index);
  return is_device_target(chosen.target) ? target_kind(chosen.target) : "";
}

/// Whether code for the target can be measured here; reports "tuning/target".
bool can_measure(const Target& target, nnef::Diagnostics& diagnostics) {
  if (is_device_target(target)) {
    diagnostics
        .error("tuning/target", {},
               fmt::format("kernels for '{}' are not tuned: only those for CPUs are",
                           target_kind(target)))
        .help("leave --tune out, or compile for llvm");
    return false;
  }
  std::vector<std::string> missing = required_features(target);
  std::erase_if(missing,
                [](const std::string& name) { return nnef_runtime::has_cpu_feature(name); });
  if (missing.empty()) return true;
  diagnostics
      .error("tuning/target", {},
             fmt::format("kernels for a CPU with {} cannot be measured on this one, which lacks it",
                         fmt::join(missing, ", ")))
      .help("tune on such a CPU; a database from there can be used here by --tuning FILE");
  return false;
}

/// Loops keep their results in the host's memory; reports "compile/device-loop".
bool check_loops(const IRModule& module, const Target& target, nnef::Diagnostics& diagnostics) {
  const std::vector<NamedFunction> functions = functions_of(module);
  const auto loops = std::count_if(functions.begin(), functions.end(), [](const auto& item) {
    return is_relax_function(item.function) && item.name != "main";
  });
  if (loops == 0 || !is_device_target(target)) return true;
  diagnostics
      .error("compile/device-loop", {},
             fmt::format("a scan over an extent with symbols does not run on '{}'",
                         target_kind(target)))
      .help("give the shapes of inputs (--shape NAME=1,128), or compile for llvm");
  return false;
}

std::optional<Model> lowered_for(const ChosenTarget& chosen, const CompileOptions& options,
                                 const std::vector<ffi::Tensor>& params, Origins& origins,
                                 Tuner& tuner, nnef::Diagnostics& diagnostics) {
  if (options.tuning.seconds > 0 && !can_measure(chosen.target, diagnostics)) return std::nullopt;
  Model lowered = lower(origins, params, chosen.target, options.winograd, tuner, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  if (chosen.device && !check_item_types(lowered.module, *chosen.device, diagnostics)) {
    return std::nullopt;
  }
  return lowered;
}

std::optional<Compiled> compile_for(const ChosenTarget& chosen, const CompileOptions& options,
                                    const IRModule& module, const std::vector<ffi::Tensor>& params,
                                    Interface interface, nnef::Diagnostics& diagnostics) {
  const Target& target = chosen.target;
  TargetScope scope(target);
  if (!check_loops(module, target, diagnostics)) return std::nullopt;
  Tuner tuner(options.tuning, host_of(target), diagnostics);
  Origins origins(module, options.sources);
  const auto lowered = lowered_for(chosen, options, params, origins, tuner, diagnostics);
  if (!lowered) return std::nullopt;
  Model ready = schedule(*lowered, chosen, tuner);
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
                  .conditions = options.conditions,
                  .states = std::move(interface.states),
                  .target_json = target_json(target),
                  .device = device_name(chosen),
                  .cpu_features = required_features(host_of(target)),
                  .tuning = tuner.summary(),
                  .program = origins.program(ready.module)};
}

/// The module with its weights, the last parameters of "main", as constants.
IRModule with_weights(const Model& model) {
  if (model.params.empty()) return model.module;
  const auto vars = field<Array<Var>>(find_function(model.module, "main"), "params");
  const size_t inputs = vars.size() - model.params.size();
  Map<Var, ffi::Tensor> weights;
  for (size_t i = 0; i < model.params.size(); ++i) {
    weights.Set(vars[static_cast<int64_t>(inputs + i)], model.params[i]);
  }
  return run_pass(relax_pass::bind_params("main", weights), model.module);
}

/// Runs a step that TVM may fail in; what it says becomes a diagnostic.
template <typename Step>
auto guarded(const std::string& target, nnef::Diagnostics& diagnostics, const Step& step)
    -> decltype(step()) {
  try {
    return step();
  } catch (const ffi::Error& error) {
    if (error.kind() == kDeviceLimit) {
      report_limit(error.message(), target, diagnostics);
    } else {
      report_internal(nnef_runtime::first_line(error), diagnostics);
    }
  } catch (const std::exception& error) {
    report_internal(error.what(), diagnostics);
  }
  return std::nullopt;
}

/// A device as they commonly are, in TVM's words.
Target common_device() {
  return make_target({{"kind", String("vulkan")},
                      {"max_num_threads", int64_t{256}},
                      {"thread_warp_size", int64_t{32}},
                      {"max_shared_memory_per_block", int64_t{16 << 10}}});
}

std::optional<EmittedProgram> emit_for(const Target& target, const CompileOptions& options,
                                       const IRModule& module,
                                       const std::vector<ffi::Tensor>& params,
                                       const std::vector<nnef_runtime::TensorSpec>& inputs,
                                       const std::vector<nnef_runtime::TensorSpec>& outputs,
                                       nnef::Diagnostics& diagnostics) {
  TargetScope scope(target);
  Tuner tuner({}, host_of(target), diagnostics);
  Origins origins(module, options.sources);
  const Model lowered = lower(origins, params, target, WinogradUse::kNever, tuner, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  const Model ready = with_weights_laid_out(
      schedule_gpu(lowered.module, target, portable(gpu_traits(target, std::nullopt))),
      lowered.params);
  return emit(ready.module, inputs, outputs, ready.params, diagnostics);
}

/// A target that machine code can be made for here.
std::optional<ChosenTarget> choose_for_machine_code(const std::string& text,
                                                    nnef::Diagnostics& diagnostics) {
  auto target = choose_any_target(text, diagnostics);
  const bool needs_nvcc = target && target_kind(target->target) == "cuda";
  if (needs_nvcc && !cuda::check_toolkit(diagnostics)) return std::nullopt;
  return target;
}

}  // namespace

std::optional<Compiled> compile(IRModule module, std::vector<ffi::Tensor> params,
                                std::vector<nnef_runtime::TensorSpec> inputs,
                                std::vector<nnef_runtime::TensorSpec> outputs,
                                const CompileOptions& options, nnef::Diagnostics& diagnostics,
                                std::vector<nnef_runtime::StateSpec> states) {
  if (!load_compiler(diagnostics)) return std::nullopt;
  return guarded(options.target, diagnostics, [&]() -> std::optional<Compiled> {
    const auto target = choose_for_machine_code(options.target, diagnostics);
    if (!target) return std::nullopt;
    return compile_for(*target, options, module, params,
                       {std::move(inputs), std::move(outputs), std::move(states)}, diagnostics);
  });
}

std::optional<EmittedProgram> compile_to_kernels(IRModule module, std::vector<ffi::Tensor> params,
                                                 std::vector<nnef_runtime::TensorSpec> inputs,
                                                 std::vector<nnef_runtime::TensorSpec> outputs,
                                                 const CompileOptions& options,
                                                 nnef::Diagnostics& diagnostics) {
  if (!load_compiler(diagnostics)) return std::nullopt;
  return guarded(options.target, diagnostics, [&]() -> std::optional<EmittedProgram> {
    const auto chosen = choose_any_target(options.target, diagnostics);
    if (!chosen) return std::nullopt;
    const Target target = is_device_target(chosen->target) ? chosen->target : common_device();
    return emit_for(target, options, module, params, inputs, outputs, diagnostics);
  });
}

std::optional<IRModule> lower_within(const IRModule& module, const std::vector<ffi::Tensor>& params,
                                     const CompileOptions& options,
                                     nnef::Diagnostics& diagnostics) {
  return guarded(options.target, diagnostics, [&]() -> std::optional<IRModule> {
    const auto chosen = choose_any_target(options.target, diagnostics);
    if (!chosen) return std::nullopt;
    TargetScope scope(chosen->target);
    Tuner tuner(options.tuning, host_of(chosen->target), diagnostics);
    Origins origins(module, {});
    const auto lowered = lowered_for(*chosen, options, params, origins, tuner, diagnostics);
    if (!lowered) return std::nullopt;
    return with_weights(*lowered);
  });
}

std::optional<IRModule> build_within(const IRModule& kernels, const CompileOptions& options,
                                     nnef::Diagnostics& diagnostics) {
  return guarded(options.target, diagnostics, [&]() -> std::optional<IRModule> {
    const auto chosen = choose_for_machine_code(options.target, diagnostics);
    if (!chosen) return std::nullopt;
    TargetScope scope(chosen->target);
    Tuner tuner(options.tuning, host_of(chosen->target), diagnostics);
    HoistedConstants weights = hoist_constants(kernels, "main");
    const Model model{weights.module, std::move(weights.values)};
    return with_machine_code(with_weights(schedule(model, *chosen, tuner)), chosen->target);
  });
}

}  // namespace nnef_tvm
