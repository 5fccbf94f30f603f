// The commands of a device: recorded in order, run when something waits for them.
#include <tvm/ffi/error.h>

#include "runtime/vulkan/device.h"

namespace nnef_vulkan {

namespace {

constexpr uint32_t kSetsOfPool = 256;
constexpr uint32_t kBuffersOfPool = 2048;

constexpr VkPipelineStageFlags kWork =
    VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
constexpr VkAccessFlags kWrites = VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
constexpr VkAccessFlags kReads = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT;

void barrier(VkCommandBuffer commands, VkPipelineStageFlags to, VkAccessFlags access) {
  VkMemoryBarrier memory{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  memory.srcAccessMask = kWrites;
  memory.dstAccessMask = access;
  api().vkCmdPipelineBarrier(commands, kWork, to, 0, 1, &memory, 0, nullptr, 0, nullptr);
}

VkDescriptorPool create_pool(VkDevice device) {
  const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, kBuffersOfPool};
  VkDescriptorPoolCreateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
  info.maxSets = kSetsOfPool;
  info.poolSizeCount = 1;
  info.pPoolSizes = &size;
  VkDescriptorPool pool = VK_NULL_HANDLE;
  check(api().vkCreateDescriptorPool(device, &info, nullptr, &pool), "vkCreateDescriptorPool");
  return pool;
}

}  // namespace

/// What is recorded next sees what was recorded before.
VkCommandBuffer Device::record() {
  if (recording_) {
    barrier(commands_, kWork, kReads | kWrites);
    return commands_;
  }
  check(api().vkResetCommandBuffer(commands_, 0), "vkResetCommandBuffer");
  VkCommandBufferBeginInfo info{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  info.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  check(api().vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
  recording_ = true;
  return commands_;
}

void Device::flush() {
  if (!recording_) return;
  recording_ = false;
  barrier(commands_, VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
  check(api().vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &commands_;
  check(api().vkQueueSubmit(queue_, 1, &submit, fence_), "vkQueueSubmit");
  check(api().vkWaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
  check(api().vkResetFences(device_, 1, &fence_), "vkResetFences");
  for (VkDescriptorPool pool : pools_) {
    check(api().vkResetDescriptorPool(device_, pool, 0), "vkResetDescriptorPool");
  }
  current_pool_ = 0;
  for (const Allocation& allocation : freed_) memory_->free(allocation);
  freed_.clear();
  if (new_pipelines_) store_pipeline_cache();
  new_pipelines_ = false;
}

void Device::copy_recorded(VkBuffer from, size_t from_offset, VkBuffer to, size_t to_offset,
                           size_t bytes) {
  const VkBufferCopy region{from_offset, to_offset, bytes};
  api().vkCmdCopyBuffer(record(), from, to, 1, &region);
}

VkDescriptorSet Device::allocate_set(VkDescriptorSetLayout layout) {
  for (;; ++current_pool_) {
    const bool is_new = current_pool_ == pools_.size();
    if (is_new) pools_.push_back(create_pool(device_));
    VkDescriptorSetAllocateInfo info{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    info.descriptorPool = pools_[current_pool_];
    info.descriptorSetCount = 1;
    info.pSetLayouts = &layout;
    VkDescriptorSet set = VK_NULL_HANDLE;
    const VkResult result = api().vkAllocateDescriptorSets(device_, &info, &set);
    if (result == VK_SUCCESS) return set;
    const bool is_full =
        result == VK_ERROR_OUT_OF_POOL_MEMORY || result == VK_ERROR_FRAGMENTED_POOL;
    if (is_new || !is_full) check(result, "vkAllocateDescriptorSets");
  }
}

Pipeline Device::create_pipeline(const std::vector<uint32_t>& words, const std::string& name,
                                 uint32_t buffers, uint32_t push_bytes) {
  if (buffers > properties_.max_buffers || push_bytes > properties_.max_push_bytes) {
    TVM_FFI_THROW(RuntimeError) << "kernel " << name << " takes " << buffers << " buffers and "
                                << push_bytes << " bytes of numbers; " << properties_.name
                                << " allows " << properties_.max_buffers << " and "
                                << properties_.max_push_bytes;
  }
  start();
  const std::lock_guard lock(mutex_);
  Pipeline made;
  made.buffers = buffers;
  made.push_bytes = push_bytes;
  VkShaderModuleCreateInfo shader{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  shader.codeSize = words.size() * sizeof(uint32_t);
  shader.pCode = words.data();
  check(api().vkCreateShaderModule(device_, &shader, nullptr, &made.shader),
        "vkCreateShaderModule");
  std::vector<VkDescriptorSetLayoutBinding> bindings(buffers);
  for (uint32_t i = 0; i < buffers; ++i) {
    bindings[i] = {i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
  }
  VkDescriptorSetLayoutCreateInfo set{VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
  set.bindingCount = buffers;
  set.pBindings = bindings.data();
  check(api().vkCreateDescriptorSetLayout(device_, &set, nullptr, &made.set_layout),
        "vkCreateDescriptorSetLayout");
  const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.setLayoutCount = 1;
  layout.pSetLayouts = &made.set_layout;
  layout.pushConstantRangeCount = push_bytes == 0 ? 0 : 1;
  layout.pPushConstantRanges = &range;
  check(api().vkCreatePipelineLayout(device_, &layout, nullptr, &made.layout),
        "vkCreatePipelineLayout");
  VkComputePipelineCreateInfo info{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  info.stage.module = made.shader;
  info.stage.pName = name.c_str();
  info.layout = made.layout;
  check(api().vkCreateComputePipelines(device_, cache_, 1, &info, nullptr, &made.pipeline),
        "vkCreateComputePipelines");
  new_pipelines_ = true;
  return made;
}

void Device::destroy_pipeline(const Pipeline& pipeline) {
  const std::lock_guard lock(mutex_);
  flush();
  api().vkDestroyPipeline(device_, pipeline.pipeline, nullptr);
  api().vkDestroyPipelineLayout(device_, pipeline.layout, nullptr);
  api().vkDestroyDescriptorSetLayout(device_, pipeline.set_layout, nullptr);
  api().vkDestroyShaderModule(device_, pipeline.shader, nullptr);
}

void Device::dispatch(const Pipeline& pipeline, const std::vector<Buffer*>& buffers,
                      const std::vector<char>& push, std::array<uint32_t, 3> groups) {
  const std::lock_guard lock(mutex_);
  const VkDescriptorSet set = allocate_set(pipeline.set_layout);
  std::vector<VkDescriptorBufferInfo> infos(buffers.size());
  std::vector<VkWriteDescriptorSet> writes(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    infos[i] = {buffers[i]->memory.buffer, 0, VK_WHOLE_SIZE};
    writes[i] = {VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    writes[i].dstSet = set;
    writes[i].dstBinding = static_cast<uint32_t>(i);
    writes[i].descriptorCount = 1;
    writes[i].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    writes[i].pBufferInfo = &infos[i];
  }
  api().vkUpdateDescriptorSets(device_, static_cast<uint32_t>(writes.size()), writes.data(), 0,
                               nullptr);
  const VkCommandBuffer commands = record();
  api().vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
  api().vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                                &set, 0, nullptr);
  if (!push.empty()) {
    api().vkCmdPushConstants(commands, pipeline.layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                             static_cast<uint32_t>(push.size()), push.data());
  }
  api().vkCmdDispatch(commands, groups[0], groups[1], groups[2]);
}

}  // namespace nnef_vulkan
