#include "compile/schedule/cpu/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "compile/schedule/cpu/rules.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

constexpr int64_t kMaxUnrolledSteps = 180;
constexpr size_t kTilesPerVector = 3;

int64_t pieces_of(int64_t extent, int64_t size) { return (extent + size - 1) / size; }

/// Of the operands that move with the vector axis (`vector` true) or only with the parts.
double operand_bytes(const BlockInfo& info, const Tile& tile, bool vector) {
  double sum = 0;
  for (const Access& read : info.reads) {
    const bool moves = !read.steps[tile.vector_axis].is_none();
    if (moves == vector) sum += static_cast<double>(read.item_count() * (read.dtype.bits / 8));
  }
  return sum;
}

NestProblem nest_problem(const BlockInfo& info, const Tile& tile, const std::vector<Var>& weights) {
  NestProblem problem;
  problem.weights = std::all_of(info.reads.begin(), info.reads.end(), [&](const Access& read) {
    return read.steps[tile.vector_axis].is_none() || reads_weight(read, weights);
  });
  for (size_t axis : info.result_order()) {
    const TilePart* part = tile.part(axis);
    const int64_t extent = info.iterations[axis].extent;
    if (axis == tile.vector_axis || (!part && moves_with_vector(info, tile, axis))) continue;
    problem.tiles.push_back(pieces_of(extent, part ? part->extent : 1));
  }
  for (const Iteration& iteration : info.iterations) {
    if (iteration.reduces) problem.reduction = iteration.extent;
  }
  problem.pieces = pieces_of(info.iterations[tile.vector_axis].extent, tile.width());
  problem.tile_bytes = operand_bytes(info, tile, false);
  problem.piece_bytes = operand_bytes(info, tile, true);
  problem.item_bytes = info.writes[0].dtype.bits / 8;
  problem.result_bytes = static_cast<double>(info.spatial_volume() * problem.item_bytes);
  problem.outer_reduction = info.reduction_volume() / problem.reduction;
  problem.tile_items = tile.accumulators() * tile.lanes;
  return problem;
}

/// None where no operand is shared between pieces.
std::optional<Nest> nest_of(const BlockInfo& info, const Tile& tile,
                            const std::vector<Var>& weights, const CpuTraits& traits) {
  const bool shared = std::any_of(info.reads.begin(), info.reads.end(), [&](const Access& read) {
    return read.steps[tile.vector_axis].is_none();
  });
  if (!shared || tile.parts.empty() || info.open()) return std::nullopt;
  return choose_nest(nest_problem(info, tile, weights), traits);
}

bool is_possible(const Nest& nest, const NestProblem& problem) {
  const auto divides = [](int64_t extent, int64_t size) { return size > 0 && extent % size == 0; };
  const bool whole = nest.reduction_block == 0;
  if (!whole && !divides(problem.reduction, nest.reduction_block)) return false;
  if (!nest.chunks) return true;
  return nest.chunks->axis < problem.tiles.size() &&
         divides(problem.tiles[nest.chunks->axis], nest.chunks->count);
}

ReductionPlan tile_plan(const Tile& tile, const BlockInfo& info, const std::vector<Var>& weights,
                        const CpuTraits& traits) {
  return {.rule = ReductionPlan::Rule::kTile,
          .tile = tile,
          .nest = nest_of(info, tile, weights, traits),
          .unrolled = tile.unrolled};
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
    plans.push_back(tile_plan(tile, info, weights, traits));
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
  if (plan.nest) {
    const NestProblem problem = nest_problem(info, *tile, weights);
    if (!is_possible(*plan.nest, problem)) return false;
    plan.nest->prefetches = fetches_ahead(problem, *plan.nest, traits);
  }
  return !plan.unrolled || info.reduction_volume() * tile->accumulators() <= kMaxUnrolledSteps;
}

}  // namespace nnef_tvm
