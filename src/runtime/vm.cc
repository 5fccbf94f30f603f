#include "runtime/vm.h"

#include "runtime/loop.h"

namespace nnef_runtime {

namespace ffi = ::tvm::ffi;

ffi::Function module_function(const ffi::Module& module, const char* name) {
  ffi::Optional<ffi::Function> function = module->GetFunction(name);
  if (!function.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "the compiled module has no function '" << name << "'";
  }
  return *function;
}

ffi::Module start_vm(const ffi::Module& executable, VmAllocator allocator, DLDevice device) {
  register_loop();
  auto machine = module_function(executable, "vm_load_executable")().cast<ffi::Module>();
  const ffi::Function initialise = module_function(machine, "vm_initialization");
  const int cpu = kDLCPU;
  const int memory = static_cast<int>(allocator);
  if (device.device_type == kDLCPU) {
    initialise(cpu, 0, memory);
  } else {
    initialise(static_cast<int>(device.device_type), device.device_id, memory, cpu, 0, memory);
  }
  return machine;
}

}  // namespace nnef_runtime
