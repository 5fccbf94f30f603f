// Vulkan's functions, from a libvulkan that is looked for when the first of them is needed: the
// plug-in loads where there is none, and can say so.
#pragma once

#define VK_NO_PROTOTYPES
#include <vulkan/vulkan.h>

#include <string>

namespace nnef_vulkan {

#define NNEF_VULKAN_GLOBAL_FUNCTIONS(X) \
  X(vkCreateInstance)                   \
  X(vkEnumerateInstanceLayerProperties) \
  X(vkEnumerateInstanceVersion)

#define NNEF_VULKAN_FUNCTIONS(X)              \
  X(vkAllocateCommandBuffers)                 \
  X(vkAllocateDescriptorSets)                 \
  X(vkAllocateMemory)                         \
  X(vkBeginCommandBuffer)                     \
  X(vkBindBufferMemory)                       \
  X(vkCmdBindDescriptorSets)                  \
  X(vkCmdBindPipeline)                        \
  X(vkCmdCopyBuffer)                          \
  X(vkCmdDispatch)                            \
  X(vkCmdPipelineBarrier)                     \
  X(vkCmdPushConstants)                       \
  X(vkCreateBuffer)                           \
  X(vkCreateCommandPool)                      \
  X(vkCreateComputePipelines)                 \
  X(vkCreateDescriptorPool)                   \
  X(vkCreateDescriptorSetLayout)              \
  X(vkCreateDevice)                           \
  X(vkCreateFence)                            \
  X(vkCreatePipelineCache)                    \
  X(vkCreatePipelineLayout)                   \
  X(vkCreateShaderModule)                     \
  X(vkDestroyBuffer)                          \
  X(vkDestroyDescriptorSetLayout)             \
  X(vkDestroyPipeline)                        \
  X(vkDestroyPipelineLayout)                  \
  X(vkDestroyShaderModule)                    \
  X(vkEndCommandBuffer)                       \
  X(vkEnumerateDeviceExtensionProperties)     \
  X(vkEnumeratePhysicalDevices)               \
  X(vkFreeMemory)                             \
  X(vkGetBufferMemoryRequirements)            \
  X(vkGetDeviceQueue)                         \
  X(vkGetPhysicalDeviceFeatures2)             \
  X(vkGetPhysicalDeviceMemoryProperties)      \
  X(vkGetPhysicalDeviceProperties2)           \
  X(vkGetPhysicalDeviceQueueFamilyProperties) \
  X(vkGetPipelineCacheData)                   \
  X(vkMapMemory)                              \
  X(vkQueueSubmit)                            \
  X(vkResetCommandBuffer)                     \
  X(vkResetDescriptorPool)                    \
  X(vkResetFences)                            \
  X(vkUpdateDescriptorSets)                   \
  X(vkWaitForFences)

struct Api {
#define NNEF_VULKAN_MEMBER(name) PFN_##name name = nullptr;
  NNEF_VULKAN_GLOBAL_FUNCTIONS(NNEF_VULKAN_MEMBER)
  NNEF_VULKAN_FUNCTIONS(NNEF_VULKAN_MEMBER)
#undef NNEF_VULKAN_MEMBER
  VkInstance instance = VK_NULL_HANDLE;
  std::string problem;  ///< why there is no Vulkan; empty when there is
};

/// The functions of this process's libvulkan and an instance of Vulkan 1.1; none of them when
/// `problem` is set. With $NNEF_VULKAN_VALIDATION, the validation layer watches.
const Api& api_or_problem();
/// The same. Throws tvm::ffi::Error when there is no Vulkan.
const Api& api();

/// "VK_ERROR_DEVICE_LOST (-4)"
std::string error_name(VkResult result);
/// Throws tvm::ffi::Error, naming the function, unless the result is VK_SUCCESS.
void check(VkResult result, const char* function);

}  // namespace nnef_vulkan
