// Which intermediate results are stored, and which are computed where they are used.
#include <algorithm>

#include "compile/schedule/cpu/rules.h"

namespace nnef_tvm {
namespace {

/// Of an item of the producer in all of the consumer's iterations: how often it is computed when
/// inlined.
double repetition(const BlockInfo& producer, const BlockInfo& consumer) {
  return static_cast<double>(consumer.volume()) /
         static_cast<double>(std::max<int64_t>(1, producer.volume()));
}

/// Whether a reduction may take its padding inline: each lane of a vector reads items of its own
/// (as in poolings and depthwise convolutions), so that few results share an item, and the
/// condition is the same for all of them.
bool takes_padding(const BlockInfo& padding, const BlockInfo& consumer) {
  if (!consumer.regular || padding.work.function_calls > 0) return false;
  const size_t lane_axis = consumer.result_order().back();
  const bool own_items =
      std::none_of(consumer.reads.begin(), consumer.reads.end(),
                   [&](const Access& read) { return read.steps[lane_axis].is_none(); });
  const size_t last = padding.result_order().back();
  return own_items && !padding.work.condition_depends[last];
}

bool pays_inline(const BlockInfo& producer, const std::vector<BlockInfo>& consumers) {
  constexpr double kOnce = 1.05;
  const bool cheap = producer.work.function_calls == 0;
  double times = 0;
  for (const BlockInfo& consumer : consumers) times += repetition(producer, consumer);
  if (producer.work.plain_copy) return true;
  return std::all_of(consumers.begin(), consumers.end(), [&](const BlockInfo& consumer) {
    if (!consumer.reduction) return cheap || times <= kOnce;
    if (takes_padding(producer, consumer)) return true;
    return repetition(producer, consumer) <= kOnce && (cheap || times <= kOnce);
  });
}

}  // namespace

void inline_stage(TirSchedule& schedule, const Block& block) {
  const BlockInfo info = inspect(schedule, block);
  if (info.reduction || !info.regular || schedule.is_output(block)) return;
  std::vector<BlockInfo> consumers;
  for (const Block& consumer : schedule.consumers(block)) {
    consumers.push_back(inspect(schedule, consumer));
  }
  if (consumers.empty() || !pays_inline(info, consumers)) return;
  try {
    schedule.compute_inline(block);
  } catch (const ffi::Error&) {
    // TVM sees a dependence that forbids it: the block stays.
  }
}

void inline_stages(TirSchedule& schedule) {
  // Winograd's stages stay, and to see so by trying takes TVM long.
  if (is_winograd(schedule)) return;
  // From the last to the first, so that a chain collapses into its end.
  std::vector<Block> blocks = schedule.blocks();
  std::reverse(blocks.begin(), blocks.end());
  for (const Block& block : blocks) inline_stage(schedule, block);
}

}  // namespace nnef_tvm
