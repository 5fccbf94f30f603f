#include "compile/schedule/gpu/schedule.h"

#include <algorithm>
#include <vector>

#include "compile/schedule/cpu/rules.h"
#include "compile/schedule/gpu/rules.h"
#include "tvm/ir_module.h"
#include "tvm/target.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

constexpr const char* kScheduled = "tirx.is_scheduled";

void schedule_block(TirSchedule& schedule, const Block& block, const GpuTraits& traits) {
  const BlockInfo info = inspect(schedule, block);
  if (!info.regular) {
    gpu::schedule_any(schedule, block, traits);
  } else if (!info.reduction) {
    gpu::schedule_elementwise(schedule, info, traits);
  } else if (gpu::wants_group_reduction(info, traits)) {
    gpu::schedule_group_reduction(schedule, info, traits);
  } else {
    gpu::schedule_reduction(schedule, info, traits);
  }
}

PrimFunc with_rules(const PrimFunc& function, const GpuTraits& traits) {
  TirSchedule schedule(function);
  inline_stages(schedule);
  // Scheduling a reduction takes away the elementwise block after it, never another reduction.
  std::vector<Block> reductions = schedule.blocks();
  std::erase_if(reductions, [&](const Block& b) { return !inspect(schedule, b).reduction; });
  for (const Block& block : reductions) schedule_block(schedule, block, traits);
  for (const Block& block : schedule.blocks()) {
    if (!inspect(schedule, block).reduction) schedule_block(schedule, block, traits);
  }
  return schedule.function();
}

PrimFunc with_general_rule(const PrimFunc& function, const GpuTraits& traits) {
  TirSchedule schedule(function);
  for (const Block& block : schedule.blocks()) gpu::schedule_any(schedule, block, traits);
  return schedule.function();
}

Expr marked(const Expr& function) { return with_function_attr(function, kScheduled, int64_t{1}); }

/// The best schedule that can be made; each step down needs less of the function.
Expr scheduled(const PrimFunc& function, const GpuTraits& traits) {
  try {
    return marked(with_rules(function, traits));
  } catch (const ffi::Error&) {
    // A primitive did not apply.
  }
  try {
    return marked(with_general_rule(function, traits));
  } catch (const ffi::Error&) {
    return function;  // left to TVM's own rule
  }
}

bool is_scheduled(const Expr& function) {
  const auto attribute = function_attr(function, kScheduled);
  return attribute && attribute->cast<int64_t>() == 1;
}

}  // namespace

GpuTraits gpu_traits(const Target& target) {
  GpuTraits traits;
  const auto number = [&](const char* name, int64_t otherwise) {
    return target_attr(target, name).as<int64_t>().value_or(otherwise);
  };
  traits.max_threads = number("max_num_threads", traits.max_threads);
  traits.warp = number("thread_warp_size", traits.warp);
  traits.shared_bytes = number("max_shared_memory_per_block", traits.shared_bytes);
  return traits;
}

IRModule schedule_gpu(IRModule module, const Target& target) {
  const GpuTraits traits = gpu_traits(target);
  std::vector<NamedFunction> functions = functions_of(module);
  for (NamedFunction& item : functions) {
    if (!is_prim_func(item.function) || is_scheduled(item.function)) continue;
    item.function = scheduled(as<PrimFunc>(item.function), traits);
  }
  TargetScope scope(target);
  return run_pass(tir_pass::default_gpu_schedule(), make_module(functions));
}

}  // namespace nnef_tvm
