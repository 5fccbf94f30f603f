// Schedules for devices whose kernels are grids of groups of threads: chosen for each fused
// PrimFunc by its structure and the target's limits.
#pragma once

#include <optional>

#include "nnef_runtime/devices.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// What the schedules need to know of a device.
struct GpuTraits {
  int64_t max_threads = 256;  ///< of a group
  int64_t shared_bytes = 0;   ///< that a group shares, where sharing pays
  /// Threads that run in step; 1 on devices that run a group's threads one after another, as CPUs
  /// do.
  int64_t warp = 1;
  int64_t vector_bytes = 16;  ///< of the widest load
  int64_t max_lanes = 4;      ///< of vectors in the kernels' language
  /// Whether vectors are single instructions (CPUs), or each of their items is one (GPUs, whose
  /// vectors are the threads).
  bool vector_registers = false;
  int64_t registers = 32;  ///< of vectors or of items, for a thread's results
  int64_t cores = 2;

  bool runs_in_step() const { return warp > 1; }
};

/// From the target, and what more is known of the device, if it is there.
GpuTraits gpu_traits(const Target& target, const std::optional<nnef_runtime::DeviceInfo>& device);

/// What kernels can use that are written in all languages.
GpuTraits portable(GpuTraits traits);

/// Schedules every PrimFunc of the module that is not scheduled yet. All loops that stay outside of
/// kernels are gone: what no rule takes runs as one thread for each independent iteration.
IRModule schedule_gpu(IRModule module, const Target& target, const GpuTraits& traits);

}  // namespace nnef_tvm
