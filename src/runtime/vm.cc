#include "runtime/vm.h"

namespace nnef_runtime {

namespace ffi = ::tvm::ffi;

ffi::Function module_function(const ffi::Module& module, const char* name) {
  ffi::Optional<ffi::Function> function = module->GetFunction(name);
  if (!function.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "the compiled module has no function '" << name << "'";
  }
  return *function;
}

ffi::Module start_vm(const ffi::Module& executable, VmAllocator allocator) {
  auto machine = module_function(executable, "vm_load_executable")().cast<ffi::Module>();
  module_function(machine, "vm_initialization")(static_cast<int>(kDLCPU), 0,
                                                static_cast<int>(allocator));
  return machine;
}

}  // namespace nnef_runtime
