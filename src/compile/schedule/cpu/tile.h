// The choice of a register tile for a reduction: which axis goes into vectors, and how many results are accumulated in
// registers at once. Arithmetic only, so that it can be tested for any CPU.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compile/schedule/cpu/block.h"
#include "compile/schedule/cpu/schedule.h"

namespace nnef_tvm {

struct TileOperand {
  std::vector<Step> steps;    ///< one per axis
  std::vector<bool> packable; ///< one per axis: the operand may be laid out anew with that axis innermost, in pieces
  int64_t bytes = 0;
};

/// result[spatial axes] = reduction over the others of an expression of the operands.
struct TileProblem {
  std::vector<int64_t> extents;
  std::vector<bool> reduces;
  std::vector<bool> scalar;  ///< axes that a condition depends on, which vectors would have to take apart
  std::vector<TileOperand> operands;
  std::vector<Step> result_steps;
  int item_bytes = 4;
};

struct TilePart {
  size_t axis;
  int64_t extent;
};

struct Tile {
  size_t vector_axis = 0;
  int64_t lanes = 1;
  int64_t vectors = 1;          ///< along the vector axis
  std::vector<TilePart> parts;  ///< other axes of the tile
  bool beyond = false;          ///< the last piece along the vector axis reaches beyond the extent
  std::optional<size_t> packed; ///< the operand to lay out anew
  double cycles = 0;            ///< estimate for all of the work on one core

  int64_t width() const { return lanes * vectors; }
  int64_t accumulators() const;
};

/// The cheapest tile; nullopt when there is no spatial axis.
std::optional<Tile> choose_tile(const TileProblem& problem, const CpuTraits& traits);

}  // namespace nnef_tvm
