// The stages between a frontend's Relax module and an executable, in order. Each throws
// tvm::ffi::Error.
#pragma once

#include <string>
#include <vector>

#include "compile/fusion_groups.h"
#include "compile/schedule/cpu/schedule.h"
#include "nnef/diagnostic.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// Composite operators taken apart, bindings in dataflow blocks, common and dead code gone.
IRModule tidy(const IRModule& module);

/// A module and the values of main's parameters after the inputs.
struct Model {
  IRModule module;
  std::vector<ffi::Tensor> params;
};

/// A model in two modules: what depends on its parameters alone, and the rest.
struct SplitModel {
  IRModule main;       ///< function "main": the inputs, then the values that `transform` makes
  IRModule transform;  ///< function kTransformName: a tuple of the parameters to a tuple of values
};
inline constexpr const char* kTransformName = "main_transform_params";

/// Parameters that nothing needs are gone from the split model; those that it only passes on are
/// not copied.
SplitModel split_transform(const IRModule& module);

/// Operators to loops: every Relax operator becomes a call of a PrimFunc, constants are folded,
/// calls are fused, those along rows as suits the CPU. Reports operators that no kernel was found
/// for ("compile/unsupported"). Says which calls were fused when `groups` is given.
IRModule lower_operators(const IRModule& module, const std::string& entry, const CpuTraits& traits,
                         nnef::Diagnostics& diagnostics,
                         std::vector<FusionGroup>* groups = nullptr);

/// Memory planning, machine code, bytecode, for kernels that are scheduled.
ffi::Module build_executable(const IRModule& scheduled, const Target& target);

/// The same but for the bytecode: Relax functions alone, from which TVM's own build makes it. The
/// machine code of the kernels that they call is in the module's attribute external_mods.
IRModule with_machine_code(const IRModule& scheduled, const Target& target);

}  // namespace nnef_tvm
