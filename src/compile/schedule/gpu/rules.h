// The rules: each schedules one block of a PrimFunc (and what belongs to it), or throws
// tvm::ffi::Error.
#pragma once

#include <utility>
#include <vector>

#include "compile/schedule/cpu/block.h"
#include "compile/schedule/gpu/schedule.h"
#include "compile/schedule/gpu/tile.h"
#include "tvm/schedule.h"

namespace nnef_tvm::gpu {

/// Several items for each thread, as vectors where memory is contiguous.
void schedule_elementwise(TirSchedule& schedule, const BlockInfo& info, const GpuTraits& traits);

/// A tile of results for each thread, which reduces alone. Where that pays, `weights` are laid out
/// anew by blocks marked for split_layout_rewrites().
void schedule_tiled_reduction(TirSchedule& schedule, const BlockInfo& info, const Tile& tile,
                              const std::vector<Var>& weights, const GpuTraits& traits);

/// One group for each result, whose threads reduce together. Needs a shared memory.
void schedule_group_reduction(TirSchedule& schedule, const BlockInfo& info,
                              const GpuTraits& traits);
/// Whether there are so few results, of so many items each, that it pays.
bool wants_group_reduction(const BlockInfo& info, const GpuTraits& traits);

/// Any block: one thread for each iteration of its outer independent loops.
void schedule_any(TirSchedule& schedule, const Block& block, const GpuTraits& traits);

/// Loops over so many pieces of the results, outermost first, as groups of threads; returns the
/// loop over a group's threads.
Loop bind_results(TirSchedule& schedule, const std::vector<Loop>& loops, int64_t count,
                  const GpuTraits& traits);

/// The loops of a block in the order of its results' axes, and those that reduce.
std::vector<Loop> result_loops(const TirSchedule& schedule, const BlockInfo& info);
std::vector<Loop> reduced_loops(const TirSchedule& schedule, const BlockInfo& info);

}  // namespace nnef_tvm::gpu
