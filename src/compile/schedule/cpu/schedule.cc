#include "compile/schedule/cpu/schedule.h"

#include <optional>
#include <string>
#include <vector>

#include "compile/schedule/cpu/rules.h"
#include "compile/schedule/cpu/weights.h"
#include "compile/schedule/function.h"
#include "tvm/ir_module.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

bool rewrites_layout(const TirSchedule& schedule, const Block& block) {
  return field<Map<String, Any>>(schedule.node(block), "annotations").count(kLayoutRewriteBlock) >
         0;
}

/// Schedules one function by a plan.
class Scheduler {
 public:
  Scheduler(const PrimFunc& function, const KernelPlan& plan, const CpuTraits& traits)
      : schedule_(function),
        plan_(plan),
        traits_(traits),
        pieces_(plan.pieces_per_core * traits.cores) {}

  /// Nullopt when the function is no such chain.
  std::optional<PrimFunc> with_fused_rows() {
    inline_stages(schedule_);
    if (!fuse_rows(schedule_, traits_)) return std::nullopt;
    return schedule_.function();
  }

  PrimFunc with_rules(const std::vector<Var>& weights) {
    if (const auto rest = schedule_winograd(schedule_, traits_, pieces_)) {
      schedule_rest(*rest);
      return schedule_.function();
    }
    inline_stages(schedule_);
    // Scheduling a reduction takes away the elementwise block after it, never another reduction.
    const std::vector<Block> reductions = reduction_blocks(schedule_);
    for (size_t i = 0; i < reductions.size(); ++i) {
      const BlockInfo info = inspect(schedule_, reductions[i]);
      schedule_reduction(info, reduction_plan(i, info, weights), weights);
    }
    schedule_rest(schedule_.blocks());
    return schedule_.function();
  }

  PrimFunc with_general_rule() {
    for (const Block& block : schedule_.blocks()) {
      schedule_any(schedule_, inspect(schedule_, block), pieces_);
    }
    return schedule_.function();
  }

 private:
  ReductionPlan reduction_plan(size_t index, const BlockInfo& info,
                               const std::vector<Var>& weights) const {
    if (index < plan_.reductions.size()) {
      ReductionPlan plan = plan_.reductions[index];
      if (complete_plan(plan, info, weights, traits_)) return plan;
    }
    return plan_reduction(info, weights, traits_);
  }

  void schedule_reduction(const BlockInfo& info, const ReductionPlan& plan,
                          const std::vector<Var>& weights) {
    switch (plan.rule) {
      case ReductionPlan::Rule::kGeneral:
        return schedule_any(schedule_, info, pieces_);
      case ReductionPlan::Rule::kRow:
        return schedule_row_reduction(schedule_, info, traits_, pieces_);
      case ReductionPlan::Rule::kTile:
        return schedule_tiled_reduction(schedule_, info, plan, weights, pieces_);
    }
  }

  void schedule_rest(const std::vector<Block>& blocks) {
    for (const Block& block : blocks) {
      const BlockInfo info = inspect(schedule_, block);
      if (info.reduction || rewrites_layout(schedule_, block)) continue;
      if (info.regular) {
        schedule_elementwise(schedule_, info, traits_, plan_.item_vectors, pieces_);
      } else {
        schedule_any(schedule_, info, pieces_);
      }
    }
  }

  TirSchedule schedule_;
  const KernelPlan& plan_;
  const CpuTraits& traits_;
  int64_t pieces_;
};

/// The best schedule that can be made; each step down needs less of the function.
PrimFunc scheduled(const PrimFunc& function, const std::vector<Var>& weights,
                   const KernelPlan& plan, const CpuTraits& traits) {
  const auto scheduler = [&] { return Scheduler(function, plan, traits); };
  try {
    if (plan.fused_rows) {
      if (const auto fused = scheduler().with_fused_rows()) return *fused;
    }
  } catch (const ffi::Error&) {
    // TVM does not see all stages as parts of a row.
  }
  if (!weights.empty()) {
    try {
      return scheduler().with_rules(weights);
    } catch (const ffi::Error&) {
      // Without packed weights fewer primitives are needed.
    }
  }
  try {
    return scheduler().with_rules({});
  } catch (const ffi::Error&) {
    // A primitive did not apply.
  }
  try {
    return scheduler().with_general_rule();
  } catch (const ffi::Error&) {
    return function;
  }
}

}  // namespace

std::vector<Block> reduction_blocks(const TirSchedule& schedule) {
  std::vector<Block> reductions = schedule.blocks();
  std::erase_if(reductions, [&](const Block& b) { return !inspect(schedule, b).reduction; });
  return reductions;
}

IRModule schedule_cpu(IRModule module, const Target& target, WeightLayout layout) {
  return schedule_cpu(std::move(module), target, layout, KernelPlans());
}

IRModule schedule_cpu(IRModule module, const Target& target, WeightLayout layout,
                      const KernelPlans& plans) {
  static const bool registered = (register_infinite_extremes(), true);
  static_cast<void>(registered);
  const CpuTraits traits = cpu_traits(target);
  std::map<std::string, std::vector<bool>> weights;
  if (layout == WeightLayout::kPack) weights = weight_arguments(module);
  std::vector<NamedFunction> functions = functions_of(module);
  for (NamedFunction& item : functions) {
    if (!is_prim_func(item.function) || is_scheduled(item.function)) continue;
    const auto function = as<PrimFunc>(item.function);
    const std::vector<bool>& flags = weights[item.name];
    const auto known = plans.empty() ? plans.end() : plans.find(kernel_key(function, flags));
    const KernelPlan plan = known == plans.end() ? KernelPlan() : known->second;
    const PrimFunc result = scheduled(function, parameters(function, flags), plan, traits);
    item.function = marked_scheduled(result);
  }
  const IRModule result = make_module(functions);
  return weights.empty() ? result : run_pass(split_layout_rewrites(), result);
}

KernelChoices kernel_choices(const PrimFunc& function, const std::vector<bool>& weights,
                             const CpuTraits& traits, size_t limit) {
  KernelChoices choices;
  TirSchedule schedule(function);
  inline_stages(schedule);
  try {
    TirSchedule rows(schedule.function());
    choices.fused_rows = fuse_rows(rows, traits);
  } catch (const ffi::Error&) {
    // TVM does not see all stages as parts of a row.
  }
  if (choices.fused_rows) return choices;
  for (const Block& block : reduction_blocks(schedule)) {
    choices.reductions.push_back(rank_reduction_plans(
        inspect(schedule, block), parameters(function, weights), traits, limit));
  }
  return choices;
}

}  // namespace nnef_tvm
