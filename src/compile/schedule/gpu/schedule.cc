#include "compile/schedule/gpu/schedule.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compile/schedule/cpu/rules.h"
#include "compile/schedule/cpu/weights.h"
#include "compile/schedule/function.h"
#include "compile/schedule/gpu/rules.h"
#include "tvm/ir_module.h"
#include "tvm/target.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

/// How much a thread does at once.
enum class Tiling { kTiles, kSingleResults };

/// Whether the block is in a kernel already.
bool is_bound(const TirSchedule& schedule, const Block& block) {
  const std::vector<Loop> loops = schedule.loops(block);
  return !loops.empty() && schedule.is_bound(loops.front());
}

bool rewrites_layout(const TirSchedule& schedule, const Block& block) {
  return field<Map<String, Any>>(schedule.node(block), "annotations").count(kLayoutRewriteBlock) >
         0;
}

/// Schedules one function.
class Scheduler {
 public:
  Scheduler(const PrimFunc& function, const GpuTraits& traits)
      : schedule_(function), traits_(traits) {}

  PrimFunc with_rules(Tiling tiling, const std::vector<Var>& weights) {
    inline_stages(schedule_);
    // Scheduling a reduction takes away the elementwise block after it, never another reduction.
    for (const Block& block : reduction_blocks(schedule_)) {
      schedule_reduction(block, tiling, weights);
    }
    for (const Block& block : schedule_.blocks()) {
      if (is_bound(schedule_, block) || rewrites_layout(schedule_, block)) continue;
      const BlockInfo info = inspect(schedule_, block);
      if (info.regular) {
        gpu::schedule_elementwise(schedule_, info, traits_);
      } else {
        gpu::schedule_any(schedule_, block, traits_);
      }
    }
    return schedule_.function();
  }

  PrimFunc with_general_rule() {
    for (const Block& block : schedule_.blocks()) gpu::schedule_any(schedule_, block, traits_);
    return schedule_.function();
  }

 private:
  void schedule_reduction(const Block& block, Tiling tiling, const std::vector<Var>& weights) {
    const BlockInfo info = inspect(schedule_, block);
    if (!info.regular) return gpu::schedule_any(schedule_, block, traits_);
    if (gpu::wants_group_reduction(info, traits_)) {
      return gpu::schedule_group_reduction(schedule_, info, traits_);
    }
    const gpu::Tile tile = tiling == Tiling::kTiles
                               ? gpu::choose_tile(schedule_, info, traits_)
                               : gpu::Tile{info.result_order().back(), 1, 1, {}};
    gpu::schedule_tiled_reduction(schedule_, info, tile, weights, traits_);
  }

  TirSchedule schedule_;
  const GpuTraits& traits_;
};

/// The best schedule that can be made; each step down needs less of the function.
Expr scheduled(const PrimFunc& function, const std::vector<Var>& weights, const GpuTraits& traits) {
  const auto scheduler = [&] { return Scheduler(function, traits); };
  const std::array<std::function<PrimFunc()>, 4> steps = {
      [&] { return scheduler().with_rules(Tiling::kTiles, weights); },
      [&] { return scheduler().with_rules(Tiling::kTiles, {}); },
      [&] { return scheduler().with_rules(Tiling::kSingleResults, {}); },
      [&] { return scheduler().with_general_rule(); }};
  for (const auto& step : steps) {
    try {
      return marked_scheduled(step());
    } catch (const ffi::Error&) {
      // A primitive did not apply.
    }
  }
  return function;  // left to TVM's own rule
}

}  // namespace

GpuTraits gpu_traits(const Target& target, const std::optional<nnef_runtime::DeviceInfo>& device) {
  GpuTraits traits;
  const auto number = [&](const char* name, int64_t otherwise) {
    return target_attr(target, name).as<int64_t>().value_or(otherwise);
  };
  traits.max_threads = number("max_num_threads", traits.max_threads);
  traits.warp = number("thread_warp_size", traits.warp);
  traits.shared_bytes = number("max_shared_memory_per_block", traits.shared_bytes);
  if (device && device->compute_units > 0) traits.cores = device->compute_units;
  // A kernel in OpenCL C runs on CPUs as it is written, one in SPIR-V with a thread in each lane.
  if (traits.runs_in_step() || target_kind(target) != "opencl") return traits;
  constexpr int64_t kCommonFloats = 8;
  constexpr int64_t kMostFloats = 16;  // of OpenCL's vectors
  const int64_t known = device ? device->vector_floats : 0;
  traits.max_lanes = std::clamp<int64_t>(known > 0 ? known : kCommonFloats, 4, kMostFloats);
  traits.vector_bytes = traits.max_lanes * 4;
  traits.vector_registers = true;
  traits.registers = traits.max_lanes < kMostFloats ? 16 : 24;
  return traits;
}

GpuTraits portable(GpuTraits traits) {
  const GpuTraits common;
  traits.vector_bytes = common.vector_bytes;
  traits.max_lanes = common.max_lanes;
  traits.vector_registers = common.vector_registers;
  traits.registers = common.registers;
  return traits;
}

IRModule schedule_gpu(IRModule module, const Target& target, const GpuTraits& traits) {
  register_infinite_extremes();
  const std::map<std::string, std::vector<bool>> weights = weight_arguments(module);
  std::vector<NamedFunction> functions = functions_of(module);
  for (NamedFunction& item : functions) {
    if (!is_prim_func(item.function) || is_scheduled(item.function)) continue;
    const auto function = as<PrimFunc>(item.function);
    const auto flags = weights.find(item.name);
    item.function = scheduled(
        function, flags == weights.end() ? std::vector<Var>() : parameters(function, flags->second),
        traits);
  }
  TargetScope scope(target);
  const IRModule bound = run_pass(tir_pass::default_gpu_schedule(), make_module(functions));
  return weights.empty() ? bound : run_pass(split_layout_rewrites(), bound);
}

}  // namespace nnef_tvm
