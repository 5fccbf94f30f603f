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
constexpr int64_t kMaxLanes = 4;             // of a vector, in shaders
constexpr int64_t kVectorBytes = 16;         // of a load or store
constexpr int64_t kEnoughThreads = 1 << 14;  // to fill a device

int64_t group_size(const GpuTraits& traits) { return std::min(kGroup, traits.max_threads); }

/// The loops of a block in the order of its results' axes.
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

/// How many neighbouring items one thread can take as a vector: all accesses are contiguous along
/// the last axis, or stay in place, and no condition depends on it.
int64_t vector_lanes(const BlockInfo& info) {
  const size_t axis = info.result_order().back();
  if (info.work.condition_depends[axis] || !info.writes[0].steps[axis].is_unit()) return 1;
  int64_t bytes = info.writes[0].dtype.bits / 8;
  for (const Access& read : info.reads) {
    if (!read.steps[axis].is_none() && !read.steps[axis].is_unit()) return 1;
    bytes = std::max<int64_t>(bytes, read.dtype.bits / 8);
  }
  // Booleans are no vectors in OpenCL.
  const auto is_boolean_access = [](const Access& access) { return is_boolean(access.dtype); };
  if (bytes == 0 || is_boolean_access(info.writes[0]) ||
      std::any_of(info.reads.begin(), info.reads.end(), is_boolean_access)) {
    return 1;
  }
  for (int64_t lanes = std::min(kMaxLanes, kVectorBytes / bytes); lanes > 1; lanes /= 2) {
    if (info.iterations[axis].extent % lanes == 0) return lanes;
  }
  return 1;
}

/// Around all reductions: the results of one thread, its loops outermost.
Loop fuse_all(TirSchedule& schedule, const std::vector<Loop>& loops) {
  return loops.size() == 1 ? loops[0] : schedule.fuse(loops);
}

}  // namespace

Loop bind_results(TirSchedule& schedule, const std::vector<Loop>& loops, int64_t count,
                  const GpuTraits& traits) {
  const int64_t group = std::min(group_size(traits), std::max<int64_t>(1, count));
  const std::vector<Loop> pieces = schedule.split(fuse_all(schedule, loops), {group});
  schedule.bind(pieces[0], "blockIdx.x");
  schedule.bind(pieces[1], "threadIdx.x");
  return pieces[1];
}

void schedule_elementwise(TirSchedule& schedule, const BlockInfo& info, const GpuTraits& traits) {
  std::vector<Loop> loops = result_loops(schedule, info);
  schedule.reorder(loops);
  const int64_t lanes = vector_lanes(info);
  int64_t count = info.volume();
  if (lanes > 1 && count / lanes >= kEnoughThreads / 4) {
    const std::vector<Loop> pieces = schedule.split(loops.back(), {lanes});
    loops.back() = pieces[0];
    bind_results(schedule, loops, count / lanes, traits);
    schedule.vectorize(pieces[1]);
    return;
  }
  bind_results(schedule, loops, count, traits);
}

namespace {

/// A reduction's loops over results, made the outer ones, and over what it reduces.
std::pair<std::vector<Loop>, std::vector<Loop>> ordered_loops(TirSchedule& schedule,
                                                              const BlockInfo& info) {
  const std::vector<Loop> results = result_loops(schedule, info);
  const std::vector<Loop> reductions = reduced_loops(schedule, info);
  std::vector<Loop> order = results;
  order.insert(order.end(), reductions.begin(), reductions.end());
  schedule.reorder(order);
  return {results, reductions};
}

}  // namespace

void schedule_reduction(TirSchedule& schedule, const BlockInfo& info, const GpuTraits& traits) {
  const std::optional<BlockInfo> epilogue = epilogue_of(schedule, info);
  const auto [results, reductions] = ordered_loops(schedule, info);
  const Block store = schedule.cache_write(info.block, 0, "local");
  const Loop thread = bind_results(schedule, results, info.spatial_volume(), traits);
  schedule.reverse_compute_at(store, thread, /*preserve_unit_loops=*/true);
  if (epilogue) schedule.reverse_compute_inline(epilogue->block);
  schedule.decompose_reduction(info.block, reductions.front());
}

bool wants_group_reduction(const BlockInfo& info, const GpuTraits& traits) {
  constexpr int64_t kFewItems = 64;
  return traits.warp > 1 && traits.shared_bytes > 0 && info.spatial_volume() < kEnoughThreads / 4 &&
         info.reduction_volume() >= kFewItems;
}

void schedule_group_reduction(TirSchedule& schedule, const BlockInfo& info,
                              const GpuTraits& traits) {
  const std::optional<BlockInfo> epilogue = epilogue_of(schedule, info);
  const auto [results, reductions] = ordered_loops(schedule, info);
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
