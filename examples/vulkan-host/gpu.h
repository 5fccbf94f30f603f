// The least of Vulkan that computing needs: a device, buffers, kernels, one queue.
#pragma once

#include <vulkan/vulkan.h>

#include <cstdint>
#include <string>
#include <vector>

namespace vulkan_host {

/// Throws std::runtime_error when a call of Vulkan failed.
void check(VkResult result, const char* call);

struct Buffer {
  VkBuffer buffer = VK_NULL_HANDLE;
  VkDeviceMemory memory = VK_NULL_HANDLE;
  void* data = nullptr;  ///< mapped
};

struct Kernel {
  VkDescriptorSetLayout bindings = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
};

/// The first device with a queue that computes.
class Gpu {
 public:
  Gpu();
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  VkDevice device() const { return device_; }
  const std::string& name() const { return name_; }

  /// In memory that host and device share; the device's as long as the Gpu lives.
  Buffer make_buffer(uint64_t bytes);
  /// From SPIR-V's words, whose entry point has the kernel's name.
  Kernel make_kernel(const std::vector<uint32_t>& words, const std::string& name,
                     uint32_t buffer_count, uint32_t push_bytes);
  VkCommandBuffer make_commands();
  /// Runs commands to their end.
  void run(VkCommandBuffer commands);

 private:
  void choose_device();
  void open_device();
  uint32_t memory_type(uint32_t allowed) const;

  VkInstance instance_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  VkCommandPool pool_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  uint32_t version_ = 0;
  std::string name_;
  std::vector<Buffer> buffers_;
  std::vector<Kernel> kernels_;
};

}  // namespace vulkan_host
