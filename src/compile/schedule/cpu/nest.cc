#include "compile/schedule/cpu/nest.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace nnef_tvm {
namespace {

constexpr double kCacheShare = 0.75;      // of a cache, for what has to stay in it
constexpr double kUnhiddenWeights = 1.2;  // each byte that all cores fetch, compared to shared data
// The same of so many that no cache holds them from one inference to the next.
constexpr double kColdWeights = 4;
constexpr double kCold = 0.25;  // of a second cache

constexpr int64_t kMany = 3;

double real(int64_t value) { return static_cast<double>(value); }

int64_t product(const std::vector<int64_t>& extents, size_t count) {
  return std::accumulate(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(count),
                         int64_t{1}, std::multiplies<>());
}

/// The fewest chunks whose data stays in a second cache; the most there are when none does. Nullopt
/// when there are too few tiles. Either the same number for each core, or many of them, so that one
/// which is left over can be shared by splitting its pieces.
std::optional<Chunks> fitting_chunks(const NestProblem& problem, const CpuTraits& traits,
                                     bool even) {
  std::optional<Chunks> last;
  for (size_t axis = 0; axis < problem.tiles.size(); ++axis) {
    const int64_t before = product(problem.tiles, axis);
    for (int64_t count = 1; count <= problem.tiles[axis]; ++count) {
      const int64_t total = before * count;
      const bool suits = even ? total % traits.cores == 0 : total >= kMany * traits.cores;
      if (problem.tiles[axis] % count != 0 || !suits) continue;
      last = Chunks{axis, count};
      if (problem.tile_bytes / real(total) <= kCacheShare * traits.l2_bytes) return last;
    }
  }
  return last;
}

/// Bytes that one core fetches from beyond its second cache when each piece takes all tiles.
/// Neighbours in the network are split by tiles, so that all data comes from all cores.
double pieces_outermost(const NestProblem& problem, const CpuTraits& traits) {
  const double cores = traits.cores;
  const double rounds = problem.tile_bytes > kCacheShare * traits.l2_bytes
                            ? std::max(1.0, real(problem.pieces) / cores)
                            : 1;
  return problem.tile_bytes * (rounds - 1 / cores) + problem.result_bytes * (1 - 1 / cores) +
         problem.piece_bytes / cores;
}

double chunks_outermost(const NestProblem& problem, const Chunks& chunks, const CpuTraits& traits) {
  const double count = real(product(problem.tiles, chunks.axis) * chunks.count);
  const bool stays = problem.piece_bytes <= kCacheShare * traits.l2_bytes;
  const bool cold = problem.weights && problem.piece_bytes > kCold * traits.l2_bytes;
  return (cold ? kColdWeights : kUnhiddenWeights) * problem.piece_bytes *
         (stays ? 1 : count / traits.cores);
}

/// Of the innermost reduction, so that a piece's weights for it stay in the first cache while the
/// next ones come. The results of all tiles are loaded and stored once for each block.
int64_t reduction_block(const NestProblem& problem, const CpuTraits& traits) {
  constexpr int64_t kFewestSteps = 32;
  constexpr double kWholePiece = 0.7;       // of the first cache: what needs no blocks
  constexpr double kLargestResults = 0.25;  // of the second cache
  constexpr double kSmallResults = 0.5;     // of the first cache
  constexpr double kShortBlock = 0.25;      // of the first cache, where results stay in it
  constexpr double kLongBlock = 0.36;
  const int64_t tiles = product(problem.tiles, problem.tiles.size());
  const double piece = problem.piece_bytes / real(problem.pieces);
  const double results = real(tiles * problem.tile_items * problem.item_bytes);
  if (tiles < 2 || piece <= kWholePiece * traits.l1_bytes) return 0;
  if (results > kLargestResults * traits.l2_bytes) return 0;
  const double step = piece / real(problem.reduction * problem.outer_reduction);
  const double share = results <= kSmallResults * traits.l1_bytes ? kShortBlock : kLongBlock;
  int64_t block = std::min(problem.reduction, static_cast<int64_t>(share * traits.l1_bytes / step));
  while (block >= kFewestSteps && problem.reduction % block != 0) --block;
  const bool whole = block == problem.reduction && problem.outer_reduction == 1;
  return block < kFewestSteps || whole ? 0 : block;
}

}  // namespace

bool fetches_ahead(const NestProblem& problem, const Nest& nest, const CpuTraits& traits) {
  constexpr double kShortPiece = 4 << 10;  // bytes
  // The cores share the pieces alone.
  const bool even = problem.pieces % traits.cores == 0 && problem.pieces >= 2 * traits.cores;
  const bool again = product(problem.tiles, problem.tiles.size()) > 1;
  return again && !nest.chunks && (even || nest.reduction_block > 0) &&
         problem.piece_bytes / real(problem.pieces) > kShortPiece;
}

Nest choose_nest(const NestProblem& problem, const CpuTraits& traits) {
  Nest nest;
  auto chunks = fitting_chunks(problem, traits, /*even=*/true);
  if (!chunks) chunks = fitting_chunks(problem, traits, /*even=*/false);
  if (chunks && chunks_outermost(problem, *chunks, traits) <= pieces_outermost(problem, traits)) {
    nest.chunks = chunks;
  } else {
    nest.reduction_block = reduction_block(problem, traits);
  }
  nest.prefetches = fetches_ahead(problem, nest, traits);
  return nest;
}

}  // namespace nnef_tvm
