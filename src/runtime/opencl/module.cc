// Modules of OpenCL C, as TVM's host code calls them.
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <algorithm>
#include <map>
#include <memory>

#include "runtime/opencl/program.h"
#include "runtime/plugin/device_module.h"

namespace nnef_opencl {

namespace {

namespace ffi = ::tvm::ffi;
using nnef_plugin::KernelInfo;
using nnef_plugin::Launch;

class OpenClModule final : public nnef_plugin::DeviceModule {
 public:
  using DeviceModule::DeviceModule;

  const char* kind() const final { return "opencl"; }
  ffi::String InspectSource(const ffi::String&) const final { return description().code; }

 private:
  void launch(size_t index, const Launch& launch) final {
    const KernelInfo& info = description().kernels[index];
    Device& device = device_of(info, launch);
    cl_kernel kernel = program(device).kernel(info.name);
    const std::lock_guard lock(device.launch_mutex());
    for (size_t i = 0; i < info.arguments.size(); ++i) set_argument(kernel, launch, i);
    std::array<size_t, 3> local, global;
    for (size_t axis = 0; axis < 3; ++axis) {
      local[axis] = launch.threads()[axis];
      global[axis] = launch.groups()[axis] * local[axis];
    }
    const cl_int status = api().clEnqueueNDRangeKernel(
        device.queue(), kernel, 3, nullptr, global.data(), local.data(), 0, nullptr, nullptr);
    if (status != CL_SUCCESS) {
      TVM_FFI_THROW(RuntimeError) << "clEnqueueNDRangeKernel failed for '" << info.name
                                  << "', groups of " << local[0] << " x " << local[1] << " x "
                                  << local[2] << " work-items: " << error_name(status);
    }
  }

  /// Where the kernel's tensors are.
  static Device& device_of(const KernelInfo& info, const Launch& launch) {
    for (size_t i = 0; i < info.arguments.size(); ++i) {
      if (launch.is_handle(i)) return *static_cast<Buffer*>(launch.handle(i))->device;
    }
    TVM_FFI_THROW(ValueError) << "kernel " << info.name << " works on no tensor";
    return device(0);
  }

  static void set_argument(cl_kernel kernel, const Launch& launch, size_t i) {
    const auto index = static_cast<cl_uint>(i);
    cl_int status = CL_SUCCESS;
    if (launch.is_handle(i)) {
      const auto* buffer = static_cast<const Buffer*>(launch.handle(i));
      status = api().clSetKernelArg(kernel, index, sizeof(cl_mem), &buffer->memory);
    } else {
      const nnef_plugin::Scalar scalar = launch.scalar(i);
      status = api().clSetKernelArg(kernel, index, scalar.size, scalar.bytes.data());
    }
    check(status, "clSetKernelArg");
  }

  /// Built when a device first needs it.
  Program& program(Device& device) {
    const std::lock_guard lock(mutex_);
    auto& program = programs_[&device];
    if (!program) program = std::make_unique<Program>(device, description().code);
    return *program;
  }

  std::mutex mutex_;
  std::map<Device*, std::unique_ptr<Program>> programs_;
};

ffi::Module load(const ffi::Bytes& bytes) {
  return ffi::Module(ffi::make_object<OpenClModule>(bytes));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("ffi.Module.load_from_bytes.opencl", load);
}

}  // namespace nnef_opencl
