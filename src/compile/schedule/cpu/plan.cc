#include "compile/schedule/cpu/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "compile/schedule/cpu/rules.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

constexpr int64_t kMaxUnrolledReduction = 16;
constexpr int64_t kMaxUnrolledSteps = 160;
constexpr size_t kTilesPerVector = 3;

/// The order of the loops around a tile.
class LoopOrder {
 public:
  LoopOrder(const BlockInfo& info, const Tile& tile) : info_(info), tile_(tile) {}

  bool pieces_outermost(const CpuTraits& traits) const {
    if (all_move_with_vector() || tile_.parts.empty()) return false;
    const double others = bytes(false);
    if (others <= traits.l2_bytes) return true;
    const double pieces = static_cast<double>(info_.iterations[tile_.vector_axis].extent) /
                          static_cast<double>(tile_.width());
    return others * pieces + bytes(true) <= others + bytes(true) * rounds();
  }

 private:
  /// Into how many pieces the axes are cut that move no operand of the vector axis.
  double rounds() const {
    double count = 1;
    for (size_t i = 0; i < info_.iterations.size(); ++i) {
      const TilePart* part = tile_.part(i);
      const bool moves = moves_with_vector(info_, tile_, i);
      if (info_.iterations[i].reduces || i == tile_.vector_axis || moves) continue;
      count *= static_cast<double>(info_.iterations[i].extent) /
               static_cast<double>(part ? part->extent : 1);
    }
    return count;
  }

  /// Bytes read over the whole nest by operands that move with the vector axis (`vector` true) or
  /// only with the parts.
  double bytes(bool vector) const {
    double sum = 0;
    for (const Access& read : info_.reads) {
      const bool moves = !read.steps[tile_.vector_axis].is_none();
      if (moves == vector) sum += static_cast<double>(read.item_count() * (read.dtype.bits / 8));
    }
    return sum;
  }

  bool all_move_with_vector() const {
    return std::none_of(info_.reads.begin(), info_.reads.end(), [&](const Access& read) {
      return read.steps[tile_.vector_axis].is_none();
    });
  }

  const BlockInfo& info_;
  const Tile& tile_;
};

ReductionPlan tile_plan(const Tile& tile, const BlockInfo& info, const CpuTraits& traits) {
  const int64_t reduction = info.reduction_volume();
  return {.rule = ReductionPlan::Rule::kTile,
          .tile = tile,
          .pieces_outermost = LoopOrder(info, tile).pieces_outermost(traits),
          .unrolled = reduction <= kMaxUnrolledReduction &&
                      reduction * tile.accumulators() <= kMaxUnrolledSteps};
}

}  // namespace

bool moves_with_vector(const BlockInfo& info, const Tile& tile, size_t axis) {
  return std::any_of(info.reads.begin(), info.reads.end(), [&](const Access& read) {
    return !read.steps[tile.vector_axis].is_none() && !read.steps[axis].is_none();
  });
}

std::string kernel_key(const PrimFunc& function, const std::vector<bool>& weights) {
  // What names the function says nothing of it.
  const Expr nameless = without_function_attr(function, "global_symbol");
  std::string flags;
  for (const bool weight : weights) flags += weight ? 'w' : '.';
  return fmt::format("{:016x}{}", structural_hash(nameless), flags);
}

ReductionPlan plan_reduction(const BlockInfo& info, const std::vector<Var>& weights,
                             const CpuTraits& traits) {
  return rank_reduction_plans(info, weights, traits, 1).front();
}

std::vector<ReductionPlan> rank_reduction_plans(const BlockInfo& info,
                                                const std::vector<Var>& weights,
                                                const CpuTraits& traits, size_t limit) {
  if (!info.regular) return {{}};
  const size_t per_vector = limit == 1 ? 1 : kTilesPerVector;
  std::vector<ReductionPlan> plans;
  for (const Tile& tile : rank_tiles(tile_problem(info, weights), traits, per_vector, limit)) {
    plans.push_back(tile_plan(tile, info, traits));
  }
  if (const std::optional<double> row = row_reduction_cycles(info, traits)) {
    const auto place = std::find_if(plans.begin(), plans.end(), [&](const ReductionPlan& plan) {
      return *row < plan.tile.cycles;
    });
    plans.insert(place, ReductionPlan())->rule = ReductionPlan::Rule::kRow;
  }
  if (plans.empty()) plans.emplace_back();
  if (plans.size() > limit) plans.resize(limit);
  return plans;
}

bool complete_plan(ReductionPlan& plan, const BlockInfo& info, const std::vector<Var>& weights,
                   const CpuTraits& traits) {
  if (plan.rule == ReductionPlan::Rule::kGeneral) return true;
  if (!info.regular) return false;
  if (plan.rule == ReductionPlan::Rule::kRow) return row_reduction_cycles(info, traits).has_value();
  const auto tile = complete_tile(tile_problem(info, weights), plan.tile, traits);
  if (!tile) return false;
  plan.tile = *tile;
  return !plan.unrolled || info.reduction_volume() * tile->accumulators() <= kMaxUnrolledSteps;
}

}  // namespace nnef_tvm
