// The choice of a register tile for a reduction: which axis goes into vectors, and how many results
// are accumulated in registers at once. Arithmetic only, so that it can be tested for any CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compile/schedule/cpu/block.h"
#include "compile/schedule/cpu/schedule.h"

namespace nnef_tvm {

struct TileOperand {
  std::vector<Step> steps;     ///< one per axis
  std::vector<bool> packable;  ///< one per axis: a copy may have pieces of that axis innermost
  bool weight = false;         ///< copies are made when the model is compiled
  int64_t items = 0;
};

/// result[spatial axes] = reduction over the others of an expression of the operands.
struct TileProblem {
  std::vector<int64_t> extents;
  std::vector<bool> open{};  ///< symbolic extents; empty when all are known
  std::vector<bool> reduces;
  std::vector<bool>
      scalar;  ///< axes that a condition depends on, which vectors would have to take apart
  std::vector<TileOperand> operands;
  std::vector<Step> result_steps;
  int item_bytes = 4;
};

struct TilePart {
  size_t axis;
  int64_t extent;
  bool beyond = false;   ///< the last piece reaches beyond the axis, into the padding of packed
                         ///< operands
  bool clamped = false;  ///< or so that the operands' last items are read again
};

/// An operand copied so that pieces of an axis are innermost, the last one padded.
struct Packing {
  size_t operand;
  size_t axis;
  int64_t width;
};

struct Tile {
  size_t vector_axis = 0;
  int64_t lanes = 1;
  int64_t vectors = 1;          ///< along the vector axis
  bool packs_strided = false;   ///< copies operands that vectors would have to gather
  bool beyond = false;          ///< as TilePart::beyond, of the vector axis
  std::vector<TilePart> parts;  ///< other axes of the tile
  std::vector<Packing> packings;
  bool unrolled = false;  ///< all steps of the reduction
  double cycles = 0;      ///< estimate for all of the work on one core

  int64_t width() const { return lanes * vectors; }
  int64_t accumulators() const;
  bool reaches_beyond() const;
  const TilePart* part(size_t axis) const;
  bool packs(size_t operand) const;
};

/// The tile with this vector axis, lanes, vectors, packs_strided, and these axes and extents of its
/// parts; all else follows. Nullopt when the problem or the CPU allows no such tile.
std::optional<Tile> complete_tile(const TileProblem& problem, const Tile& tile,
                                  const CpuTraits& traits);

/// The cheapest tiles, the cheapest first: at most `per_vector` with the same vectors, `limit` in
/// all.
std::vector<Tile> rank_tiles(const TileProblem& problem, const CpuTraits& traits, size_t per_vector,
                             size_t limit);

/// The cheapest tile; nullopt when there is no spatial axis.
std::optional<Tile> choose_tile(const TileProblem& problem, const CpuTraits& traits);

}  // namespace nnef_tvm
