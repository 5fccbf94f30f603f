#include "compile/schedule/cpu/tile.h"

#include <algorithm>

namespace nnef_tvm {
namespace {

constexpr int64_t kMaxVectors = 8;
constexpr int64_t kMaxPart = 28;
constexpr size_t kPartAxes = 3;  // axes considered for the rest of the tile: the last ones

// A model of a core: two multiply-adds and two loads in each cycle, results after four.
constexpr double kPerCycle = 2;
constexpr double kLatency = 4;
constexpr double kLoopCycles = 0.5;
constexpr double kStreamedVectors = 0.35;  // from the second cache in each cycle
constexpr double kScatterFactor = 1.5;     // loading or storing the lanes of a vector one by one
constexpr double kComplexFactor = 2;       // computing the address of each lane
constexpr double kCopyCycles = 2;          // for each item of a packed copy
constexpr double kVectorCopies = 4;        // so many times faster where the pieces are contiguous
constexpr double kDistance = 0.005;
// Items of so many rows are read from where they are; more would be in each other's way in the
// first cache, whose ways are few.
constexpr int64_t kMaxRows = 8;
constexpr int64_t kMaxUnrolledReduction = 25;
constexpr int64_t kMaxUnrolledSteps = 180;
// An unrolled window also keeps its row of data and its weights in registers, for each result.
constexpr int64_t kWindowRegisters = 3;
constexpr double kConditional = 2.5;  // a condition for each load, of steps that are not unrolled
constexpr double kClamped = 1.12;  // rows with addresses of their own, conditions on their results

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Completes and rates tiles with a given vector.
class Candidate {
 public:
  Candidate(const TileProblem& problem, const CpuTraits& traits, size_t axis, int64_t lanes,
            int64_t vectors, bool packs_strided)
      : problem_(problem), traits_(traits) {
    for (size_t i = 0; i < problem.extents.size(); ++i) {
      if (problem.reduces[i]) reduction_ *= problem.extents[i];
      conditional_ = conditional_ || problem.scalar[i];
    }
    base_.vector_axis = axis;
    base_.lanes = lanes;
    base_.vectors = vectors;
    base_.packs_strided = packs_strided;
  }

  /// Nullopt when the vector axis has a rest that cannot be handled.
  std::optional<Tile> evaluate(const std::vector<TilePart>& parts) const {
    Tile tile = base_;
    tile.parts = parts;
    if (tile.accumulators() + tile.vectors + 1 > traits_.vector_registers) return std::nullopt;
    if (!pack_for_vectors(tile)) return std::nullopt;
    for (TilePart& part : tile.parts) pack_for_part(tile, part);
    tile.unrolled = reduction_ <= kMaxUnrolledReduction &&
                    reduction_ * tile.accumulators() <= kMaxUnrolledSteps;
    tile.cycles = cycles(tile);
    return tile;
  }

 private:
  bool has_rest(size_t axis, int64_t width) const { return problem_.extents[axis] % width != 0; }
  bool is_open(size_t axis) const { return !problem_.open.empty() && problem_.open[axis]; }

  /// Packs all operands that move with the axis; false, and no change, when one cannot be.
  bool pack_all(Tile& tile, size_t axis, int64_t width) const {
    std::vector<Packing> added;
    for (size_t i = 0; i < problem_.operands.size(); ++i) {
      const TileOperand& operand = problem_.operands[i];
      if (operand.steps[axis].is_none()) continue;
      if (!operand.packable[axis] || tile.packs(i)) return false;
      added.push_back({i, axis, width});
    }
    tile.packings.insert(tile.packings.end(), added.begin(), added.end());
    return !added.empty();
  }

  bool pack_for_vectors(Tile& tile) const {
    const size_t axis = tile.vector_axis;
    if (has_rest(axis, tile.width())) {
      tile.beyond = true;
      return pack_all(tile, axis, tile.width());
    }
    for (size_t i = 0; i < problem_.operands.size(); ++i) {
      const TileOperand& operand = problem_.operands[i];
      const Step& step = operand.steps[axis];
      if (step.is_none() || !operand.packable[axis]) continue;
      const bool pays = operand.weight ? problem_.extents[axis] > tile.width() || !step.is_unit()
                                       : tile.packs_strided && !step.is_unit();
      if (pays) tile.packings.push_back({i, axis, tile.width()});
    }
    return true;
  }

  void pack_for_part(Tile& tile, TilePart& part) const {
    part.beyond = has_rest(part.axis, part.extent);
    if (!part.beyond) return;
    part.clamped =
        is_open(part.axis) || part.extent <= kMaxRows || !pack_all(tile, part.axis, part.extent);
  }

  /// How many different items (or vectors) of an operand one step of the reduction loads.
  double loads(const Tile& tile, size_t index) const {
    const TileOperand& operand = problem_.operands[index];
    double count = 1;
    for (const TilePart& part : tile.parts) {
      if (!operand.steps[part.axis].is_none()) count *= static_cast<double>(part.extent);
    }
    const Step& step = operand.steps[tile.vector_axis];
    const bool stays = step.kind == Step::Kind::kComplex && step.run % tile.width() == 0;
    if (step.is_none() || stays) return count;
    count *= static_cast<double>(tile.vectors);
    if (step.is_unit() || packed_for_vectors(tile, index)) return count;
    const double scattered = count * static_cast<double>(tile.lanes);
    return scattered * (step.kind == Step::Kind::kComplex ? kComplexFactor : kScatterFactor);
  }

  bool packed_for_vectors(const Tile& tile, size_t operand) const {
    return std::any_of(tile.packings.begin(), tile.packings.end(), [&](const Packing& p) {
      return p.operand == operand && p.axis == tile.vector_axis;
    });
  }

  double tile_items(const Tile& tile, const TileOperand& operand) const {
    double items =
        operand.steps[tile.vector_axis].is_none() ? 1 : static_cast<double>(tile.width());
    for (const TilePart& part : tile.parts) {
      if (!operand.steps[part.axis].is_none()) items *= static_cast<double>(part.extent);
    }
    return items;
  }

  /// Whether each step of the reduction reads other items, as in products of matrices.
  bool reads_each_once(const TileOperand& operand) const {
    double moved = 1;
    for (size_t i = 0; i < problem_.extents.size(); ++i) {
      if (!operand.steps[i].is_none()) moved *= static_cast<double>(problem_.extents[i]);
    }
    return moved <= static_cast<double>(operand.items);
  }

  /// What one step reads of operands that do not stay in the first cache from one tile to the
  /// next: those that only the vector axis moves, when they are too large, and then also those
  /// that only the parts move.
  double streamed_bytes(const Tile& tile, double reduction) const {
    double shared = 0, others = 0;
    for (const TileOperand& operand : problem_.operands) {
      const bool moved_by_part =
          std::any_of(tile.parts.begin(), tile.parts.end(),
                      [&](const TilePart& p) { return !operand.steps[p.axis].is_none(); });
      const bool moved_by_vector = !operand.steps[tile.vector_axis].is_none();
      const double bytes = tile_items(tile, operand) * problem_.item_bytes;
      if (moved_by_vector && !moved_by_part) shared += bytes;
      if (moved_by_part && !moved_by_vector && reads_each_once(operand)) others += bytes;
    }
    return shared * reduction > traits_.l1_bytes ? shared + others : 0;
  }

  double step_cycles(const Tile& tile, double reduction) const {
    const auto products = static_cast<double>(tile.accumulators()) / kPerCycle;
    if (conditional_ && tile.unrolled) {
      // Conditions are constants or shared; neighbouring steps share what they load.
      const bool fits = tile.accumulators() * kWindowRegisters <= traits_.vector_registers;
      return products * (fits ? 1 : kConditional) + kLoopCycles;
    }
    double load_count = 0;
    for (size_t i = 0; i < problem_.operands.size(); ++i) load_count += loads(tile, i);
    if (conditional_) load_count *= kConditional;
    const double streamed = streamed_bytes(tile, reduction) / traits_.vector_bytes;
    // What comes from the second cache also takes the first cache's time.
    return std::max({products, load_count / kPerCycle + streamed, kLatency,
                     streamed / kStreamedVectors}) +
           kLoopCycles;
  }

  double store_cycles(const Tile& tile) const {
    const bool scatters = !problem_.result_steps[tile.vector_axis].is_unit();
    const double lanes = scatters ? static_cast<double>(tile.lanes) * kScatterFactor : 1;
    return static_cast<double>(tile.accumulators()) * lanes + 2 * kLatency;
  }

  double penalties(const Tile& tile) const {
    double factor = 1;
    for (size_t i = 0; i < tile.parts.size(); ++i) {
      const TilePart& part = tile.parts[i];
      if (part.clamped) factor *= kClamped;
      // Of two axes the later one is closer in memory.
      if (i + 1 < tile.parts.size()) factor *= 1 + kDistance * static_cast<double>(part.extent);
    }
    return factor;
  }

  double copies(const Tile& tile) const {
    double items = 0;
    for (const Packing& packing : tile.packings) {
      const TileOperand& operand = problem_.operands[packing.operand];
      if (operand.weight) continue;
      const bool by_vectors =
          packing.axis == tile.vector_axis && operand.steps[packing.axis].is_unit();
      items += static_cast<double>(operand.items) / (by_vectors ? kVectorCopies : 1);
    }
    return items * kCopyCycles;
  }

  double cycles(const Tile& tile) const {
    double reduction = 1;
    double tiles = 1;
    for (size_t i = 0; i < problem_.extents.size(); ++i) {
      const TilePart* part = tile.part(i);
      const int64_t size = i == tile.vector_axis ? tile.width() : part ? part->extent : 1;
      const double count = static_cast<double>(ceil_div(problem_.extents[i], size));
      (problem_.reduces[i] ? reduction : tiles) *= count;
    }
    const double rounds =
        static_cast<double>(ceil_div(static_cast<int64_t>(tiles), traits_.cores)) * traits_.cores;
    return rounds * (step_cycles(tile, reduction) * reduction + store_cycles(tile)) *
               penalties(tile) +
           copies(tile);
  }

  const TileProblem& problem_;
  const CpuTraits& traits_;
  int64_t reduction_ = 1;     ///< steps
  bool conditional_ = false;  ///< loads have conditions: padding
  Tile base_;
};

/// All ways to take at most two of the axes into the tile, with their sizes.
std::vector<std::vector<TilePart>> part_choices(const TileProblem& problem, size_t vector_axis,
                                                int64_t limit) {
  std::vector<size_t> axes;
  for (size_t i = problem.extents.size(); i-- > 0 && axes.size() < kPartAxes;) {
    if (i == vector_axis || problem.reduces[i] || problem.extents[i] == 1) continue;
    axes.push_back(i);
  }
  std::vector<std::vector<TilePart>> choices = {{}};
  auto sizes = [&](size_t axis, int64_t room) {
    return std::min({problem.extents[axis], kMaxPart, room});
  };
  for (size_t first = 0; first < axes.size(); ++first) {
    for (int64_t a = 2; a <= sizes(axes[first], limit); ++a) {
      choices.push_back({{axes[first], a}});
      for (size_t second = first + 1; second < axes.size(); ++second) {
        for (int64_t b = 2; b <= sizes(axes[second], limit / a); ++b) {
          choices.push_back({{axes[second], b}, {axes[first], a}});
        }
      }
    }
  }
  return choices;
}

int64_t full_lanes(const TileProblem& problem, const CpuTraits& traits) {
  return std::max<int64_t>(1, traits.vector_bytes / problem.item_bytes);
}

bool is_cheaper(const Tile& a, const Tile& b) { return a.cycles < b.cycles; }

struct VectorChoice {
  size_t axis;
  int64_t lanes;
  int64_t vectors;
};

/// Adds the cheapest tiles with a given vector.
void add_cheapest(std::vector<Tile>& ranking, const TileProblem& problem, const CpuTraits& traits,
                  const VectorChoice& vector, const std::vector<std::vector<TilePart>>& choices,
                  size_t count) {
  std::vector<Tile> best;
  const auto add = [&](const Tile& tile) {
    const auto place = std::upper_bound(best.begin(), best.end(), tile, is_cheaper);
    if (place == best.end() && best.size() >= count) return;
    best.insert(place, tile);
    if (best.size() > count) best.pop_back();
  };
  const auto candidate = [&](bool packs_strided) {
    return Candidate(problem, traits, vector.axis, vector.lanes, vector.vectors, packs_strided);
  };
  const Candidate packing = candidate(true);
  const Candidate gathering = candidate(false);
  for (const auto& parts : choices) {
    const auto packed = packing.evaluate(parts);
    if (packed) add(*packed);
    const auto gathered = gathering.evaluate(parts);
    if (gathered && (!packed || gathered->packings.size() != packed->packings.size())) {
      add(*gathered);
    }
  }
  ranking.insert(ranking.end(), best.begin(), best.end());
}

}  // namespace

int64_t Tile::accumulators() const {
  int64_t count = vectors;
  for (const TilePart& part : parts) count *= part.extent;
  return count;
}

bool Tile::reaches_beyond() const {
  return beyond ||
         std::any_of(parts.begin(), parts.end(), [](const TilePart& part) { return part.beyond; });
}

const TilePart* Tile::part(size_t axis) const {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const TilePart& part) { return part.axis == axis; });
  return found == parts.end() ? nullptr : &*found;
}

bool Tile::packs(size_t operand) const {
  return std::any_of(packings.begin(), packings.end(),
                     [&](const Packing& packing) { return packing.operand == operand; });
}

std::optional<Tile> complete_tile(const TileProblem& problem, const Tile& tile,
                                  const CpuTraits& traits) {
  std::vector<bool> used(problem.extents.size(), false);
  const auto take = [&](size_t axis, int64_t extent, int64_t most) {
    if (axis >= used.size() || used[axis] || problem.reduces[axis]) return false;
    used[axis] = true;
    return extent >= 1 && extent <= most;
  };
  const int64_t most_lanes =
      tile.vector_axis < problem.scalar.size() && problem.scalar[tile.vector_axis]
          ? 1
          : full_lanes(problem, traits);
  if (tile.lanes < 1 || tile.lanes > most_lanes || most_lanes % tile.lanes != 0) {
    return std::nullopt;
  }
  if (!take(tile.vector_axis, tile.vectors, kMaxVectors)) return std::nullopt;
  std::vector<TilePart> parts;
  for (const TilePart& part : tile.parts) {
    const int64_t most =
        part.axis < problem.extents.size() ? std::min(problem.extents[part.axis], kMaxPart) : 0;
    if (!take(part.axis, part.extent, most)) return std::nullopt;
    parts.push_back({part.axis, part.extent});
  }
  return Candidate(problem, traits, tile.vector_axis, tile.lanes, tile.vectors, tile.packs_strided)
      .evaluate(parts);
}

std::vector<Tile> rank_tiles(const TileProblem& problem, const CpuTraits& traits, size_t per_vector,
                             size_t limit) {
  std::vector<Tile> ranking;
  const int64_t full = full_lanes(problem, traits);
  for (size_t axis = 0; axis < problem.extents.size(); ++axis) {
    if (problem.reduces[axis]) continue;
    const auto choices = part_choices(problem, axis, traits.vector_registers);
    for (int64_t lanes = problem.scalar[axis] ? 1 : full; lanes >= 1; lanes /= 2) {
      for (int64_t vectors = 1; vectors <= kMaxVectors; ++vectors) {
        if (vectors > 1 && (vectors - 1) * lanes >= problem.extents[axis]) break;
        add_cheapest(ranking, problem, traits, {axis, lanes, vectors}, choices, per_vector);
      }
    }
  }
  std::stable_sort(ranking.begin(), ranking.end(), is_cheaper);
  if (ranking.size() > limit) ranking.resize(limit);
  return ranking;
}

std::optional<Tile> choose_tile(const TileProblem& problem, const CpuTraits& traits) {
  const std::vector<Tile> best = rank_tiles(problem, traits, 1, 1);
  return best.empty() ? std::nullopt : std::optional(best.front());
}

}  // namespace nnef_tvm
