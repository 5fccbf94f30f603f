// Prefetches of weights, which come from memory once for each inference.
#include "compile/schedule/cpu/rules.h"
#include "tvm/prefetch.h"
#include "tvm/te.h"

namespace nnef_tvm {

void fetch_ahead(TirSchedule& schedule, const std::vector<Loop>& tiles, int64_t panel) {
  constexpr int64_t kItems = 32;  // two lines, which memory brings together
  std::vector<Loop> loops;
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (const Loop& loop : tiles) {
    const int64_t extent = known_int(field<PrimExpr>(schedule.node(loop), "extent")).value_or(1);
    if (extent == 1) continue;
    loops.push_back(loop);
    extents.push_back(extent);
    count *= extent;
  }
  if (loops.empty()) return;
  const int64_t share = (panel / count + kItems - 1) / kItems * kItems;
  schedule.annotate(loops.back(), kPrefetchItems, share);
  schedule.annotate(loops.back(), kPrefetchAhead, panel);
  int64_t step = share;
  for (size_t i = loops.size(); i-- > 0; step *= extents[i]) {
    schedule.annotate(loops[i], kPrefetchStep, step);
  }
}

}  // namespace nnef_tvm
