// From lowered modules to machine code: TIR to an LLVM module, Relax to a VM executable.
#pragma once

#include <string>
#include <vector>

#include "tvm/ir_module.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// Lowers and compiles every PrimFunc of the module for a CPU.
ffi::Module build_tir(const IRModule& prim_funcs, const Target& target);

/// Functions for a device: the kernels, and what calls them on the host.
struct DeviceCode {
  IRModule host;
  IRModule kernels;
  std::vector<NamedFunction> plans;  ///< what the host does, as host_plan() (launches.h) reads it
};
/// Lowers every PrimFunc of the module, whose loops are bound to threads, for a target with a host.
DeviceCode lower_for_device(const IRModule& prim_funcs, const Target& target);
/// Machine code for the host's half.
ffi::Module build_host(const IRModule& host, const Target& target);
/// TVM's own code for the kernels, which its module carries but may be unable to run.
ffi::Module build_kernels(const IRModule& kernels, const Target& target);

/// Gives TVM's constant folding its builder of functions, unless there is one (in a Python process
/// that imported tvm).
void register_tir_builder();

/// An executable under construction.
class ExecutableBuilder {
 public:
  ExecutableBuilder();
  /// Turns the Relax functions into bytecode; returns the PrimFuncs that they call.
  IRModule generate(const IRModule& lowered);
  /// `kernels` hold the code of those PrimFuncs.
  ffi::Module link(const Target& target, const std::vector<ffi::Module>& kernels);

 private:
  ObjectRef builder_;
};

/// The executable itself (bytecode, constants), as a module that can be written as an object file.
ffi::Module pack_imports(const ffi::Module& executable, const Target& target);

}  // namespace nnef_tvm
