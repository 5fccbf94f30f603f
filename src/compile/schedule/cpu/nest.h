// The order of the loops around a register tile, from what each core has to fetch. Arithmetic only,
// so that it can be tested for any CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compile/schedule/cpu/schedule.h"

namespace nnef_tvm {

/// Loops over tiles (of the axes that do not move with the vector axis) and over pieces of the
/// vector axis, all around a reduction.
struct NestProblem {
  std::vector<int64_t> tiles;  ///< along each of these axes, in the order of memory
  int64_t pieces = 1;
  double tile_bytes = 0;   ///< of operands that pieces share: the data of a convolution
  double piece_bytes = 0;  ///< of operands that tiles share: its weights
  bool weights = false;    ///< they are weights, known when the model is compiled
  double result_bytes = 0;
  int64_t reduction = 1;        ///< steps of the innermost reduced axis
  int64_t outer_reduction = 1;  ///< of the others together
  int64_t tile_items = 1;       ///< results of one tile for one piece
  int item_bytes = 4;
};

/// Cuts the tiles into parts, outside of the loop over pieces: all axes before `axis` whole, and
/// this one into so many pieces of equal size.
struct Chunks {
  size_t axis = 0;
  int64_t count = 1;
};

struct Nest {
  /// Each chunk takes all pieces before the next one begins; without, each piece takes all tiles.
  std::optional<Chunks> chunks;
  /// So many steps of the innermost reduced axis for all tiles before the next steps, with the
  /// results so far in memory; 0: all steps of a tile at once.
  int64_t reduction_block = 0;
  /// While the tiles take a piece (or a block of it), the next one is fetched into the second
  /// cache: weights come from memory once for each inference, too late for the first tile that
  /// reads them.
  bool prefetches = false;
};

/// Whether `prefetches` pays; it follows from the other choices.
bool fetches_ahead(const NestProblem& problem, const Nest& nest, const CpuTraits& traits);

Nest choose_nest(const NestProblem& problem, const CpuTraits& traits);

}  // namespace nnef_tvm
