// A device's memory: large pieces of it, cut up, since drivers allow few allocations and make each
// slowly.
#pragma once

#include <cstdint>
#include <list>
#include <map>

#include "runtime/vulkan/api.h"

namespace nnef_vulkan {

struct Chunk;

/// A buffer and its place.
struct Allocation {
  VkBuffer buffer = VK_NULL_HANDLE;
  Chunk* chunk = nullptr;
  VkDeviceSize offset = 0;  ///< in the chunk
  VkDeviceSize bytes = 0;
  char* mapped = nullptr;  ///< where the host sees it, if it does
};

struct Chunk {
  VkDeviceMemory memory = VK_NULL_HANDLE;
  VkDeviceSize bytes = 0;
  char* mapped = nullptr;
  std::map<VkDeviceSize, VkDeviceSize> free;  ///< offsets to sizes; neighbours are merged
};

/// Not thread-safe.
class Allocator {
 public:
  /// With memory of the properties `wanted`, or else of those `needed`.
  Allocator(VkPhysicalDevice physical, VkDevice device, VkMemoryPropertyFlags wanted,
            VkMemoryPropertyFlags needed);

  /// Throws tvm::ffi::Error when the device has no more.
  Allocation allocate(VkDeviceSize bytes);
  void free(const Allocation& allocation);

 private:
  uint32_t memory_type(uint32_t allowed) const;
  Chunk& add_chunk(VkDeviceSize bytes, uint32_t allowed_types);
  static bool take(Chunk& chunk, VkDeviceSize bytes, VkDeviceSize alignment, VkDeviceSize& offset);

  VkDevice device_;
  VkPhysicalDeviceMemoryProperties properties_{};
  VkMemoryPropertyFlags wanted_;
  VkMemoryPropertyFlags needed_;
  std::list<Chunk> chunks_;
};

}  // namespace nnef_vulkan
