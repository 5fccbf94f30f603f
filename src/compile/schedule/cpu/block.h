// What a block of TIR computes, as far as schedules ask: its iterations, and how its accesses move
// with each of them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tvm/schedule.h"

namespace nnef_tvm {

/// What symbolic extents are taken for where plans need a number. A prime, so that nothing divides
/// it: there is always a rest.
inline constexpr int64_t kOpenExtent = 61;

struct Iteration {
  Var var;
  int64_t extent = 0;    ///< kOpenExtent when symbolic
  int64_t multiple = 1;  ///< divides the extent; the extent itself when that is known
  bool open = false;     ///< symbolic
  PrimExpr exact;
  bool reduces = false;
};

/// How far an access moves in memory with one step of an iteration.
struct Step {
  enum class Kind { kNone, kLinear, kComplex };
  Kind kind = Kind::kNone;
  int64_t stride = 0;  ///< in items, of kLinear
  int64_t run = 1;  ///< of kComplex: the access stays in place during aligned runs of so many steps

  bool is_none() const { return kind == Kind::kNone; }
  bool is_unit() const { return kind == Kind::kLinear && stride == 1; }
};

/// A buffer that a block reads or writes, at one position for each iteration.
struct Access {
  Var buffer;
  std::vector<PrimExpr> indices;
  std::vector<int64_t> shape;  ///< kOpenExtent for symbolic extents
  DLDataType dtype{};
  bool single = true;  ///< one item for each iteration; else a region, and `indices` are its start
  std::vector<Step> steps;  ///< one per iteration of the block

  int64_t item_count() const;
};

/// The operations in a block's body.
struct Work {
  bool conditional = false;             ///< if_then_else or select
  std::vector<bool> condition_depends;  ///< one per iteration: whether a condition does
  /// One per iteration: where conditions change with it, in rising order, when each of them
  /// compares it with constants (or does not depend on it).
  std::vector<std::optional<std::vector<int64_t>>> condition_changes;
  int function_calls = 0;   ///< exp, tanh, ...: many instructions each
  bool plain_copy = false;  ///< the value is one item of one buffer, unchanged
};

struct BlockInfo {
  Block block;
  std::vector<Iteration> iterations;
  std::vector<Access> reads;  ///< without the accumulator of a reduction
  std::vector<Access> writes;
  Work work;
  bool reduction = false;
  /// Loops are one to one with iterations, there is one result, and each
  /// iteration (but those that reduce) is one axis of it.
  bool regular = false;

  int64_t volume() const;  ///< of all iterations
  int64_t spatial_volume() const;
  int64_t reduction_volume() const;
  /// What divides the reduction's volume for all values of symbols.
  int64_t reduction_multiple() const;
  bool open() const;  ///< whether any extent is symbolic
  /// The iterations' positions, in the order of the result's axes.
  std::vector<size_t> result_order() const;
};

BlockInfo inspect(const TirSchedule& schedule, const Block& block);

/// Whether it is one of the weights.
bool reads_weight(const Access& access, const std::vector<Var>& weights);

}  // namespace nnef_tvm
