// TVM's virtual machine over an executable.
#pragma once

#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>

namespace nnef_runtime {

/// How the machine gets its memory (TVM's memory::AllocatorType).
enum class VmAllocator : int {
  naive = 1,   ///< from the system, and back to it
  pooled = 2,  ///< kept for later runs
};

/// A machine whose kernels run on a device; the rest of it always runs on the CPU. Needs
/// libtvm_runtime and the device's plug-in. Throws tvm::ffi::Error.
::tvm::ffi::Module start_vm(const ::tvm::ffi::Module& executable, VmAllocator allocator,
                            DLDevice device = {kDLCPU, 0});

/// A function of a module that must be there. Throws tvm::ffi::Error.
::tvm::ffi::Function module_function(const ::tvm::ffi::Module& module, const char* name);

}  // namespace nnef_runtime
