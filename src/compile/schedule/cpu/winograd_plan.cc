#include "compile/schedule/cpu/winograd_plan.h"

#include <algorithm>

namespace nnef_tvm {
namespace {

constexpr int64_t kFloatBytes = 4;
constexpr int64_t kWindow = 9;
constexpr int64_t kMaxVectors = 4;
constexpr int64_t kMaxRows = 14;

// A model of a core, as in tile.cc.
constexpr double kPerCycle = 2;
constexpr double kLatency = 4;
constexpr double kLoopCycles = 0.5;
constexpr double kEfficiency = 0.8;      // of direct convolution: its tile is not always the best
constexpr double kStreamedPerCycle = 5;  // bytes from behind the second cache, for each core
constexpr double kInputCycles = 6;       // of both steps of a transform and its copies, for each
constexpr double kOutputCycles = 5;      // vector of the transformed items
constexpr double kGain = 0.8;            // less than this would not be worth larger weights
constexpr int64_t kFewestChannels = 16;
constexpr int64_t kFewestTiles = 4;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
double real(int64_t value) { return static_cast<double>(value); }

int64_t most_rows(int64_t vectors, const CpuTraits& traits) {
  return std::clamp<int64_t>((traits.vector_registers - vectors - 1) / vectors, 1, kMaxRows);
}

/// Of one product of a register tile.
double step_cycles(int64_t rows, int64_t vectors) {
  return std::max({real(rows * vectors) / kPerCycle, real(rows + vectors) / kPerCycle, kLatency}) +
         kLoopCycles;
}

/// Rates one way to cut the work.
class Rating {
 public:
  Rating(const WinogradProblem& problem, const WinogradPlan& plan, const CpuTraits& traits)
      : problem_(problem), plan_(plan), traits_(traits), cores_(traits.cores) {}

  double cycles() const {
    return (product() + transforms()) * imbalance() / cores_ + streamed() / kStreamedPerCycle;
  }

  /// Of the transformed input and of the product, for all blocks.
  double scratch_bytes() const {
    return items() * real(plan_.blocks * plan_.block_tiles) *
           real(problem_.channels + problem_.outputs) * kFloatBytes;
  }

 private:
  double items() const { return real(plan_.patch() * plan_.patch()); }
  int64_t pieces() const { return ceil_div(problem_.outputs, plan_.width()); }

  double product() const {
    const double steps = step_cycles(plan_.rows, plan_.vectors) * real(problem_.channels);
    const double stores = real(plan_.rows * plan_.vectors) + 2 * kLatency;
    return items() * real(plan_.blocks * (plan_.block_tiles / plan_.rows) * pieces()) *
           (steps + stores);
  }

  double transforms() const {
    const auto vectors = [&](int64_t extent) {
      return real(extent / dividing_lanes(extent, traits_));
    };
    return items() * real(plan_.blocks * plan_.block_tiles) *
           (kInputCycles * vectors(problem_.channels) + kOutputCycles * vectors(problem_.outputs));
  }

  double imbalance() const {
    if (plan_.blocks == 1) return 1;
    return real(ceil_div(plan_.blocks, traits_.cores)) * cores_ / real(plan_.blocks);
  }

  /// Bytes that each core reads or writes behind its second cache.
  double streamed() const {
    const double weights =
        items() * real(problem_.channels * pieces() * plan_.width()) * kFloatBytes;
    const double cache = real(traits_.l2_bytes);
    if (plan_.blocks == 1) {
      const double scratch = scratch_bytes() > cache * cores_ ? 2 * scratch_bytes() : 0;
      return (weights + scratch) / cores_;
    }
    const double block = scratch_bytes() / real(plan_.blocks);
    const double rounds = real(ceil_div(plan_.blocks, traits_.cores));
    const bool stays = weights + block <= cache;
    return weights * (stays ? 1 : rounds) + (block > cache ? 2 * block * rounds : 0);
  }

  const WinogradProblem& problem_;
  const WinogradPlan& plan_;
  const CpuTraits& traits_;
  double cores_;
};

/// What does not depend on how the work is cut.
WinogradPlan common_plan(const WinogradProblem& problem, int64_t tile, const CpuTraits& traits) {
  WinogradPlan plan;
  plan.tile = tile;
  plan.tile_rows = ceil_div(problem.height, tile);
  plan.tile_columns = ceil_div(problem.width, tile);
  plan.lanes = traits.vector_bytes / kFloatBytes;
  return plan;
}

/// One block, whose stages are parallel each by itself; tiles are filled up to a multiple of
/// `rows`.
WinogradPlan whole_plan(WinogradPlan plan, const WinogradProblem& problem, int64_t vectors,
                        int64_t rows, const CpuTraits& traits) {
  plan.vectors = vectors;
  plan.blocks = 1;
  plan.block_rows = problem.batch * plan.tile_rows;
  plan.block_tiles = ceil_div(plan.used_tiles(), rows) * rows;
  plan.rows = winograd_rows(plan.block_tiles, vectors, traits);
  plan.cycles = Rating(problem, plan, traits).cycles();
  return plan;
}

/// Blocks in parallel, each from its inputs to its results.
WinogradPlan block_plan(WinogradPlan plan, const WinogradProblem& problem, int64_t vectors,
                        int64_t block_rows, const CpuTraits& traits) {
  plan.vectors = vectors;
  plan.block_rows = block_rows;
  plan.blocks = problem.batch * plan.tile_rows / block_rows;
  plan.block_tiles = plan.used_tiles();
  plan.rows = winograd_rows(plan.block_tiles, vectors, traits);
  plan.cycles = Rating(problem, plan, traits).cycles();
  return plan;
}

}  // namespace

int64_t winograd_rows(int64_t tiles, int64_t vectors, const CpuTraits& traits) {
  int64_t rows = std::min(tiles, most_rows(vectors, traits));
  while (tiles % rows != 0) --rows;
  return rows;
}

int64_t dividing_lanes(int64_t extent, const CpuTraits& traits) {
  int64_t lanes = traits.vector_bytes / kFloatBytes;
  while (extent % lanes != 0) lanes /= 2;
  return lanes;
}

std::vector<WinogradPlan> rank_winograd(const WinogradProblem& problem, int64_t tile,
                                        const CpuTraits& traits, size_t limit) {
  const WinogradPlan common = common_plan(problem, tile, traits);
  std::vector<WinogradPlan> plans;
  for (int64_t vectors = 1; vectors <= kMaxVectors; ++vectors) {
    for (int64_t rows = 1; rows <= most_rows(vectors, traits); ++rows) {
      plans.push_back(whole_plan(common, problem, vectors, rows, traits));
    }
    for (int64_t block_rows = 1; block_rows <= common.tile_rows; ++block_rows) {
      const bool divides = common.tile_rows % block_rows == 0;
      const bool several = problem.batch * common.tile_rows > block_rows;
      if (divides && several) {
        plans.push_back(block_plan(common, problem, vectors, block_rows, traits));
      }
    }
  }
  std::stable_sort(plans.begin(), plans.end(), [](const WinogradPlan& a, const WinogradPlan& b) {
    return a.cycles < b.cycles;
  });
  // Different numbers of rows may fill up to the same tiles.
  const auto same = [](const WinogradPlan& a, const WinogradPlan& b) {
    return a.vectors == b.vectors && a.blocks == b.blocks && a.block_tiles == b.block_tiles;
  };
  plans.erase(std::unique(plans.begin(), plans.end(), same), plans.end());
  if (plans.size() > limit) plans.resize(limit);
  return plans;
}

std::optional<WinogradPlan> complete_winograd(const WinogradProblem& problem,
                                              const WinogradPlan& plan, const CpuTraits& traits) {
  for (const WinogradPlan& known : rank_winograd(problem, plan.tile, traits, SIZE_MAX)) {
    if (plan.vectors == known.vectors && plan.block_rows == known.block_rows &&
        plan.rows == known.rows) {
      return known;
    }
  }
  return std::nullopt;
}

WinogradPlan plan_winograd(const WinogradProblem& problem, int64_t tile, const CpuTraits& traits) {
  return rank_winograd(problem, tile, traits, 1).front();
}

double direct_cycles(const WinogradProblem& problem, const CpuTraits& traits) {
  const double lanes = real(traits.vector_bytes / kFloatBytes);
  const double padded = real(ceil_div(problem.outputs, traits.vector_bytes / kFloatBytes)) * lanes;
  const double steps =
      real(problem.batch * problem.height * problem.width * problem.channels) * kWindow * padded;
  const double weights = real(kWindow * problem.channels) * padded * kFloatBytes;
  return (steps / (lanes * kPerCycle * kEfficiency) + weights / kStreamedPerCycle) / traits.cores;
}

std::optional<WinogradPlan> choose_winograd(const WinogradProblem& problem, const CpuTraits& traits,
                                            WinogradUse use) {
  if (use == WinogradUse::kNever) return std::nullopt;
  if (use == WinogradUse::kSmallTiles) return plan_winograd(problem, 2, traits);
  if (use == WinogradUse::kLargeTiles) return plan_winograd(problem, 4, traits);
  if (std::min(problem.channels, problem.outputs) < kFewestChannels) return std::nullopt;
  const WinogradPlan small = plan_winograd(problem, 2, traits);
  const WinogradPlan large = plan_winograd(problem, 4, traits);
  const WinogradPlan& best = small.cycles < large.cycles ? small : large;
  if (best.blocks * best.used_tiles() < kFewestTiles) return std::nullopt;
  if (best.cycles > kGain * direct_cycles(problem, traits)) return std::nullopt;
  return best;
}

WinogradChoice winograd_choice(const CpuTraits& traits, WinogradUse use, WinogradPlans plans) {
  return [=, plans = std::move(plans)](const WinogradProblem& problem) {
    const auto known = plans.find(problem);
    return known != plans.end() ? known->second : choose_winograd(problem, traits, use);
  };
}

}  // namespace nnef_tvm
