#include "runtime/vulkan/memory.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <iterator>

namespace nnef_vulkan {

namespace {

constexpr VkDeviceSize kChunkBytes = VkDeviceSize{64} << 20;

VkDeviceSize round_up(VkDeviceSize value, VkDeviceSize multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

Allocator::Allocator(VkPhysicalDevice physical, VkDevice device, VkMemoryPropertyFlags wanted,
                     VkMemoryPropertyFlags needed)
    : device_(device), wanted_(wanted), needed_(needed) {
  api().vkGetPhysicalDeviceMemoryProperties(physical, &properties_);
}

uint32_t Allocator::memory_type(uint32_t allowed) const {
  for (VkMemoryPropertyFlags flags : {wanted_, needed_}) {
    for (uint32_t i = 0; i < properties_.memoryTypeCount; ++i) {
      if ((allowed >> i & 1) != 0 && (properties_.memoryTypes[i].propertyFlags & flags) == flags) {
        return i;
      }
    }
  }
  TVM_FFI_THROW(RuntimeError) << "the Vulkan device has no memory of the kind that is needed";
  return 0;
}

Chunk& Allocator::add_chunk(VkDeviceSize bytes, uint32_t allowed_types) {
  const uint32_t type = memory_type(allowed_types);
  VkMemoryAllocateInfo info{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
  info.allocationSize = std::max(bytes, kChunkBytes);
  info.memoryTypeIndex = type;
  Chunk chunk;
  VkResult result = api().vkAllocateMemory(device_, &info, nullptr, &chunk.memory);
  if (result != VK_SUCCESS && info.allocationSize > bytes) {
    info.allocationSize = bytes;
    result = api().vkAllocateMemory(device_, &info, nullptr, &chunk.memory);
  }
  check(result, "vkAllocateMemory");
  chunk.bytes = info.allocationSize;
  chunk.free[0] = chunk.bytes;
  if ((properties_.memoryTypes[type].propertyFlags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0) {
    void* mapped = nullptr;
    check(api().vkMapMemory(device_, chunk.memory, 0, VK_WHOLE_SIZE, 0, &mapped), "vkMapMemory");
    chunk.mapped = static_cast<char*>(mapped);
  }
  chunks_.push_back(std::move(chunk));
  return chunks_.back();
}

bool Allocator::take(Chunk& chunk, VkDeviceSize bytes, VkDeviceSize alignment,
                     VkDeviceSize& offset) {
  for (auto piece = chunk.free.begin(); piece != chunk.free.end(); ++piece) {
    const auto [begin, size] = *piece;
    offset = round_up(begin, alignment);
    if (offset + bytes > begin + size) continue;
    chunk.free.erase(piece);
    if (offset > begin) chunk.free[begin] = offset - begin;
    if (offset + bytes < begin + size) chunk.free[offset + bytes] = begin + size - offset - bytes;
    return true;
  }
  return false;
}

Allocation Allocator::allocate(VkDeviceSize bytes) {
  VkBufferCreateInfo info{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  info.size = std::max<VkDeviceSize>(bytes, 4);
  info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |
               VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  Allocation made;
  check(api().vkCreateBuffer(device_, &info, nullptr, &made.buffer), "vkCreateBuffer");
  VkMemoryRequirements needs;
  api().vkGetBufferMemoryRequirements(device_, made.buffer, &needs);
  made.bytes = needs.size;
  try {
    for (Chunk& chunk : chunks_) {
      if (made.chunk == nullptr && take(chunk, needs.size, needs.alignment, made.offset)) {
        made.chunk = &chunk;
      }
    }
    if (made.chunk == nullptr) {
      made.chunk = &add_chunk(needs.size, needs.memoryTypeBits);
      take(*made.chunk, needs.size, needs.alignment, made.offset);
    }
    check(api().vkBindBufferMemory(device_, made.buffer, made.chunk->memory, made.offset),
          "vkBindBufferMemory");
  } catch (...) {
    api().vkDestroyBuffer(device_, made.buffer, nullptr);
    throw;
  }
  if (made.chunk->mapped != nullptr) made.mapped = made.chunk->mapped + made.offset;
  return made;
}

void Allocator::free(const Allocation& allocation) {
  api().vkDestroyBuffer(device_, allocation.buffer, nullptr);
  auto& free = allocation.chunk->free;
  auto piece = free.emplace(allocation.offset, allocation.bytes).first;
  if (const auto next = std::next(piece);
      next != free.end() && piece->first + piece->second == next->first) {
    piece->second += next->second;
    free.erase(next);
  }
  if (piece != free.begin()) {
    const auto before = std::prev(piece);
    if (before->first + before->second == piece->first) {
      before->second += piece->second;
      free.erase(piece);
    }
  }
  // One empty chunk is enough to keep.
  const auto is_empty = [](const Chunk& chunk) {
    return chunk.free.size() == 1 && chunk.free.begin()->second == chunk.bytes;
  };
  if (!is_empty(*allocation.chunk) || std::count_if(chunks_.begin(), chunks_.end(), is_empty) < 2) {
    return;
  }
  api().vkFreeMemory(device_, allocation.chunk->memory, nullptr);
  chunks_.remove_if([&](const Chunk& chunk) { return &chunk == allocation.chunk; });
}

}  // namespace nnef_vulkan
