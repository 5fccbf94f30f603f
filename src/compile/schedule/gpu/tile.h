// The choice of a thread's tile: which results of a reduction it computes at once. Arithmetic only,
// so that it can be tested for any device.
#pragma once

#include <cstdint>
#include <vector>

#include "compile/schedule/cpu/block.h"
#include "compile/schedule/gpu/schedule.h"

namespace nnef_tvm::gpu {

/// So many neighbouring results along an axis.
struct TilePart {
  size_t axis;
  int64_t extent;
};

/// A thread's results: `vectors` of `lanes` along the result's last axis, for each item of the
/// parts.
struct Tile {
  size_t vector_axis = 0;
  int64_t lanes = 1;
  int64_t vectors = 1;
  std::vector<TilePart> parts;
  bool unrolled = false;  ///< all steps of the reduction

  int64_t width() const { return lanes * vectors; }
  int64_t results() const;
  int64_t extent(size_t axis) const;  ///< of the tile along an axis
};

/// How many neighbouring items along an axis can be one vector: the block's accesses are contiguous
/// along it, or stay in place, no condition depends on it, and the number divides its extent.
int64_t vector_lanes(const TirSchedule& schedule, const BlockInfo& info, size_t axis,
                     const GpuTraits& traits);

/// The cheapest tile; extents divide those of the axes.
Tile choose_tile(const TirSchedule& schedule, const BlockInfo& info, const GpuTraits& traits);

/// The greatest divisor of a number that is not greater than `most`.
int64_t greatest_divisor(int64_t number, int64_t most);

}  // namespace nnef_tvm::gpu
