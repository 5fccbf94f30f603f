#include "gpu.h"

#include <stdexcept>

namespace vulkan_host {

void check(VkResult result, const char* call) {
  if (result == VK_SUCCESS) return;
  throw std::runtime_error(std::string(call) + " failed: VkResult " + std::to_string(result));
}

namespace {

/// The queue family of a device that computes; -1 when there is none.
int compute_family(VkPhysicalDevice device) {
  uint32_t count = 0;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, nullptr);
  std::vector<VkQueueFamilyProperties> families(count);
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families.data());
  for (uint32_t i = 0; i < count; ++i) {
    if ((families[i].queueFlags & VK_QUEUE_COMPUTE_BIT) != 0) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Gpu::Gpu() {
  const VkApplicationInfo application{.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                      .apiVersion = VK_API_VERSION_1_2};
  const VkInstanceCreateInfo info{.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                  .pApplicationInfo = &application};
  check(vkCreateInstance(&info, nullptr, &instance_), "vkCreateInstance");
  choose_device();
  open_device();
}

void Gpu::choose_device() {
  uint32_t count = 0;
  check(vkEnumeratePhysicalDevices(instance_, &count, nullptr), "vkEnumeratePhysicalDevices");
  std::vector<VkPhysicalDevice> devices(count);
  check(vkEnumeratePhysicalDevices(instance_, &count, devices.data()),
        "vkEnumeratePhysicalDevices");
  for (VkPhysicalDevice device : devices) {
    const int family = compute_family(device);
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(device, &properties);
    // The kernels' SPIR-V is that of Vulkan 1.1.
    if (family < 0 || properties.apiVersion < VK_API_VERSION_1_1) continue;
    physical_ = device;
    family_ = static_cast<uint32_t>(family);
    version_ = properties.apiVersion;
    name_ = properties.deviceName;
    return;
  }
  throw std::runtime_error("no device with Vulkan 1.1 that computes");
}

void Gpu::open_device() {
  // Models use different types of items: whatever the device has may be used.
  VkPhysicalDeviceVulkan12Features of_1_2{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan11Features of_1_1{
      .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &of_1_2};
  VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  if (version_ >= VK_API_VERSION_1_2) features.pNext = &of_1_1;
  vkGetPhysicalDeviceFeatures2(physical_, &features);
  features.features.robustBufferAccess = VK_FALSE;
  const float priority = 1;
  const VkDeviceQueueCreateInfo queue{.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                      .queueFamilyIndex = family_,
                                      .queueCount = 1,
                                      .pQueuePriorities = &priority};
  const VkDeviceCreateInfo info{.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                .pNext = &features,
                                .queueCreateInfoCount = 1,
                                .pQueueCreateInfos = &queue};
  check(vkCreateDevice(physical_, &info, nullptr, &device_), "vkCreateDevice");
  vkGetDeviceQueue(device_, family_, 0, &queue_);
  const VkCommandPoolCreateInfo pool{.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                     .queueFamilyIndex = family_};
  check(vkCreateCommandPool(device_, &pool, nullptr, &pool_), "vkCreateCommandPool");
}

Gpu::~Gpu() {
  if (device_ != VK_NULL_HANDLE) {
    vkDeviceWaitIdle(device_);
    for (const Buffer& buffer : buffers_) {
      vkDestroyBuffer(device_, buffer.buffer, nullptr);
      vkFreeMemory(device_, buffer.memory, nullptr);
    }
    for (const Kernel& kernel : kernels_) {
      vkDestroyPipeline(device_, kernel.pipeline, nullptr);
      vkDestroyPipelineLayout(device_, kernel.layout, nullptr);
      vkDestroyDescriptorSetLayout(device_, kernel.bindings, nullptr);
    }
    vkDestroyCommandPool(device_, pool_, nullptr);
    vkDestroyDevice(device_, nullptr);
  }
  if (instance_ != VK_NULL_HANDLE) vkDestroyInstance(instance_, nullptr);
}

uint32_t Gpu::memory_type(uint32_t allowed) const {
  constexpr VkMemoryPropertyFlags kShared =
      VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
  VkPhysicalDeviceMemoryProperties memory;
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory);
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const bool shared = (memory.memoryTypes[i].propertyFlags & kShared) == kShared;
    if (shared && (allowed >> i & 1U) != 0) return i;
  }
  throw std::runtime_error("no memory that host and device share");
}

Buffer Gpu::make_buffer(uint64_t bytes) {
  Buffer made;
  const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                .size = bytes < 4 ? 4 : bytes,
                                .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
  check(vkCreateBuffer(device_, &info, nullptr, &made.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  vkGetBufferMemoryRequirements(device_, made.buffer, &needs);
  const VkMemoryAllocateInfo memory{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                    .allocationSize = needs.size,
                                    .memoryTypeIndex = memory_type(needs.memoryTypeBits)};
  check(vkAllocateMemory(device_, &memory, nullptr, &made.memory), "vkAllocateMemory");
  check(vkBindBufferMemory(device_, made.buffer, made.memory, 0), "vkBindBufferMemory");
  check(vkMapMemory(device_, made.memory, 0, VK_WHOLE_SIZE, 0, &made.data), "vkMapMemory");
  buffers_.push_back(made);
  return made;
}

Kernel Gpu::make_kernel(const std::vector<uint32_t>& words, const std::string& name,
                        uint32_t buffer_count, uint32_t push_bytes) {
  Kernel kernel;
  std::vector<VkDescriptorSetLayoutBinding> bindings;
  for (uint32_t i = 0; i < buffer_count; ++i) {
    bindings.push_back(
        {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr});
  }
  const VkDescriptorSetLayoutCreateInfo set{
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
      .bindingCount = buffer_count,
      .pBindings = bindings.data()};
  check(vkCreateDescriptorSetLayout(device_, &set, nullptr, &kernel.bindings),
        "vkCreateDescriptorSetLayout");
  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
  const VkPipelineLayoutCreateInfo layout{.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                          .setLayoutCount = 1,
                                          .pSetLayouts = &kernel.bindings,
                                          .pushConstantRangeCount = push_bytes > 0 ? 1U : 0U,
                                          .pPushConstantRanges = &push};
  check(vkCreatePipelineLayout(device_, &layout, nullptr, &kernel.layout),
        "vkCreatePipelineLayout");
  const VkShaderModuleCreateInfo code{.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
                                      .codeSize = words.size() * sizeof(uint32_t),
                                      .pCode = words.data()};
  VkShaderModule module = VK_NULL_HANDLE;
  check(vkCreateShaderModule(device_, &code, nullptr, &module), "vkCreateShaderModule");
  const VkComputePipelineCreateInfo pipeline{
      .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = module,
                .pName = name.c_str()},
      .layout = kernel.layout};
  const VkResult made =
      vkCreateComputePipelines(device_, VK_NULL_HANDLE, 1, &pipeline, nullptr, &kernel.pipeline);
  vkDestroyShaderModule(device_, module, nullptr);
  check(made, "vkCreateComputePipelines");
  kernels_.push_back(kernel);
  return kernel;
}

VkCommandBuffer Gpu::make_commands() {
  const VkCommandBufferAllocateInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                         .commandPool = pool_,
                                         .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                         .commandBufferCount = 1};
  VkCommandBuffer commands = VK_NULL_HANDLE;
  check(vkAllocateCommandBuffers(device_, &info, &commands), "vkAllocateCommandBuffers");
  return commands;
}

void Gpu::run(VkCommandBuffer commands) {
  const VkSubmitInfo submit{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                            .commandBufferCount = 1,
                            .pCommandBuffers = &commands};
  check(vkQueueSubmit(queue_, 1, &submit, VK_NULL_HANDLE), "vkQueueSubmit");
  check(vkQueueWaitIdle(queue_), "vkQueueWaitIdle");
}

}  // namespace vulkan_host
