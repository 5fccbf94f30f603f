// TVM's view of Vulkan devices, and the list of them as JSON.
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include <nlohmann/json.hpp>

#include "runtime/vulkan/device.h"

namespace nnef_vulkan {

namespace {

namespace ffi = ::tvm::ffi;
using tvm::runtime::DeviceAPI;
using tvm::runtime::DeviceAttrKind;

class VulkanDeviceApi final : public DeviceAPI {
 public:
  void SetDevice(DLDevice device) final { nnef_vulkan::device(device.device_id); }

  void GetAttr(DLDevice device, DeviceAttrKind kind, ffi::Any* value) final {
    const auto index = static_cast<size_t>(device.device_id);
    const bool exists = device.device_id >= 0 && index < devices().size();
    if (kind == tvm::runtime::kExist) {
      *value = exists ? 1 : 0;
      return;
    }
    if (!exists) return;
    const Properties& properties = devices()[index]->properties();
    if (kind == tvm::runtime::kMaxThreadsPerBlock) {
      *value = static_cast<int64_t>(properties.max_threads);
    } else if (kind == tvm::runtime::kWarpSize) {
      *value = static_cast<int64_t>(properties.subgroup);
    } else if (kind == tvm::runtime::kMaxSharedMemoryPerBlock) {
      *value = static_cast<int64_t>(properties.shared_bytes);
    } else if (kind == tvm::runtime::kDeviceName) {
      *value = ffi::String(properties.name);
    } else if (kind == tvm::runtime::kTotalGlobalMemory) {
      *value = static_cast<int64_t>(properties.memory_bytes);
    }
  }

  using DeviceAPI::AllocDataSpace;
  void* AllocDataSpace(DLDevice device, size_t bytes, size_t, DLDataType) final {
    return nnef_vulkan::device(device.device_id).allocate(bytes);
  }

  void FreeDataSpace(DLDevice, void* data) final {
    auto* buffer = static_cast<Buffer*>(data);
    buffer->device->free(buffer);
  }

  void StreamSync(DLDevice device, TVMStreamHandle) final {
    nnef_vulkan::device(device.device_id).wait();
  }

 protected:
  using DeviceAPI::CopyDataFromTo;
  void CopyDataFromTo(const void* from, size_t from_offset, void* to, size_t to_offset,
                      size_t bytes, DLDevice from_device, DLDevice to_device, DLDataType,
                      TVMStreamHandle) final {
    if (bytes == 0) return;
    auto* source = static_cast<Buffer*>(const_cast<void*>(from));
    auto* target = static_cast<Buffer*>(to);
    if (from_device.device_type == kDLCPU) {
      target->device->write(static_cast<const char*>(from) + from_offset, target, to_offset, bytes);
    } else if (to_device.device_type == kDLCPU) {
      source->device->read(source, from_offset, static_cast<char*>(to) + to_offset, bytes);
    } else if (source->device == target->device) {
      source->device->copy(source, from_offset, target, to_offset, bytes);
    } else {
      std::vector<char> between(bytes);
      source->device->read(source, from_offset, between.data(), bytes);
      target->device->write(between.data(), target, to_offset, bytes);
    }
  }
};

/// An object for the runtime's list of devices (runtime/devices.h).
std::string describe_devices() {
  using json = nlohmann::ordered_json;
  json list = json::array();
  for (const Device* device : devices()) {
    const Properties& properties = device->properties();
    list.push_back({{"name", properties.name},
                    {"driver", properties.driver},
                    {"max_threads", properties.max_threads},
                    {"shared_bytes", properties.shared_bytes},
                    {"fast_shared", properties.type != VK_PHYSICAL_DEVICE_TYPE_CPU},
                    {"memory_bytes", properties.memory_bytes},
                    {"compute_units", 0},
                    {"vector_floats", 0},
                    {"float16", properties.float16},
                    {"float64", properties.float64},
                    {"int64", properties.int64},
                    {"int8", properties.int8}});
  }
  const json object = {{"devices", list}, {"problem", devices_problem()}};
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def_packed("device_api.vulkan",
                  [](ffi::PackedArgs, ffi::Any* result) {
                    static auto* api = new VulkanDeviceApi;
                    *result = static_cast<void*>(static_cast<DeviceAPI*>(api));
                  })
      .def("nnef.devices.vulkan", [] { return ffi::String(describe_devices()); });
}

}  // namespace nnef_vulkan
