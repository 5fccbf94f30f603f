// Schedules for devices whose kernels are grids of groups of threads: chosen for each fused
// PrimFunc by its structure and the target's limits.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// What the schedules need to know of a device.
struct GpuTraits {
  int64_t max_threads = 256;  ///< of a group
  int64_t shared_bytes = 0;   ///< that a group shares, where sharing pays
  /// Threads that run in step; 1 on devices that run a group's threads one after another, as CPUs
  /// do.
  int64_t warp = 1;
};

GpuTraits gpu_traits(const Target& target);

/// Schedules every PrimFunc of the module that is not scheduled yet. All loops that stay outside of
/// kernels are gone: what no rule takes runs as one thread for each independent iteration.
IRModule schedule_gpu(IRModule module, const Target& target);

}  // namespace nnef_tvm
