#include "compile/tune/candidates.h"

#include <algorithm>
#include <optional>

namespace nnef_tvm {
namespace {

constexpr int64_t kPieces[] = {1, 8, 32};
constexpr int64_t kReductionBlocks[] = {0, 64, 256};
constexpr size_t kChunkedAxes = 2;
constexpr int64_t kChunks[] = {2, 4, 7, 14};
constexpr int64_t kVectors[] = {1, 2, 4, 8};

using Rule = ReductionPlan::Rule;

/// The longest list of plans for one reduction.
size_t longest(const KernelChoices& choices) {
  size_t length = 0;
  for (const auto& plans : choices.reductions) length = std::max(length, plans.size());
  return length;
}

std::vector<std::optional<Nest>> other_nests(const std::optional<Nest>& nest) {
  std::vector<std::optional<Nest>> others;
  if (nest) others.emplace_back();
  const auto add = [&](std::optional<Chunks> chunks, int64_t reduction_block) {
    others.push_back(Nest{chunks, reduction_block, nest && nest->prefetches && !chunks});
  };
  for (const int64_t block : kReductionBlocks) {
    const bool same = nest && !nest->chunks && nest->reduction_block == block;
    if (!same) add(std::nullopt, block);
  }
  for (size_t axis = 0; axis < kChunkedAxes; ++axis) {
    for (const int64_t count : kChunks) add(Chunks{axis, count}, 0);
  }
  return others;
}

}  // namespace

std::vector<KernelPlan> first_candidates(const KernelChoices& choices, size_t limit) {
  KernelPlan rule;
  for (const auto& plans : choices.reductions) rule.reductions.push_back(plans.front());
  std::vector<KernelPlan> candidates = {rule};
  if (choices.fused_rows) {
    candidates.push_back(rule);
    candidates.back().fused_rows = false;
  }
  for (size_t rank = 1; rank < longest(choices); ++rank) {
    for (size_t i = 0; i < choices.reductions.size(); ++i) {
      if (rank >= choices.reductions[i].size()) continue;
      candidates.push_back(rule);
      candidates.back().reductions[i] = choices.reductions[i][rank];
    }
  }
  if (candidates.size() > limit) candidates.resize(limit);
  return candidates;
}

std::vector<KernelPlan> variations(const KernelPlan& plan, const KernelChoices& choices,
                                   size_t limit) {
  std::vector<KernelPlan> varied;
  for (size_t i = 0; i < plan.reductions.size(); ++i) {
    if (plan.reductions[i].rule != Rule::kTile || plan.reductions[i].tile.parts.empty()) continue;
    for (const std::optional<Nest>& nest : other_nests(plan.reductions[i].nest)) {
      varied.push_back(plan);
      varied.back().reductions[i].nest = nest;
    }
  }
  for (const int64_t pieces : kPieces) {
    if (pieces == plan.pieces_per_core || choices.fused_rows) continue;
    varied.push_back(plan);
    varied.back().pieces_per_core = pieces;
  }
  for (const int64_t vectors : kVectors) {
    const bool only_items = plan.reductions.empty() && !choices.fused_rows;
    if (vectors == plan.item_vectors || !only_items) continue;
    varied.push_back(plan);
    varied.back().item_vectors = vectors;
  }
  if (varied.size() > limit) varied.resize(limit);
  return varied;
}

}  // namespace nnef_tvm
