// Relax to machine code: passes, legalisation, schedules, build. Knows no NNEF: any Relax module
// will do.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/emit.h"
#include "compile/schedule/cpu/schedule.h"
#include "compile/tune/tuner.h"
#include "nnef_runtime/session.h"
#include "tvm/object.h"

namespace nnef_tvm {

struct CompileOptions {
  /// llvm (this machine's CPU), a device of this machine ("opencl", "opencl:1", "opencl:NAME"), or
  /// TVM's JSON target
  std::string target = "llvm";
  WinogradUse winograd = WinogradUse::kWherePays;
  TuningOptions tuning = {};  ///< by default no database, and no measurements
  /// What the module takes for granted of its inputs' symbols: sessions check it.
  std::vector<nnef_runtime::ShapeCondition> conditions = {};
  /// Where main's variables come from, by their names, as profiles are to say it.
  std::map<std::string, nnef_runtime::OperationSpec> sources = {};
};

/// The result: an executable whose "main" takes the inputs, the states and then `parameters`
/// (already packed for the kernels), and returns the outputs and the new states.
struct Compiled {
  ffi::Module executable;
  std::vector<ffi::Tensor> parameters;
  std::vector<std::string> parameter_names;  ///< of the Relax variables
  std::vector<nnef_runtime::TensorSpec> inputs;
  std::vector<nnef_runtime::TensorSpec> outputs;
  std::vector<nnef_runtime::ShapeCondition> conditions;
  std::vector<nnef_runtime::StateSpec> states;
  std::string target_json;
  std::string device;  ///< that the code was compiled for, as "opencl:0"; empty for the CPU
  std::vector<std::string>
      cpu_features;  ///< features that the code uses, by GCC's names ("avx512f")
  TuningSummary tuning = {};
  nnef_runtime::Program program;  ///< what a run does
};

/// `module` has a function "main" that takes inputs, states and parameters, with attribute
/// num_input = number of inputs and states; `params` are the values of the parameters. What depends
/// on parameters alone is computed now (constant folding of whole weight chains). `inputs`,
/// `outputs` and `states` describe the interface. Reports "compile/..." diagnostics.
std::optional<Compiled> compile(IRModule module, std::vector<ffi::Tensor> params,
                                std::vector<nnef_runtime::TensorSpec> inputs,
                                std::vector<nnef_runtime::TensorSpec> outputs,
                                const CompileOptions& options, nnef::Diagnostics& diagnostics,
                                std::vector<nnef_runtime::StateSpec> states = {});

/// The same for TVM's own build (tvm.compile), in two steps, so that other tuners can schedule
/// kernels between them. First a module of kernels, with what `params` are for as constants; ...
std::optional<IRModule> lower_within(const IRModule& module, const std::vector<ffi::Tensor>& params,
                                     const CompileOptions& options, nnef::Diagnostics& diagnostics);
/// ... then Relax functions alone, for bytecode to be made of, after the other kernels are
/// scheduled as well. Their machine code is in the module's attribute external_mods.
std::optional<IRModule> build_within(const IRModule& kernels, const CompileOptions& options,
                                     nnef::Diagnostics& diagnostics);

/// The same module's kernels in every language (emit.h), with schedules that all of them can say:
/// for `options.target` if it is a device, else for devices as they commonly are. Needs no device.
std::optional<EmittedProgram> compile_to_kernels(IRModule module, std::vector<ffi::Tensor> params,
                                                 std::vector<nnef_runtime::TensorSpec> inputs,
                                                 std::vector<nnef_runtime::TensorSpec> outputs,
                                                 const CompileOptions& options,
                                                 nnef::Diagnostics& diagnostics);

/// Writes the artefact (src/runtime/artefact_format.h) by way of a temporary file beside it, so
/// that nothing partial is left behind.
bool write_artefact(const Compiled& compiled, const std::string& path,
                    nnef::Diagnostics& diagnostics);

}  // namespace nnef_tvm
