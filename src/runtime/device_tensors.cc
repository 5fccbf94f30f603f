#include "runtime/device_tensors.h"

#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>

#include <algorithm>
#include <array>

#include "nnef_runtime/session.h"

namespace nnef_runtime {

namespace {

namespace ffi = ::tvm::ffi;

struct DeviceType {
  std::string_view kind;
  DLDeviceType type;
};

constexpr std::array<DeviceType, 3> kTypes = {
    {{"opencl", kDLOpenCL}, {"vulkan", kDLVulkan}, {"cuda", kDLCUDA}}};

ffi::Function runtime_function(const char* name) { return ffi::Function::GetGlobalRequired(name); }

}  // namespace

DLDevice dl_device(const DeviceInfo& device) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const DeviceType& row) { return row.kind == device.kind; });
  if (found == kTypes.end()) {
    TVM_FFI_THROW(ValueError) << "no type of device for '" << device.kind << "'";
  }
  return {found->type, device.index};
}

ffi::Tensor copy_to_device(const ffi::Tensor& host, DLDevice device) {
  static const ffi::Function allocate = runtime_function("runtime.TVMTensorAllocWithScope");
  auto tensor =
      allocate(ffi::Shape(host.shape()), host.dtype(), device, nullptr).cast<ffi::Tensor>();
  copy_to_device(host, tensor);
  return tensor;
}

void copy_to_device(const ffi::Tensor& host, const ffi::Tensor& on_device) {
  static const ffi::Function copy = runtime_function("runtime.TVMTensorCopyFromBytes");
  const size_t bytes = ffi::GetDataSize(*host.GetDLTensorPtr());
  if (bytes == 0) return;
  char* data = static_cast<char*>(host.data_ptr()) + host.GetDLTensorPtr()->byte_offset;
  copy(on_device, static_cast<void*>(data), bytes);
}

ffi::Tensor copy_to_host(const ffi::Tensor& on_device) {
  static const ffi::Function copy = runtime_function("runtime.TVMTensorCopyToBytes");
  const ffi::ShapeView shape = on_device.shape();
  ffi::Tensor host = allocate(on_device.dtype(), {shape.begin(), shape.end()});
  const size_t bytes = ffi::GetDataSize(*host.GetDLTensorPtr());
  if (bytes != 0) copy(on_device, host.data_ptr(), bytes);
  return host;
}

}  // namespace nnef_runtime
