// Blocks by themselves: elementwise ones, reductions with a thread or a group for each result, and
// whatever else there is.
#include <algorithm>
#include <utility>

#include "compile/schedule/cpu/rules.h"
#include "compile/schedule/gpu/rules.h"
#include "tvm/te.h"

namespace nnef_tvm::gpu {
namespace {

constexpr int64_t kGroup = 128;              // threads of a group, where nothing else decides
constexpr int64_t kGroupsPerCore = 16;       // where threads run one after another
constexpr int64_t kMaxSequential = 64;       // such threads in a group
constexpr int64_t kEnoughThreads = 1 << 14;  // to fill a device

int64_t group_size(const GpuTraits& traits) { return std::min(kGroup, traits.max_threads); }

/// Around all reductions: the results of one thread, its loops outermost.
Loop fuse_all(TirSchedule& schedule, const std::vector<Loop>& loops) {
  return loops.size() == 1 ? loops[0] : schedule.fuse(loops);
}

/// Threads that run one after another are few, so that there are groups for each core.
int64_t threads_of_group(int64_t count, const GpuTraits& traits) {
  const int64_t group = std::min(group_size(traits), std::max<int64_t>(1, count));
  if (traits.runs_in_step() || !traits.vector_registers) return group;
  const int64_t share = count / (kGroupsPerCore * traits.cores);
  return greatest_divisor(count, std::clamp<int64_t>(share, 1, std::min(group, kMaxSequential)));
}

}  // namespace

std::vector<Loop> result_loops(const TirSchedule& schedule, const BlockInfo& info) {
  const std::vector<Loop> all = schedule.loops(info.block);
  std::vector<Loop> loops;
  for (size_t i : info.result_order()) loops.push_back(all[i]);
  return loops;
}

std::vector<Loop> reduced_loops(const TirSchedule& schedule, const BlockInfo& info) {
  const std::vector<Loop> all = schedule.loops(info.block);
  std::vector<Loop> loops;
  for (size_t i = 0; i < all.size(); ++i) {
    if (info.iterations[i].reduces) loops.push_back(all[i]);
  }
  return loops;
}

Loop bind_results(TirSchedule& schedule, const std::vector<Loop>& loops, int64_t count,
                  const GpuTraits& traits) {
  const std::vector<Loop> pieces =
      schedule.split(fuse_all(schedule, loops), {threads_of_group(count, traits)});
  schedule.bind(pieces[0], "blockIdx.x");
  schedule.bind(pieces[1], "threadIdx.x");
  return pieces[1];
}

void schedule_elementwise(TirSchedule& schedule, const BlockInfo& info, const GpuTraits& traits) {
  std::vector<Loop> loops = result_loops(schedule, info);
  schedule.reorder(loops);
  const int64_t lanes = vector_lanes(schedule, info, info.result_order().back(), traits);
  int64_t count = info.volume();
  const bool enough = traits.vector_registers || count / lanes >= kEnoughThreads / 4;
  if (lanes > 1 && enough) {
    const std::vector<Loop> pieces = schedule.split(loops.back(), {lanes});
    loops.back() = pieces[0];
    bind_results(schedule, loops, count / lanes, traits);
    schedule.vectorize(pieces[1]);
    return;
  }
  bind_results(schedule, loops, count, traits);
}

bool wants_group_reduction(const BlockInfo& info, const GpuTraits& traits) {
  constexpr int64_t kFewItems = 64;
  return traits.warp > 1 && traits.shared_bytes > 0 && info.spatial_volume() < kEnoughThreads / 4 &&
         info.reduction_volume() >= kFewItems;
}

void schedule_group_reduction(TirSchedule& schedule, const BlockInfo& info,
                              const GpuTraits& traits) {
  const std::optional<BlockInfo> epilogue = epilogue_of(schedule, info);
  const std::vector<Loop> results = result_loops(schedule, info);
  const std::vector<Loop> reductions = reduced_loops(schedule, info);
  std::vector<Loop> order = results;
  order.insert(order.end(), reductions.begin(), reductions.end());
  schedule.reorder(order);
  const Loop result = fuse_all(schedule, results);
  const std::vector<Loop> pieces =
      schedule.split(fuse_all(schedule, reductions), {group_size(traits)});
  if (epilogue) {
    schedule.reverse_compute_at(epilogue->block, result, /*preserve_unit_loops=*/true);
    schedule.set_scope(info.block, 0, "shared");
  }
  schedule.bind(result, "blockIdx.x");
  schedule.bind(pieces[1], "threadIdx.x");
}

void schedule_any(TirSchedule& schedule, const Block& block, const GpuTraits& traits) {
  std::vector<Loop> independent;
  for (const Loop& loop : schedule.loops(block)) {
    if (!schedule.is_parallel(loop)) break;
    independent.push_back(loop);
  }
  if (independent.empty()) independent.push_back(schedule.add_unit_loop(block));
  int64_t count = 1;
  for (const Loop& loop : independent) {
    const auto extent = known_int(field<PrimExpr>(schedule.node(loop), "extent"));
    // TVM divides by the extents of loops that it fuses.
    if (extent == 0) return schedule.bind(loop, "blockIdx.x");
    count *= extent.value_or(kGroup);
  }
  bind_results(schedule, independent, count, traits);
}

}  // namespace nnef_tvm::gpu
