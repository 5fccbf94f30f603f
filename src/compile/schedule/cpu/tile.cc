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
constexpr double kStreamedBytesPerCycle = 10;  // from the second cache
constexpr double kLoopCycles = 0.5;
constexpr double kDistance = 0.005;
constexpr double kGuardFactor = 1.2;   // guards around single results of a partial tile
constexpr double kScatterFactor = 1.5;  // loading or storing the lanes of a vector one by one
constexpr double kComplexFactor = 2;   // computing the address of each lane

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// One candidate's costs, given the axis that is vectorised.
class Candidate {
 public:
  Candidate(const TileProblem& problem, const CpuTraits& traits, size_t axis, int64_t lanes)
      : problem_(problem), traits_(traits), axis_(axis), lanes_(lanes) {}

  /// Whether a last piece that sticks out reads only packed, hence padded, memory.
  bool may_reach_beyond() const {
    return std::all_of(problem_.operands.begin(), problem_.operands.end(),
                       [&](const TileOperand& o) {
                         return o.steps[axis_].is_none() || o.packable[axis_];
                       }) &&
           packable_operand().has_value();
  }

  /// The one operand that can be packed; two would need two layouts of activations.
  std::optional<size_t> packable_operand() const {
    std::optional<size_t> found;
    for (size_t i = 0; i < problem_.operands.size(); ++i) {
      const TileOperand& operand = problem_.operands[i];
      if (operand.steps[axis_].is_none() || !operand.packable[axis_]) continue;
      if (found) return std::nullopt;
      found = i;
    }
    return found;
  }

  std::optional<Tile> evaluate(int64_t vectors, const std::vector<TilePart>& parts) const {
    Tile tile;
    tile.vector_axis = axis_;
    tile.lanes = lanes_;
    tile.vectors = vectors;
    tile.parts = parts;
    const int64_t extent = problem_.extents[axis_];
    tile.beyond = extent % tile.width() != 0;
    if (tile.beyond && !may_reach_beyond()) return std::nullopt;
    if (!fits_registers(tile)) return std::nullopt;
    const std::optional<size_t> packable = packable_operand();
    if (packable && (extent > tile.width() || tile.beyond ||
                     !problem_.operands[*packable].steps[axis_].is_unit())) {
      tile.packed = packable;
    }
    tile.cycles = cycles(tile);
    return tile;
  }

 private:

  /// How many different items (or vectors) of an operand one step of the reduction loads.
  double loads(const Tile& tile, size_t index) const {
    const TileOperand& operand = problem_.operands[index];
    double count = 1;
    for (const TilePart& part : tile.parts) {
      if (!operand.steps[part.axis].is_none()) count *= static_cast<double>(part.extent);
    }
    const Step& step = operand.steps[axis_];
    const bool stays = step.kind == Step::Kind::kComplex && step.run % tile.width() == 0;
    if (step.is_none() || stays) return count;
    count *= static_cast<double>(tile.vectors);
    if (step.is_unit() || tile.packed == index) return count;
    const double scattered = count * static_cast<double>(lanes_);
    return scattered * (step.kind == Step::Kind::kComplex ? kComplexFactor : kScatterFactor);
  }

  /// Accumulators, the vectors that all of them share, and one to load the other operand into.
  bool fits_registers(const Tile& tile) const {
    return tile.accumulators() + tile.vectors + 1 <= traits_.vector_registers;
  }

  /// What one step reads of operands that only the vector axis moves, when they do not stay in the first cache from
  /// one tile to the next.
  double streamed_bytes(const Tile& tile, double reduction) const {
    double bytes = 0;
    for (const TileOperand& operand : problem_.operands) {
      const bool shared = std::all_of(tile.parts.begin(), tile.parts.end(), [&](const TilePart& p) {
        return operand.steps[p.axis].is_none();
      });
      if (shared && !operand.steps[axis_].is_none()) {
        bytes += static_cast<double>(tile.width() * problem_.item_bytes);
      }
    }
    return bytes * reduction > traits_.l1_bytes ? bytes : 0;
  }

  double cycles(const Tile& tile) const {
    const double accumulators = static_cast<double>(tile.accumulators());
    double load_count = 0;
    for (size_t i = 0; i < problem_.operands.size(); ++i) load_count += loads(tile, i);
    double reduction = 1;
    double tiles = static_cast<double>(ceil_div(problem_.extents[axis_], tile.width()));
    for (size_t i = 0; i < problem_.extents.size(); ++i) {
      if (i == axis_) continue;
      const auto part = std::find_if(tile.parts.begin(), tile.parts.end(),
                                     [&](const TilePart& p) { return p.axis == i; });
      const int64_t size = part == tile.parts.end() ? 1 : part->extent;
      const double count = static_cast<double>(ceil_div(problem_.extents[i], size));
      (problem_.reduces[i] ? reduction : tiles) *= count;
    }
    const double step = std::max({accumulators / kPerCycle, load_count / kPerCycle, kLatency,
                                  streamed_bytes(tile, reduction) / kStreamedBytesPerCycle}) +
                        kLoopCycles;
    const bool scatters = !problem_.result_steps[axis_].is_unit() || tile.beyond;
    const double store =
        accumulators * (scatters ? static_cast<double>(lanes_) * kScatterFactor : 1) + 2 * kLatency;
    double total = tiles * (step * reduction + store);
    for (size_t i = 0; i < tile.parts.size(); ++i) {
      const TilePart& part = tile.parts[i];
      if (problem_.extents[part.axis] % part.extent != 0) total *= kGuardFactor;
      // Of two axes the later one is closer in memory.
      if (i + 1 < tile.parts.size()) total *= 1 + kDistance * static_cast<double>(part.extent);
    }
    const double cores = traits_.cores;
    return total * (std::max(1.0, static_cast<double>(ceil_div(
                                      static_cast<int64_t>(tiles), traits_.cores)) *
                                      cores / tiles));
  }

  const TileProblem& problem_;
  const CpuTraits& traits_;
  size_t axis_;
  int64_t lanes_;
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

}  // namespace

int64_t Tile::accumulators() const {
  int64_t count = vectors;
  for (const TilePart& part : parts) count *= part.extent;
  return count;
}

std::optional<Tile> choose_tile(const TileProblem& problem, const CpuTraits& traits) {
  std::optional<Tile> best;
  const int64_t most_lanes = std::max<int64_t>(1, traits.vector_bytes / problem.item_bytes);
  for (size_t axis = 0; axis < problem.extents.size(); ++axis) {
    if (problem.reduces[axis]) continue;
    const auto choices = part_choices(problem, axis, traits.vector_registers);
    for (int64_t lanes = problem.scalar[axis] ? 1 : most_lanes; lanes >= 1; lanes /= 2) {
      const Candidate candidate(problem, traits, axis, lanes);
      for (int64_t vectors = 1; vectors <= kMaxVectors; ++vectors) {
        if (vectors > 1 && (vectors - 1) * lanes >= problem.extents[axis]) break;
        for (const auto& parts : choices) {
          const auto tile = candidate.evaluate(vectors, parts);
          if (tile && (!best || tile->cycles < best->cycles)) best = tile;
        }
      }
    }
  }
  return best;
}

}  // namespace nnef_tvm
