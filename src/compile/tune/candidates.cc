#include "compile/tune/candidates.h"

#include <algorithm>

namespace nnef_tvm {
namespace {

constexpr int64_t kPieces[] = {1, 8, 32};
constexpr int64_t kVectors[] = {1, 2, 4, 8};

using Rule = ReductionPlan::Rule;

/// The longest list of plans for one reduction.
size_t longest(const KernelChoices& choices) {
  size_t length = 0;
  for (const auto& plans : choices.reductions) length = std::max(length, plans.size());
  return length;
}

/// Other orders of the loops around a tile.
std::vector<std::optional<Nest>> other_nests(const std::optional<Nest>& nest) {
  if (!nest) return {};
  std::vector<std::optional<Nest>> nests = {std::nullopt};
  if (nest->reduction_block > 0) nests.push_back(Nest{nest->chunks, 0});
  if (nest->chunks) nests.push_back(Nest{std::nullopt, 0});
  return nests;
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

std::vector<KernelPlan> variations(const KernelPlan& plan, const KernelChoices& choices) {
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
  return varied;
}

}  // namespace nnef_tvm
