// Blocks without reductions, and the parallel loops of all blocks.
#include <algorithm>
#include <numeric>

#include "compile/schedule/cpu/rules.h"
#include "tvm/te.h"

namespace nnef_tvm {
namespace {

constexpr int64_t kCallCost = 20;  // of exp and the like, in simple operations

/// Whether two neighbouring iterations of an access can become one: it is contiguous over both, or
/// stays in place.
bool can_merge(const Access& access, size_t outer, size_t inner, int64_t inner_extent) {
  const Step& a = access.steps[outer];
  const Step& b = access.steps[inner];
  if (a.is_none() && b.is_none()) return true;
  return a.kind == Step::Kind::kLinear && b.kind == Step::Kind::kLinear &&
         a.stride == b.stride * inner_extent;
}

/// How many of the last axes of the result can be one loop.
size_t merged_axes(const BlockInfo& info, const std::vector<size_t>& order) {
  if (info.work.conditional) return 1;
  size_t count = 1;
  int64_t extent = info.iterations[order.back()].extent;
  while (count < order.size()) {
    const size_t outer = order[order.size() - count - 1];
    const size_t inner = order[order.size() - count];
    // Of merged axes, the innermost gives the step, the product of their extents the length.
    const auto merges = [&](const Access& access) {
      return can_merge(access, outer, inner, info.iterations[inner].extent);
    };
    if (!std::all_of(info.reads.begin(), info.reads.end(), merges)) break;
    extent *= info.iterations[outer].extent;
    ++count;
  }
  return count;
}

bool moves_by_items(const BlockInfo& info, size_t axis) {
  if (!info.writes[0].steps[axis].is_unit()) return false;
  return std::all_of(info.reads.begin(), info.reads.end(), [&](const Access& read) {
    return read.steps[axis].is_none() || read.steps[axis].is_unit();
  });
}

/// The extents of the parts of an axis in each of which the conditions stay the same; the whole
/// axis when there are no such parts.
std::vector<int64_t> unconditional_parts(const BlockInfo& info, size_t axis) {
  constexpr size_t kMostParts = 64;
  const auto& changes = info.work.condition_changes[axis];
  const int64_t extent = info.iterations[axis].extent;
  if (info.iterations[axis].open) return {extent};
  if (!changes || changes->size() >= kMostParts) return {extent};
  std::vector<int64_t> parts;
  int64_t begin = 0;
  for (int64_t change : *changes) {
    if (change <= begin || change >= extent) continue;
    parts.push_back(change - begin);
    begin = change;
  }
  parts.push_back(extent - begin);
  return parts;
}

int64_t lanes_for(int64_t extent, int64_t full, int64_t vectors) {
  for (int64_t lanes = vectors * full; lanes >= std::max<int64_t>(4, full / 2); lanes /= 2) {
    if (extent % lanes == 0) return lanes;
  }
  return 1;
}

int64_t operations(const BlockInfo& info) {
  return info.volume() * (1 + kCallCost * info.work.function_calls);
}

}  // namespace

void parallelise(TirSchedule& schedule, const std::vector<Loop>& loops, int64_t pieces) {
  std::vector<Loop> fused;
  int64_t count = 1;
  for (const Loop& loop : loops) {
    if (count >= pieces) break;
    const auto extent = known_int(field<PrimExpr>(schedule.node(loop), "extent"));
    count *= extent.value_or(kOpenExtent);
    fused.push_back(loop);
  }
  schedule.parallel(fused.size() == 1 ? fused[0] : schedule.fuse(fused));
}

namespace {

/// The loop over the last axis in vectors, and in parts whose conditions do not depend on it.
void vectorise_parts(TirSchedule& schedule, const Loop& row, const std::vector<int64_t>& parts,
                     int64_t lanes) {
  const std::vector<Loop> pieces = schedule.split(row, {lanes});
  schedule.vectorize(pieces[1]);
  std::vector<int64_t> steps;
  for (int64_t part : parts) steps.push_back(part / lanes);
  steps.pop_back();
  schedule.partition(pieces[0], steps);
}

}  // namespace

void schedule_elementwise(TirSchedule& schedule, const BlockInfo& info, const CpuTraits& traits,
                          int64_t vectors, int64_t pieces) {
  const std::vector<size_t> order = info.result_order();
  const std::vector<Loop> all = schedule.loops(info.block);
  std::vector<Loop> loops;
  for (size_t i : order) loops.push_back(all[i]);
  schedule.reorder(loops);
  const size_t merged = merged_axes(info, order);
  int64_t extent = 1;
  bool open = false;
  for (size_t i = order.size() - merged; i < order.size(); ++i) {
    extent *= info.iterations[order[i]].multiple;
    open = open || info.iterations[order[i]].open;
  }
  std::vector<Loop> inner(loops.end() - static_cast<std::ptrdiff_t>(merged), loops.end());
  loops.resize(loops.size() - merged);
  const Loop row = inner.size() == 1 ? inner[0] : schedule.fuse(inner);
  const int64_t full =
      std::max(1, traits.vector_bytes / std::max(1, info.writes[0].dtype.bits / 8));
  const bool parallel = operations(info) >= kParallelThreshold;
  const size_t last = order.back();
  const bool conditional = info.work.condition_depends[last];
  const std::vector<int64_t> parts = unconditional_parts(info, last);
  int64_t common = extent;
  if (conditional) {
    common = 0;
    for (int64_t part : parts) common = std::gcd(common, part);
  }
  const bool in_vectors = moves_by_items(info, last) && (!conditional || parts.size() > 1);
  const int64_t lanes = in_vectors ? lanes_for(common, full, vectors) : 1;
  if (conditional && lanes > 1 && !loops.empty()) {
    if (parallel) parallelise(schedule, loops, pieces);
    vectorise_parts(schedule, row, parts, lanes);
    return;
  }
  if (lanes == 1 && open && in_vectors && !loops.empty() && full > 1) {
    if (parallel) parallelise(schedule, loops, pieces);
    const PrimExpr whole = field<PrimExpr>(schedule.node(row), "extent");
    const Loop vectors = schedule.partition(row, floordiv(whole, full) * full)[0];
    schedule.vectorize(schedule.split(vectors, {full})[1]);
    return;
  }
  if (lanes > 1 && !conditional) {
    const std::vector<Loop> pieces = schedule.split(row, {lanes});
    schedule.vectorize(pieces[1]);
    loops.push_back(pieces[0]);
  } else if (loops.empty()) {
    loops.push_back(row);
  }
  if (parallel) parallelise(schedule, loops, pieces);
}

void schedule_any(TirSchedule& schedule, const BlockInfo& info, int64_t pieces) {
  const std::vector<Loop> all = schedule.loops(info.block);
  if (!schedule.has_trivial_binding(info.block) || all.size() != info.iterations.size()) return;
  std::vector<Loop> spatial;
  bool known = true;
  for (size_t i = 0; i < all.size() && !info.iterations[i].reduces; ++i) {
    spatial.push_back(all[i]);
    known = known && info.iterations[i].extent > 0;
  }
  if (spatial.empty() || (known && operations(info) < kParallelThreshold)) return;
  parallelise(schedule, spatial, pieces);
}

}  // namespace nnef_tvm
