// TVM's view of OpenCL devices, and the list of them as JSON.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/opencl/device.h"

namespace nnef_opencl {

namespace {

namespace ffi = ::tvm::ffi;
using tvm::runtime::DeviceAPI;
using tvm::runtime::DeviceAttrKind;

class OpenClDeviceApi final : public DeviceAPI {
 public:
  void SetDevice(DLDevice device) final { nnef_opencl::device(device.device_id); }

  void GetAttr(DLDevice device, DeviceAttrKind kind, ffi::Any* value) final {
    const auto index = static_cast<size_t>(device.device_id);
    const bool exists = device.device_id >= 0 && index < devices().size();
    if (kind == tvm::runtime::kExist) {
      *value = exists ? 1 : 0;
    } else if (exists) {
      read(devices()[index]->properties(), kind, value);
    }
  }

  using DeviceAPI::AllocDataSpace;
  void* AllocDataSpace(DLDevice device, size_t bytes, size_t, DLDataType) final {
    Device& owner = nnef_opencl::device(device.device_id);
    cl_int status = CL_SUCCESS;
    // OpenCL has no empty buffers.
    cl_mem memory = api().clCreateBuffer(owner.context(), CL_MEM_READ_WRITE,
                                         std::max<size_t>(bytes, 1), nullptr, &status);
    check(status, "clCreateBuffer");
    return new Buffer{memory, &owner, bytes};
  }

  void FreeDataSpace(DLDevice, void* data) final {
    // Commands that use the memory keep it until they are done.
    auto* buffer = static_cast<Buffer*>(data);
    api().clReleaseMemObject(buffer->memory);
    delete buffer;
  }

  void StreamSync(DLDevice device, TVMStreamHandle) final {
    check(api().clFinish(nnef_opencl::device(device.device_id).queue()), "clFinish");
  }

 protected:
  using DeviceAPI::CopyDataFromTo;
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                      size_t bytes, DLDevice from_device, DLDevice to_device, DLDataType,
                      TVMStreamHandle) final {
    if (bytes == 0) return;
    const bool from_host = from_device.device_type == kDLCPU;
    const bool to_host = to_device.device_type == kDLCPU;
    if (from_host) {
      write(static_cast<const char*>(from) + from_offset, static_cast<Buffer*>(to), to_offset,
            bytes);
    } else if (to_host) {
      read(static_cast<const Buffer*>(from), from_offset, static_cast<char*>(to) + to_offset,
           bytes);
    } else {
      copy(static_cast<const Buffer*>(from), from_offset, static_cast<Buffer*>(to), to_offset,
           bytes);
    }
  }

 private:
  static void read(const Properties& properties, DeviceAttrKind kind, ffi::Any* value) {
    if (kind == tvm::runtime::kMaxThreadsPerBlock) {
      *value = static_cast<int64_t>(properties.max_group);
    } else if (kind == tvm::runtime::kWarpSize) {
      *value = int64_t{1};  // OpenCL 1.2 does not tell
    } else if (kind == tvm::runtime::kMaxSharedMemoryPerBlock) {
      *value = static_cast<int64_t>(properties.local_bytes);
    } else if (kind == tvm::runtime::kComputeVersion) {
      *value = ffi::String(properties.version);
    } else if (kind == tvm::runtime::kDeviceName) {
      *value = ffi::String(properties.name);
    } else if (kind == tvm::runtime::kDriverVersion) {
      *value = ffi::String(properties.driver);
    } else if (kind == tvm::runtime::kMultiProcessorCount) {
      *value = static_cast<int64_t>(properties.compute_units);
    } else if (kind == tvm::runtime::kTotalGlobalMemory) {
      *value = static_cast<int64_t>(properties.global_bytes);
    }
  }

  // Transfers wait: the host's memory is the caller's as soon as they return.
  static void write(const char* from, Buffer* to, size_t offset, size_t bytes) {
    check(api().clEnqueueWriteBuffer(to->device->queue(), to->memory, CL_TRUE, offset, bytes, from,
                                     0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
  }

  static void read(const Buffer* from, size_t offset, char* to, size_t bytes) {
    check(api().clEnqueueReadBuffer(from->device->queue(), from->memory, CL_TRUE, offset, bytes, to,
                                    0, nullptr, nullptr),
          "clEnqueueReadBuffer");
  }

  static void copy(const Buffer* from, size_t from_offset, Buffer* to, size_t to_offset,
                   size_t bytes) {
    if (from->device == to->device) {
      check(api().clEnqueueCopyBuffer(from->device->queue(), from->memory, to->memory, from_offset,
                                      to_offset, bytes, 0, nullptr, nullptr),
            "clEnqueueCopyBuffer");
      return;
    }
    // Each device has a context of its own.
    std::vector<char> between(bytes);
    read(from, from_offset, between.data(), bytes);
    write(between.data(), to, to_offset, bytes);
  }
};

/// An object for the runtime's list of devices (runtime/devices.h).
std::string describe_devices() {
  using json = nlohmann::ordered_json;
  json list = json::array();
  for (const Device* device : devices()) {
    const Properties& properties = device->properties();
    const bool is_cpu = (properties.type & CL_DEVICE_TYPE_CPU) != 0;
    list.push_back({{"name", properties.name},
                    {"driver", properties.platform + " " + properties.driver},
                    {"max_threads", properties.max_group},
                    {"shared_bytes", properties.local_bytes},
                    {"fast_shared", properties.local_is_fast && !is_cpu},
                    {"memory_bytes", properties.global_bytes},
                    {"compute_units", properties.compute_units},
                    {"vector_floats", properties.vector_floats},
                    {"float16", properties.has_extension("cl_khr_fp16")},
                    {"float64", properties.has_extension("cl_khr_fp64")},
                    {"int64", true},
                    {"int8", true}});
  }
  const json object = {{"devices", list}, {"problem", devices_problem()}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def_packed("device_api.opencl",
                  [](ffi::PackedArgs, ffi::Any* result) {
                    static auto* api = new OpenClDeviceApi;
                    *result = static_cast<void*>(static_cast<DeviceAPI*>(api));
                  })
      .def("nnef.devices.opencl", [] { return ffi::String(describe_devices()); });
}

}  // namespace nnef_opencl
