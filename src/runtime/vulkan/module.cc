// Modules of SPIR-V, as TVM's host code calls them.
#include <tvm/ffi/reflection/registry.h>

#include <map>
#include <utility>

#include "runtime/plugin/device_module.h"
#include "runtime/vulkan/device.h"

namespace nnef_vulkan {

namespace {

namespace ffi = ::tvm::ffi;
using nnef_plugin::KernelInfo;
using nnef_plugin::Launch;

constexpr uint32_t kPushSlot = 8;  // bytes of a number, as compile/spirv lays them out

class VulkanModule final : public nnef_plugin::DeviceModule {
 public:
  explicit VulkanModule(const ffi::Bytes& bytes)
      : DeviceModule(bytes), code_(nnef_plugin::split_spirv(description().code)) {
    if (code_.size() != description().kernels.size()) {
      TVM_FFI_THROW(ValueError) << code_.size() << " SPIR-V modules for "
                                << description().kernels.size() << " kernels";
    }
  }
  ~VulkanModule() {
    try {
      for (const auto& [key, pipeline] : pipelines_) key.first->destroy_pipeline(pipeline);
    } catch (const ffi::Error&) {
      // The device is lost, and its objects with it.
    }
  }

  const char* kind() const final { return "vulkan"; }

 private:
  void launch(size_t kernel, const Launch& launch) final {
    const KernelInfo& info = description().kernels[kernel];
    std::vector<Buffer*> buffers;
    std::vector<char> push;
    for (size_t i = 0; i < info.arguments.size(); ++i) {
      if (launch.is_handle(i)) {
        buffers.push_back(static_cast<Buffer*>(launch.handle(i)));
      } else {
        const nnef_plugin::Scalar scalar = launch.scalar(i);
        push.insert(push.end(), scalar.bytes.begin(), scalar.bytes.end());
      }
    }
    if (buffers.empty()) TVM_FFI_THROW(ValueError) << "kernel " << info.name << " has no tensor";
    Device& device = *buffers[0]->device;
    const Pipeline& pipeline = pipeline_for(device, kernel, buffers.size(), push.size());
    device.dispatch(pipeline, buffers, push, grid(info, launch, device));
  }

  /// More groups in x than the device takes continue in z, as the kernels expect.
  static std::array<uint32_t, 3> grid(const KernelInfo& info, const Launch& launch,
                                      const Device& device) {
    const auto& [x, y, z] = launch.groups();
    const uint64_t most = device.properties().max_groups;
    if (x <= most) {
      return {static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)};
    }
    const uint64_t rows = (x + most - 1) / most;
    if (z != 1 || rows > most) {
      TVM_FFI_THROW(ValueError) << "kernel " << info.name << " has too many groups: " << x;
    }
    return {static_cast<uint32_t>((x + rows - 1) / rows), static_cast<uint32_t>(y),
            static_cast<uint32_t>(rows)};
  }

  /// Made when a device first needs it.
  const Pipeline& pipeline_for(Device& device, size_t kernel, size_t buffers, size_t push_bytes) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = pipelines_.try_emplace({&device, kernel});
    if (is_new) {
      try {
        found->second = device.create_pipeline(code_[kernel], description().kernels[kernel].name,
                                               static_cast<uint32_t>(buffers),
                                               static_cast<uint32_t>(push_bytes));
      } catch (...) {
        pipelines_.erase(found);
        throw;
      }
    }
    return found->second;
  }

  static_assert(sizeof(nnef_plugin::Scalar::bytes) == kPushSlot);
  std::vector<std::vector<uint32_t>> code_;
  std::mutex mutex_;
  std::map<std::pair<Device*, size_t>, Pipeline> pipelines_;
};

ffi::Module load(const ffi::Bytes& bytes) {
  return ffi::Module(ffi::make_object<VulkanModule>(bytes));
}

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("ffi.Module.load_from_bytes.vulkan", load);
}

}  // namespace nnef_vulkan
