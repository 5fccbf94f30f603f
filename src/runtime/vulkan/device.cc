#include "runtime/vulkan/device.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/plugin/devices.h"
#include "runtime/plugin/file_cache.h"

namespace nnef_vulkan {

namespace {

/// The features that are asked of a device, where it has them.
struct Features {
  VkPhysicalDeviceFeatures2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDevice16BitStorageFeatures storage16{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
  VkPhysicalDevice8BitStorageFeaturesKHR storage8{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES_KHR};
  VkPhysicalDeviceShaderFloat16Int8FeaturesKHR small{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES_KHR};

  Features(bool has_storage8, bool has_small) {
    core.pNext = &storage16;
    void** next = &storage16.pNext;
    if (has_storage8) {
      *next = &storage8;
      next = &storage8.pNext;
    }
    if (has_small) *next = &small;
  }
  Features(const Features&) = delete;
  Features& operator=(const Features&) = delete;
};

struct Extensions {
  bool storage8 = false;
  bool small = false;  ///< arithmetic in 8 bits and 16-bit floats

  explicit Extensions(VkPhysicalDevice device) {
    uint32_t count = 0;
    api().vkEnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> all(count);
    api().vkEnumerateDeviceExtensionProperties(device, nullptr, &count, all.data());
    for (const VkExtensionProperties& extension : all) {
      const std::string name = extension.extensionName;
      storage8 = storage8 || name == VK_KHR_8BIT_STORAGE_EXTENSION_NAME;
      small = small || name == VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME;
    }
  }
};

std::string version_text(uint32_t version) {
  return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
         std::to_string(VK_API_VERSION_MINOR(version)) + "." +
         std::to_string(VK_API_VERSION_PATCH(version));
}

uint64_t device_memory(VkPhysicalDevice device) {
  VkPhysicalDeviceMemoryProperties memory;
  api().vkGetPhysicalDeviceMemoryProperties(device, &memory);
  uint64_t most = 0;
  for (uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
    if ((memory.memoryHeaps[i].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT) != 0) {
      most = std::max<uint64_t>(most, memory.memoryHeaps[i].size);
    }
  }
  return most;
}

void read_features(VkPhysicalDevice device, Properties& read) {
  const Extensions extensions(device);
  Features features(extensions.storage8, extensions.small);
  api().vkGetPhysicalDeviceFeatures2(device, &features.core);
  read.int64 = features.core.features.shaderInt64 == VK_TRUE;
  read.float64 = features.core.features.shaderFloat64 == VK_TRUE;
  const bool storage16 = features.storage16.storageBuffer16BitAccess == VK_TRUE;
  read.int16 = storage16 && features.core.features.shaderInt16 == VK_TRUE;
  read.float16 = storage16 && features.small.shaderFloat16 == VK_TRUE;
  read.int8 =
      features.storage8.storageBuffer8BitAccess == VK_TRUE && features.small.shaderInt8 == VK_TRUE;
}

Properties read_properties(VkPhysicalDevice device) {
  VkPhysicalDeviceSubgroupProperties subgroup{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
  all.pNext = &subgroup;
  api().vkGetPhysicalDeviceProperties2(device, &all);
  const VkPhysicalDeviceProperties& core = all.properties;
  Properties read;
  read.name = core.deviceName;
  read.driver =
      "driver " + version_text(core.driverVersion) + ", Vulkan " + version_text(core.apiVersion);
  read.identity = read.name + read.driver +
                  std::string(reinterpret_cast<const char*>(core.pipelineCacheUUID), VK_UUID_SIZE);
  read.type = core.deviceType;
  read.max_threads =
      std::min(core.limits.maxComputeWorkGroupInvocations, core.limits.maxComputeWorkGroupSize[0]);
  read.shared_bytes = core.limits.maxComputeSharedMemorySize;
  read.max_groups = core.limits.maxComputeWorkGroupCount[0];
  read.max_push_bytes = core.limits.maxPushConstantsSize;
  read.max_buffers = core.limits.maxPerStageDescriptorStorageBuffers;
  read.subgroup = subgroup.subgroupSize;
  read.memory_bytes = device_memory(device);
  read_features(device, read);
  return read;
}

int compute_family(VkPhysicalDevice device) {
  uint32_t count = 0;
  api().vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  api().vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return static_cast<int>(i);
  }
  return -1;
}

int rank(const Device* device) {
  const VkPhysicalDeviceType type = device->properties().type;
  if (type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU) return 0;
  return type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? 1 : 2;
}

struct Found {
  std::vector<Device*> devices;
  std::string problem;
};

Found find_devices() {
  Found found;
  found.problem = api_or_problem().problem;
  if (!found.problem.empty()) return found;
  uint32_t count = 0;
  api().vkEnumeratePhysicalDevices(api().instance, &count, nullptr);
  std::vector<VkPhysicalDevice> all(count);
  api().vkEnumeratePhysicalDevices(api().instance, &count, all.data());
  for (VkPhysicalDevice physical : all) {
    VkPhysicalDeviceProperties2 properties{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    api().vkGetPhysicalDeviceProperties2(physical, &properties);
    if (properties.properties.apiVersion < VK_API_VERSION_1_1) continue;
    if (compute_family(physical) >= 0) found.devices.push_back(new Device(physical));
  }
  std::stable_sort(found.devices.begin(), found.devices.end(),
                   [](const Device* a, const Device* b) { return rank(a) < rank(b); });
  if (found.devices.empty()) found.problem = "libvulkan is there, but no driver for Vulkan 1.1";
  return found;
}

const Found& found_devices() {
  // Never destroyed, like the functions in api().
  static const Found& found = *new Found(find_devices());
  return found;
}

const nnef_plugin::FileCache& file_cache() {
  static const nnef_plugin::FileCache cache("vulkan");
  return cache;
}

}  // namespace

Device::Device(VkPhysicalDevice physical)
    : physical_(physical), properties_(read_properties(physical)) {}

void Device::start() {
  std::call_once(started_, [this] {
    create_device();
    create_commands();
    load_pipeline_cache();
    // Where the host shares the device's memory, it writes there directly;
    // $NNEF_VULKAN_STAGING makes such a device like others.
    const bool shares = properties_.type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ||
                        properties_.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
    const VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
    const VkMemoryPropertyFlags seen =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    memory_ = std::make_unique<Allocator>(physical_, device_, shares ? local | seen : local, 0);
    host_memory_ = std::make_unique<Allocator>(physical_, device_, seen, seen);
  });
}

void Device::create_device() {
  const Extensions extensions(physical_);
  Features features(extensions.storage8, extensions.small);
  api().vkGetPhysicalDeviceFeatures2(physical_, &features.core);
  const VkPhysicalDeviceFeatures present = features.core.features;
  features.core.features = {};
  features.core.features.shaderInt64 = present.shaderInt64;
  features.core.features.shaderInt16 = present.shaderInt16;
  features.core.features.shaderFloat64 = present.shaderFloat64;
  family_ = static_cast<uint32_t>(compute_family(physical_));
  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  std::vector<const char*> names;
  if (extensions.storage8) names.push_back(VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
  if (extensions.small) names.push_back(VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
  VkDeviceCreateInfo info{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
  info.pNext = &features.core;
  info.queueCreateInfoCount = 1;
  info.pQueueCreateInfos = &queue;
  info.enabledExtensionCount = static_cast<uint32_t>(names.size());
  info.ppEnabledExtensionNames = names.data();
  check(api().vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
  api().vkGetDeviceQueue(device_, family_, 0, &queue_);
}

void Device::create_commands() {
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
  pool.queueFamilyIndex = family_;
  check(api().vkCreateCommandPool(device_, &pool, nullptr, &command_pool_), "vkCreateCommandPool");
  VkCommandBufferAllocateInfo commands{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  commands.commandPool = command_pool_;
  commands.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  commands.commandBufferCount = 1;
  check(api().vkAllocateCommandBuffers(device_, &commands, &commands_), "vkAllocateCommandBuffers");
  const VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  check(api().vkCreateFence(device_, &fence, nullptr, &fence_), "vkCreateFence");
}

void Device::load_pipeline_cache() {
  const auto stored = file_cache().find(properties_.identity);
  VkPipelineCacheCreateInfo info{VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
  if (stored) {
    info.initialDataSize = stored->size();
    info.pInitialData = stored->data();
  }
  check(api().vkCreatePipelineCache(device_, &info, nullptr, &cache_), "vkCreatePipelineCache");
}

void Device::store_pipeline_cache() {
  size_t bytes = 0;
  if (api().vkGetPipelineCacheData(device_, cache_, &bytes, nullptr) != VK_SUCCESS) return;
  std::string data(bytes, '\0');
  if (api().vkGetPipelineCacheData(device_, cache_, &bytes, data.data()) != VK_SUCCESS) return;
  file_cache().store(properties_.identity, {data.data(), bytes});
}

Buffer* Device::allocate(size_t bytes) {
  start();
  const std::lock_guard lock(mutex_);
  return new Buffer{this, memory_->allocate(bytes)};
}

void Device::free(Buffer* buffer) {
  const std::lock_guard lock(mutex_);
  if (recording_) {
    freed_.push_back(buffer->memory);
  } else {
    memory_->free(buffer->memory);
  }
  delete buffer;
}

Allocation& Device::staging() {
  constexpr VkDeviceSize kBytes = VkDeviceSize{8} << 20;
  if (staging_.buffer == VK_NULL_HANDLE) staging_ = host_memory_->allocate(kBytes);
  return staging_;
}

void Device::write(const char* from, Buffer* to, size_t offset, size_t bytes) {
  const std::lock_guard lock(mutex_);
  flush();
  const bool direct = to->memory.mapped != nullptr && !std::getenv("NNEF_VULKAN_STAGING");
  if (direct) {
    std::memcpy(to->memory.mapped + offset, from, bytes);
    return;
  }
  Allocation& between = staging();
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min<size_t>(bytes - done, between.bytes);
    std::memcpy(between.mapped, from + done, part);
    copy_recorded(between.buffer, 0, to->memory.buffer, offset + done, part);
    flush();
    done += part;
  }
}

void Device::read(Buffer* from, size_t offset, char* to, size_t bytes) {
  const std::lock_guard lock(mutex_);
  flush();
  const bool direct = from->memory.mapped != nullptr && !std::getenv("NNEF_VULKAN_STAGING");
  if (direct) {
    std::memcpy(to, from->memory.mapped + offset, bytes);
    return;
  }
  Allocation& between = staging();
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min<size_t>(bytes - done, between.bytes);
    copy_recorded(from->memory.buffer, offset + done, between.buffer, 0, part);
    flush();
    std::memcpy(to + done, between.mapped, part);
    done += part;
  }
}

void Device::copy(Buffer* from, size_t from_offset, Buffer* to, size_t to_offset, size_t bytes) {
  const std::lock_guard lock(mutex_);
  copy_recorded(from->memory.buffer, from_offset, to->memory.buffer, to_offset, bytes);
}

void Device::wait() {
  start();
  const std::lock_guard lock(mutex_);
  flush();
}

const std::vector<Device*>& devices() { return found_devices().devices; }
const std::string& devices_problem() { return found_devices().problem; }

Device& device(int index) {
  return nnef_plugin::device_at(devices(), index, "Vulkan", devices_problem());
}

}  // namespace nnef_vulkan
