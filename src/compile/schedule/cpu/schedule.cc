#include "compile/schedule/cpu/schedule.h"

#include <optional>
#include <string>
#include <vector>

#include "compile/schedule/cpu/rules.h"
#include "compile/schedule/cpu/weights.h"
#include "tvm/ir_module.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

constexpr const char* kScheduled = "tirx.is_scheduled";

void schedule_reduction(TirSchedule& schedule, BlockInfo info, const std::vector<Var>& weights,
                        const CpuTraits& traits) {
  if (!info.regular) return schedule_any(schedule, info, traits);
  const std::optional<Tile> tile = choose_tile(tile_problem(info, weights), traits);
  const std::optional<double> row = row_reduction_cycles(info, traits);
  if (row && (!tile || *row < tile->cycles)) {
    schedule_row_reduction(schedule, info, traits);
  } else if (tile) {
    schedule_tiled_reduction(schedule, info, *tile, weights, traits);
  } else {
    schedule_any(schedule, info, traits);
  }
}

bool rewrites_layout(const TirSchedule& schedule, const Block& block) {
  return field<Map<String, Any>>(schedule.node(block), "annotations").count(kLayoutRewriteBlock) >
         0;
}

/// nullopt when the function is no such chain.
std::optional<PrimFunc> with_fused_rows(const PrimFunc& function, const CpuTraits& traits) {
  TirSchedule schedule(function);
  inline_stages(schedule);
  if (!fuse_rows(schedule, traits)) return std::nullopt;
  return schedule.function();
}

void schedule_rest(TirSchedule& schedule, const std::vector<Block>& blocks,
                   const CpuTraits& traits) {
  for (const Block& block : blocks) {
    const BlockInfo info = inspect(schedule, block);
    if (info.reduction || rewrites_layout(schedule, block)) continue;
    if (info.regular) {
      schedule_elementwise(schedule, info, traits);
    } else {
      schedule_any(schedule, info, traits);
    }
  }
}

PrimFunc with_rules(const PrimFunc& function, const std::vector<Var>& weights,
                    const CpuTraits& traits) {
  TirSchedule schedule(function);
  if (const auto rest = schedule_winograd(schedule, traits)) {
    schedule_rest(schedule, *rest, traits);
    return schedule.function();
  }
  inline_stages(schedule);
  // Scheduling a reduction takes away the elementwise block after it, never another reduction.
  std::vector<Block> reductions = schedule.blocks();
  std::erase_if(reductions, [&](const Block& b) { return !inspect(schedule, b).reduction; });
  for (const Block& block : reductions) {
    schedule_reduction(schedule, inspect(schedule, block), weights, traits);
  }
  schedule_rest(schedule, schedule.blocks(), traits);
  return schedule.function();
}

PrimFunc with_general_rule(const PrimFunc& function, const CpuTraits& traits) {
  TirSchedule schedule(function);
  for (const Block& block : schedule.blocks()) {
    schedule_any(schedule, inspect(schedule, block), traits);
  }
  return schedule.function();
}

/// The best schedule that can be made; each step down needs less of the function.
PrimFunc scheduled(const PrimFunc& function, const std::vector<Var>& weights,
                   const CpuTraits& traits) {
  try {
    if (const auto fused = with_fused_rows(function, traits)) return *fused;
  } catch (const ffi::Error&) {
    // TVM does not see all stages as parts of a row.
  }
  if (!weights.empty()) {
    try {
      return with_rules(function, weights, traits);
    } catch (const ffi::Error&) {
      // Without packed weights fewer primitives are needed.
    }
  }
  try {
    return with_rules(function, {}, traits);
  } catch (const ffi::Error&) {
    // A primitive did not apply.
  }
  try {
    return with_general_rule(function, traits);
  } catch (const ffi::Error&) {
    return function;
  }
}

bool is_scheduled(const Expr& function) {
  const auto attribute = function_attr(function, kScheduled);
  return attribute && attribute->cast<int64_t>() == 1;
}

std::vector<Var> parameters(const PrimFunc& function, const std::vector<bool>& chosen) {
  std::vector<Var> found;
  const auto params = field<Array<Var>>(function, "params");
  for (size_t i = 0; i < params.size() && i < chosen.size(); ++i) {
    if (chosen[i]) found.push_back(params[i]);
  }
  return found;
}

}  // namespace

IRModule schedule_cpu(IRModule module, const Target& target, WeightLayout layout) {
  static const bool registered = (register_infinite_extremes(), true);
  static_cast<void>(registered);
  const CpuTraits traits = cpu_traits(target);
  std::map<std::string, std::vector<bool>> weights;
  if (layout == WeightLayout::kPack) weights = weight_arguments(module);
  std::vector<NamedFunction> functions = functions_of(module);
  for (NamedFunction& item : functions) {
    if (!is_prim_func(item.function) || is_scheduled(item.function)) continue;
    const auto function = as<PrimFunc>(item.function);
    const PrimFunc result = scheduled(function, parameters(function, weights[item.name]), traits);
    item.function = with_function_attr(result, kScheduled, int64_t{1});
  }
  const IRModule result = make_module(functions);
  return weights.empty() ? result : run_pass(split_layout_rewrites(), result);
}

}  // namespace nnef_tvm
