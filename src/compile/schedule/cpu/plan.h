// The choices that schedules leave open, as values. The cost rule makes them from the target's
// properties; what was measured may stand in for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/schedule/cpu/nest.h"
#include "compile/schedule/cpu/schedule.h"
#include "compile/schedule/cpu/tile.h"

namespace nnef_tvm {

/// Of one reduction.
struct ReductionPlan {
  enum class Rule : uint8_t {
    kGeneral,  ///< loops as they are
    kRow,      ///< partial results along contiguous items
    kTile,     ///< results in registers
  };
  Rule rule = Rule::kGeneral;
  Tile tile;                 ///< of kTile, like all that follows
  std::optional<Nest> nest;  ///< of the loops around it; without, those over tiles are outside
  bool unrolled = false;     ///< the reduced loops
};

/// Of one PrimFunc.
struct KernelPlan {
  bool fused_rows = true;       ///< chains along rows in one loop, where the function is one
  int64_t pieces_per_core = 8;  ///< loops are fused until there are so many iterations in parallel
  int64_t item_vectors = 4;     ///< of loops without reductions: at most so many at once
  std::vector<ReductionPlan> reductions;  ///< in the function's order, after stages were inlined;
                                          ///< those that are not here are the cost rule's
};

/// Names a PrimFunc by its structure, without names, and by which of its parameters are weights.
std::string kernel_key(const PrimFunc& function, const std::vector<bool>& weights);

/// The cost rule's plan for a reduction.
ReductionPlan plan_reduction(const BlockInfo& info, const std::vector<Var>& weights,
                             const CpuTraits& traits);

/// The same, then what it holds for next best: at most `limit` plans that differ in their tiles.
std::vector<ReductionPlan> rank_reduction_plans(const BlockInfo& info,
                                                const std::vector<Var>& weights,
                                                const CpuTraits& traits, size_t limit);

/// Whether the plan can be applied; completes what follows from its choices.
bool complete_plan(ReductionPlan& plan, const BlockInfo& info, const std::vector<Var>& weights,
                   const CpuTraits& traits);

/// What there is to choose for a function.
struct KernelChoices {
  bool fused_rows = false;                             ///< it is a chain along rows
  std::vector<std::vector<ReductionPlan>> reductions;  ///< ranked, when it is none
};

/// At most `limit` plans for each reduction. `weights` as for kernel_key().
KernelChoices kernel_choices(const PrimFunc& function, const std::vector<bool>& weights,
                             const CpuTraits& traits, size_t limit);

/// Whether an operand moves both with the tile's vector axis and with another one.
bool moves_with_vector(const BlockInfo& info, const Tile& tile, size_t axis);

}  // namespace nnef_tvm
