#include "compile/schedule/gpu/tile.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "tvm/ir_module.h"
#include "tvm/te.h"

namespace nnef_tvm::gpu {
namespace {

constexpr int64_t kMaxPart = 16;
constexpr size_t kPartAxes = 3;  // axes considered for the parts: the last ones
constexpr int64_t kMaxVectors = 4;
constexpr int64_t kMaxUnrolledReduction = 25;
constexpr int64_t kMaxUnrolledSteps = 100;

// A core of a CPU: two operations and two loads in each cycle, results after four.
constexpr double kPerCycle = 2;
constexpr double kLatency = 4;
constexpr double kLoopCycles = 0.5;
// A thread among others in step: an item to load costs as much as so many operations.
constexpr double kLoadCost = 2;
constexpr int64_t kMaxResults = 32;  // more keep other threads from the processor

constexpr int64_t kThreadsPerCore = 16;      // of CPUs, to share the work evenly
constexpr int64_t kEnoughThreads = 1 << 13;  // to fill other devices

/// Rates tiles of one block.
class Rating {
 public:
  Rating(const BlockInfo& info, const GpuTraits& traits) : info_(info), traits_(traits) {}

  /// Less is better: the time for all results, in arbitrary units.
  double cost(const Tile& tile) const {
    const auto results = static_cast<double>(tile.results());
    const double threads = static_cast<double>(info_.spatial_volume()) / results;
    const auto enough = static_cast<double>(
        traits_.vector_registers ? kThreadsPerCore * traits_.cores : kEnoughThreads);
    const double idle = std::max(1.0, enough / threads);
    return step(tile) / results * idle;
  }

  bool fits(const Tile& tile) const {
    if (!traits_.vector_registers)
      return tile.results() <= std::min(kMaxResults, traits_.registers);
    return tile.results() / tile.lanes + tile.vectors + 1 <= traits_.registers;
  }

 private:
  double step(const Tile& tile) const {
    double load_count = 0;
    for (const Access& read : info_.reads) load_count += loads(tile, read);
    if (!traits_.vector_registers) {
      return static_cast<double>(tile.results()) + kLoadCost * load_count + 1;
    }
    const auto operations = static_cast<double>(tile.results() / tile.lanes);
    return std::max({operations / kPerCycle, load_count / kPerCycle, kLatency}) + kLoopCycles;
  }

  /// How many different items (or vectors, where these are instructions) one step of the reduction
  /// loads. Neighbouring steps of an unrolled window share half of them.
  double loads(const Tile& tile, const Access& read) const {
    double count = 1;
    for (const TilePart& part : tile.parts) {
      if (!read.steps[part.axis].is_none()) count *= static_cast<double>(part.extent);
    }
    if (tile.unrolled && !tile.parts.empty()) count = count / 2 + 1;
    const Step& step = read.steps[tile.vector_axis];
    if (step.is_none()) return count;
    const bool as_vectors = traits_.vector_registers && step.is_unit() && tile.lanes > 1;
    return count * static_cast<double>(as_vectors ? tile.vectors : tile.width());
  }

  const BlockInfo& info_;
  const GpuTraits& traits_;
};

std::vector<int64_t> divisors(int64_t number, int64_t most) {
  std::vector<int64_t> found;
  for (int64_t i = 1; i <= std::min(number, most); ++i) {
    if (number % i == 0) found.push_back(i);
  }
  return found;
}

/// Parts of at most two axes of the last ones.
std::vector<std::vector<TilePart>> part_choices(const BlockInfo& info, size_t vector_axis) {
  std::vector<size_t> axes;
  const std::vector<size_t> order = info.result_order();
  for (size_t i = order.size(); i-- > 0 && axes.size() < kPartAxes;) {
    if (order[i] != vector_axis && info.iterations[order[i]].extent > 1) axes.push_back(order[i]);
  }
  std::vector<std::vector<TilePart>> choices = {{}};
  for (size_t first = 0; first < axes.size(); ++first) {
    for (int64_t a : divisors(info.iterations[axes[first]].extent, kMaxPart)) {
      if (a == 1) continue;
      choices.push_back({{axes[first], a}});
      for (size_t second = first + 1; second < axes.size(); ++second) {
        for (int64_t b : divisors(info.iterations[axes[second]].extent, kMaxPart / a)) {
          if (b > 1) choices.push_back({{axes[second], b}, {axes[first], a}});
        }
      }
    }
  }
  return choices;
}

/// Whether items decide in ways that TVM cannot write with vectors in OpenCL C: by "and", "or" and
/// "not".
bool combines_truths(const ObjectRef& block) {
  constexpr std::array<const char*, 3> kCombinations = {"prim.And", "prim.Or", "prim.Not"};
  constexpr std::array<std::string_view, 1> kLoad = {"ir.TensorLoad"};
  bool found = false;
  for (const char* key : kCombinations) {
    replace_objects(as<Expr>(block), key, [&](const ObjectRef& node) {
      found = found || holds_any(node, kLoad);
      return node;
    });
  }
  return found;
}

bool is_unrolled(const BlockInfo& info, const Tile& tile) {
  const int64_t steps = info.reduction_volume();
  return steps <= kMaxUnrolledReduction && steps * tile.results() / tile.lanes <= kMaxUnrolledSteps;
}

}  // namespace

int64_t Tile::results() const {
  int64_t count = width();
  for (const TilePart& part : parts) count *= part.extent;
  return count;
}

int64_t Tile::extent(size_t axis) const {
  if (axis == vector_axis) return width();
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const TilePart& part) { return part.axis == axis; });
  return found == parts.end() ? 1 : found->extent;
}

int64_t vector_lanes(const TirSchedule& schedule, const BlockInfo& info, size_t axis,
                     const GpuTraits& traits) {
  if (info.work.condition_depends[axis] || !info.writes[0].steps[axis].is_unit()) return 1;
  // Booleans are no vectors in OpenCL.
  if (is_boolean(info.writes[0].dtype)) return 1;
  int64_t bytes = info.writes[0].dtype.bits / 8;
  for (const Access& read : info.reads) {
    if (!read.steps[axis].is_none() && !read.steps[axis].is_unit()) return 1;
    if (is_boolean(read.dtype)) return 1;
    bytes = std::max<int64_t>(bytes, read.dtype.bits / 8);
  }
  if (bytes == 0 || combines_truths(schedule.node(info.block))) return 1;
  int64_t lanes = std::min(traits.max_lanes, traits.vector_bytes / bytes);
  while (lanes > 1 && info.iterations[axis].extent % lanes != 0) lanes /= 2;
  return std::max<int64_t>(1, lanes);
}

int64_t greatest_divisor(int64_t number, int64_t most) {
  const std::vector<int64_t> all = divisors(number, most);
  return all.empty() ? 1 : all.back();
}

Tile choose_tile(const TirSchedule& schedule, const BlockInfo& info, const GpuTraits& traits) {
  const Rating rating(info, traits);
  Tile best;
  double least = std::numeric_limits<double>::infinity();
  const size_t axis = info.result_order().back();
  const auto choices = part_choices(info, axis);
  for (int64_t lanes = vector_lanes(schedule, info, axis, traits); lanes >= 1; lanes /= 2) {
    for (int64_t vectors : divisors(info.iterations[axis].extent / lanes, kMaxVectors)) {
      for (const auto& parts : choices) {
        Tile tile{axis, lanes, vectors, parts};
        tile.unrolled = is_unrolled(info, tile);
        if (!rating.fits(tile)) continue;
        const double cost = rating.cost(tile);
        if (cost >= least) continue;
        least = cost;
        best = tile;
      }
    }
  }
  return best;
}

}  // namespace nnef_tvm::gpu
