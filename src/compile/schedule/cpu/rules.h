// The rules: each schedules one block of a PrimFunc (and what belongs to it), or throws
// tvm::ffi::Error. `pieces` is how many iterations parallel loops should have at least.
#pragma once

#include <optional>
#include <vector>

#include "compile/schedule/cpu/block.h"
#include "compile/schedule/cpu/plan.h"
#include "compile/schedule/cpu/schedule.h"
#include "compile/schedule/cpu/tile.h"
#include "tvm/schedule.h"

namespace nnef_tvm {

/// The blocks that reduce, in order.
std::vector<Block> reduction_blocks(const TirSchedule& schedule);

/// Inlines what need not be stored: data movement and arithmetic before other elementwise blocks,
/// and before reductions that use each item about once.
void inline_stages(TirSchedule& schedule);
/// The same for one block, where that pays.
void inline_stage(TirSchedule& schedule, const Block& block);

/// A reduction with its accumulators in registers, vectorised along a spatial axis; the elementwise
/// block that consumes its result, if any, in the same loops. Packed copies of `weights` are marked
/// for kPack.
void schedule_tiled_reduction(TirSchedule& schedule, const BlockInfo& info,
                              const ReductionPlan& plan, const std::vector<Var>& weights,
                              int64_t pieces);

/// A reduction along contiguous items, vectorised along them by partial results.
void schedule_row_reduction(TirSchedule& schedule, const BlockInfo& info, const CpuTraits& traits,
                            int64_t pieces);
/// An estimate like Tile::cycles; nullopt when the rule does not apply.
std::optional<double> row_reduction_cycles(const BlockInfo& info, const CpuTraits& traits);

/// Schedules the whole function when it is a chain of reductions along rows and of elementwise
/// stages on these rows. Whether it is.
bool fuse_rows(TirSchedule& schedule, const CpuTraits& traits);

/// With vectors of at most `vectors` registers.
void schedule_elementwise(TirSchedule& schedule, const BlockInfo& info, const CpuTraits& traits,
                          int64_t vectors, int64_t pieces);

/// Whether the function is a convolution by Winograd's method (kernels/winograd.h).
bool is_winograd(const TirSchedule& schedule);
/// Schedules such a function; returns the blocks that remain to be
/// scheduled. Nullopt, and no change, when the function is none.
std::optional<std::vector<Block>> schedule_winograd(TirSchedule& schedule, const CpuTraits& traits,
                                                    int64_t pieces);

/// Any block whose leading loops are spatial: these in parallel.
void schedule_any(TirSchedule& schedule, const BlockInfo& info, int64_t pieces);

/// The elementwise block that alone consumes the reduction's result, item by item.
std::optional<BlockInfo> epilogue_of(const TirSchedule& schedule, const BlockInfo& reduction);

TileProblem tile_problem(const BlockInfo& info, const std::vector<Var>& weights);

/// Fuses leading loops until there are so many iterations and makes them parallel. `loops` are
/// outermost first, all spatial, and nested directly.
void parallelise(TirSchedule& schedule, const std::vector<Loop>& loops, int64_t pieces);

/// Below so many operations, starting the threads costs more than they save.
inline constexpr int64_t kParallelThreshold = 32 << 10;

}  // namespace nnef_tvm
