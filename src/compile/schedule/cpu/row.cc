// Reductions along contiguous items: sums over the last axis, products with a transposed matrix.
#include <algorithm>

#include "compile/schedule/cpu/rules.h"

namespace nnef_tvm {
namespace {

constexpr double kHorizontalCycles = 3;  // adding up one lane at the end of a row

/// The reduced iteration along which every operand is contiguous (or stays in place).
std::optional<size_t> contiguous_reduction(const BlockInfo& info) {
  for (size_t i = 0; i < info.iterations.size(); ++i) {
    if (!info.iterations[i].reduces || info.work.condition_depends[i]) continue;
    const bool all = std::all_of(info.reads.begin(), info.reads.end(), [&](const Access& read) {
      return read.steps[i].is_none() || read.steps[i].is_unit();
    });
    const bool any = std::any_of(info.reads.begin(), info.reads.end(),
                                 [&](const Access& read) { return read.steps[i].is_unit(); });
    if (all && any) return i;
  }
  return std::nullopt;
}

int64_t full_lanes(const BlockInfo& info, const CpuTraits& traits) {
  return std::max(1, traits.vector_bytes / std::max(1, info.writes[0].dtype.bits / 8));
}

/// The widest vectors (a few registers, to hide their latency) that divide the extent; 1 when none
/// do.
int64_t lanes_for(int64_t extent, int64_t full) {
  for (int64_t lanes = 4 * full; lanes > 1; lanes /= 2) {
    if (extent % lanes == 0 && extent >= 2 * lanes) return lanes;
  }
  return 1;
}

}  // namespace

std::optional<double> row_reduction_cycles(const BlockInfo& info, const CpuTraits& traits) {
  const auto axis = contiguous_reduction(info);
  if (!axis || info.reads.size() > 2) return std::nullopt;
  const int64_t full = full_lanes(info, traits);
  const int64_t lanes = lanes_for(info.iterations[*axis].multiple, full);
  if (lanes == 1) return std::nullopt;
  const double steps = static_cast<double>(info.reduction_volume()) / static_cast<double>(lanes);
  const double step = std::max(4.0, static_cast<double>(lanes) / static_cast<double>(full));
  return static_cast<double>(info.spatial_volume()) *
         (steps * step + static_cast<double>(lanes) * kHorizontalCycles);
}

void schedule_row_reduction(TirSchedule& schedule, const BlockInfo& info, const CpuTraits& traits,
                            int64_t pieces) {
  const size_t axis = *contiguous_reduction(info);
  const int64_t lanes = lanes_for(info.iterations[axis].multiple, full_lanes(info, traits));
  const std::optional<BlockInfo> epilogue = epilogue_of(schedule, info);
  const std::vector<Loop> loops = schedule.loops(info.block);
  std::vector<Loop> order, spatial;
  for (size_t i : info.result_order()) spatial.push_back(loops[i]);
  order = spatial;
  for (size_t i = 0; i < loops.size(); ++i) {
    if (!info.iterations[i].reduces) continue;
    if (i != axis) order.push_back(loops[i]);
  }
  const std::vector<Loop> halves = schedule.split(loops[axis], {lanes});
  order.insert(order.end(), halves.begin(), halves.end());
  schedule.reorder(order);
  const Block partial =
      schedule.rfactor(halves[1], static_cast<int>(info.writes[0].indices.size()));
  schedule.set_scope(partial, 0, "local");
  // The loops now belong to the partial results; the block that adds them up has loops of its own.
  std::vector<Loop> final_loops = schedule.loops(info.block);
  final_loops.pop_back();
  if (!final_loops.empty()) schedule.compute_at(partial, final_loops.back(), false);
  if (epilogue && !final_loops.empty()) {
    schedule.reverse_compute_at(epilogue->block, final_loops.back(), true);
  }
  // Below the rows: the lanes, which are spatial now, and the reductions, in an order of TVM's.
  std::vector<Loop> inner = schedule.loops(partial);
  inner.erase(inner.begin(), inner.begin() + static_cast<std::ptrdiff_t>(final_loops.size()));
  if (!final_loops.empty()) {
    std::rotate(inner.begin(), inner.begin() + 1, inner.end());
    schedule.reorder(inner);
  }
  schedule.vectorize(inner.back());
  if (!final_loops.empty() && info.volume() >= kParallelThreshold) {
    parallelise(schedule, final_loops, pieces);
  }
  schedule.decompose_reduction(partial, inner.front());
}

}  // namespace nnef_tvm
