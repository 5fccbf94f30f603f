// Vulkan's devices on this machine: their memory, and the commands given to them.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/vulkan/api.h"
#include "runtime/vulkan/memory.h"

namespace nnef_vulkan {

/// What a device is and can do.
struct Properties {
  std::string name;
  std::string driver;    ///< its name and version, for people
  std::string identity;  ///< changes with whatever makes pipelines incompatible
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  uint32_t max_threads = 0;  ///< of a group
  uint32_t shared_bytes = 0;
  uint32_t max_groups = 0;  ///< of a grid in x
  uint32_t max_push_bytes = 0;
  uint32_t max_buffers = 0;  ///< of a kernel
  uint32_t subgroup = 0;
  uint64_t memory_bytes = 0;
  bool float16 = false, float64 = false, int64 = false, int16 = false, int8 = false;
};

/// What a kernel needs to be dispatched.
struct Pipeline {
  VkShaderModule shader = VK_NULL_HANDLE;
  VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
  VkPipelineLayout layout = VK_NULL_HANDLE;
  VkPipeline pipeline = VK_NULL_HANDLE;
  uint32_t buffers = 0;
  uint32_t push_bytes = 0;
};

class Device;

/// Memory of a device, as TVM's tensors hold it.
struct Buffer {
  Device* device;
  Allocation memory;
};

/// A device with a queue; started when first asked for. Commands are recorded until something waits
/// for them, each after all before it; all threads share the one order.
class Device {
 public:
  explicit Device(VkPhysicalDevice physical);

  const Properties& properties() const { return properties_; }

  Buffer* allocate(size_t bytes);
  void free(Buffer* buffer);
  void write(const char* from, Buffer* to, size_t offset, size_t bytes);
  void read(Buffer* from, size_t offset, char* to, size_t bytes);
  void copy(Buffer* from, size_t from_offset, Buffer* to, size_t to_offset, size_t bytes);
  /// Until everything recorded so far is done.
  void wait();

  Pipeline create_pipeline(const std::vector<uint32_t>& words, const std::string& name,
                           uint32_t buffers, uint32_t push_bytes);
  void destroy_pipeline(const Pipeline& pipeline);
  void dispatch(const Pipeline& pipeline, const std::vector<Buffer*>& buffers,
                const std::vector<char>& push, std::array<uint32_t, 3> groups);

 private:
  void start();
  void create_device();
  void create_commands();
  void load_pipeline_cache();
  void store_pipeline_cache();

  // Under mutex_.
  VkCommandBuffer record();
  void flush();
  VkDescriptorSet allocate_set(VkDescriptorSetLayout layout);
  void copy_recorded(VkBuffer from, size_t from_offset, VkBuffer to, size_t to_offset,
                     size_t bytes);
  Allocation& staging();

  VkPhysicalDevice physical_;
  Properties properties_;
  std::once_flag started_;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t family_ = 0;
  VkPipelineCache cache_ = VK_NULL_HANDLE;
  std::mutex mutex_;
  std::unique_ptr<Allocator> memory_;
  std::unique_ptr<Allocator> host_memory_;
  Allocation staging_;
  VkCommandPool command_pool_ = VK_NULL_HANDLE;
  VkCommandBuffer commands_ = VK_NULL_HANDLE;
  VkFence fence_ = VK_NULL_HANDLE;
  bool recording_ = false;
  bool new_pipelines_ = false;
  std::vector<VkDescriptorPool> pools_;
  size_t current_pool_ = 0;
  std::vector<Allocation> freed_;  ///< that recorded commands may use
};

/// Discrete GPUs, then integrated ones, then others; within each kind as the system lists them. The
/// same for the life of the process.
const std::vector<Device*>& devices();
/// Why devices() is empty, if it is.
const std::string& devices_problem();
/// Throws tvm::ffi::Error when there is no such device.
Device& device(int index);

}  // namespace nnef_vulkan
