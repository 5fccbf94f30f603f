#include "tvm/schedule.h"

#include <fmt/format.h>

#include <algorithm>

#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/te.h"

namespace nnef_tvm {
namespace {

constexpr int kNoDebugChecks = 0;
constexpr int kAnySeed = -1;
constexpr int kErrorWithoutRendering = 2;
constexpr int kLastPosition = -1;
constexpr int kWrittenBuffer = 1;

template <typename Handle>
std::vector<Handle> list(const Array<ObjectRef>& items) {
  std::vector<Handle> handles;
  handles.reserve(items.size());
  for (const ObjectRef& item : items) handles.push_back(as<Handle>(item));
  return handles;
}

template <typename Handle>
Array<ObjectRef> array(const std::vector<Handle>& handles) {
  return Array<ObjectRef>(handles.begin(), handles.end());
}

Array<Any> split_factors(const std::vector<int64_t>& inner) {
  Array<Any> factors;
  factors.push_back(nullptr);
  for (int64_t factor : inner) factors.push_back(int_imm(factor));
  return factors;
}

}  // namespace

ObjectRef index_map(const Array<Var>& initial, const Array<PrimExpr>& final_indices) {
  return call<ObjectRef>("tirx.IndexMap", initial, final_indices, nullptr);
}

namespace {

void register_extremes() {
  using Combiner = PrimExpr (*)(const PrimExpr&, const PrimExpr&);
  using Identity = PrimExpr (*)(DLDataType);
  auto add = [](Combiner combine, Identity identity) {
    auto combiner = [combine](const Array<PrimExpr>& x, const Array<PrimExpr>& y) {
      return Array<PrimExpr>{combine(x[0], y[0])};
    };
    auto identities = [identity](const Array<PrimExpr>& values) {
      return Array<PrimExpr>{identity(item_type(values[0]))};
    };
    call<void>("s_tir.schedule.RegisterReducer", /*n_buffers=*/1,
               ffi::Function::FromTyped(combiner), ffi::Function::FromTyped(identities));
  };
  add(max, lowest);
  add(min, highest);
}

}  // namespace

void register_infinite_extremes() {
  static const bool registered = (register_extremes(), true);
  static_cast<void>(registered);
}

Pass split_layout_rewrites() { return call<Pass>("relax.transform.SplitLayoutRewritePreproc"); }

TirSchedule::TirSchedule(const PrimFunc& function) {
  auto module = call<ObjectRef>("ir.Module_FromExpr", function, Map<String, Any>());
  // TVM 0.27 takes the second argument for the debug checks and the third for the seed, unlike
  // TracedSchedule and unlike what its Python wrapper believes.
  handle_ = call<Schedule>("s_tir.schedule.ConcreteSchedule", module, kNoDebugChecks, kAnySeed,
                           kErrorWithoutRendering, /*enable_check=*/true);
}

PrimFunc TirSchedule::function() const {
  auto module = call<ObjectRef>("s_tir.schedule.ScheduleGetMod", handle_);
  for (const auto& [var, function] : field<Map<GlobalVar, PrimFunc>>(module, "functions")) {
    return function;
  }
  return PrimFunc();
}

std::vector<Block> TirSchedule::blocks() const {
  auto root = call<ObjectRef>("s_tir.schedule.ScheduleGetSBlock", handle_, "root", nullptr);
  return list<Block>(
      call<Array<ObjectRef>>("s_tir.schedule.ScheduleGetChildBlocks", handle_, root));
}

std::vector<Loop> TirSchedule::loops(const Block& block) const {
  return list<Loop>(call<Array<ObjectRef>>("s_tir.schedule.ScheduleGetLoops", handle_, block));
}

std::vector<Block> TirSchedule::consumers(const Block& block) const {
  return list<Block>(call<Array<ObjectRef>>("s_tir.schedule.ScheduleGetConsumers", handle_, block));
}

ObjectRef TirSchedule::node(const Block& block) const {
  return call<ObjectRef>("s_tir.schedule.ScheduleGet", handle_, block);
}

ObjectRef TirSchedule::node(const Loop& loop) const {
  return call<ObjectRef>("s_tir.schedule.ScheduleGet", handle_, loop);
}

bool TirSchedule::is_output(const Block& block) const {
  return call<bool>("s_tir.schedule.IsOutputBlock", handle_, block);
}

bool TirSchedule::is_parallel(const Loop& loop) const {
  return call<std::string>("s_tir.schedule.GetLoopIterType", handle_, loop) == "S";
}

bool TirSchedule::is_bound(const Loop& loop) const {
  constexpr int kThreadBinding = 4;
  return field<int>(node(loop), "kind") == kThreadBinding;
}

bool TirSchedule::has_trivial_binding(const Block& block) const {
  return call<bool>("s_tir.schedule.IsTrivialBinding", handle_, block);
}

std::vector<Loop> TirSchedule::split(const Loop& loop, const std::vector<int64_t>& inner) {
  return list<Loop>(call<Array<ObjectRef>>("s_tir.schedule.ScheduleSplit", handle_, loop,
                                           split_factors(inner), /*preserve_unit_iters=*/true,
                                           /*disable_predication=*/false));
}

std::vector<Loop> TirSchedule::split_beyond(const Loop& loop, const std::vector<int64_t>& inner) {
  return list<Loop>(call<Array<ObjectRef>>("s_tir.schedule.ScheduleSplit", handle_, loop,
                                           split_factors(inner), /*preserve_unit_iters=*/true,
                                           /*disable_predication=*/true));
}

std::vector<Loop> TirSchedule::partition(const Loop& loop, const std::vector<int64_t>& first) {
  Array<Any> extents;
  for (int64_t extent : first) extents.push_back(int_imm(extent));
  extents.push_back(nullptr);
  return list<Loop>(call<Array<ObjectRef>>("s_tir.schedule.ScheduleLoopPartition", handle_, loop,
                                           extents, /*preserve_unit_iters=*/true));
}

std::vector<Loop> TirSchedule::partition(const Loop& loop, const PrimExpr& first) {
  return list<Loop>(call<Array<ObjectRef>>("s_tir.schedule.ScheduleLoopPartition", handle_, loop,
                                           Array<Any>{first, nullptr},
                                           /*preserve_unit_iters=*/true));
}

Loop TirSchedule::fuse(const std::vector<Loop>& loops) {
  return call<Loop>("s_tir.schedule.ScheduleFuse", handle_, array(loops),
                    /*preserve_unit_iters=*/true);
}

void TirSchedule::reorder(const std::vector<Loop>& loops) {
  call<void>("s_tir.schedule.ScheduleReorder", handle_, array(loops));
}

void TirSchedule::parallel(const Loop& loop) {
  call<void>("s_tir.schedule.ScheduleParallel", handle_, loop);
}

void TirSchedule::vectorize(const Loop& loop) {
  call<void>("s_tir.schedule.ScheduleVectorize", handle_, loop);
}

void TirSchedule::unroll(const Loop& loop) {
  call<void>("s_tir.schedule.ScheduleUnroll", handle_, loop);
}

void TirSchedule::bind(const Loop& loop, const std::string& thread) {
  call<void>("s_tir.schedule.ScheduleBind", handle_, loop, thread);
}

Loop TirSchedule::add_unit_loop(const Block& block) {
  return call<Loop>("s_tir.schedule.ScheduleAddUnitLoop", handle_, block);
}

void TirSchedule::compute_at(const Block& block, const Loop& loop, bool preserve_unit_loops) {
  call<void>("s_tir.schedule.ScheduleComputeAt", handle_, block, loop, preserve_unit_loops,
             kLastPosition);
}

void TirSchedule::reverse_compute_at(const Block& block, const Loop& loop,
                                     bool preserve_unit_loops) {
  call<void>("s_tir.schedule.ScheduleReverseComputeAt", handle_, block, loop, preserve_unit_loops,
             kLastPosition);
}

void TirSchedule::compute_inline(const Block& block) {
  call<void>("s_tir.schedule.ScheduleComputeInline", handle_, block);
}

void TirSchedule::reverse_compute_inline(const Block& block) {
  call<void>("s_tir.schedule.ScheduleReverseComputeInline", handle_, block);
}

Block TirSchedule::cache_read(const Block& block, int read_index, const std::string& scope) {
  return call<Block>("s_tir.schedule.ScheduleCacheRead", handle_, block, read_index, scope,
                     Array<ObjectRef>());
}

Block TirSchedule::cache_write(const Block& block, int write_index, const std::string& scope) {
  return call<Block>("s_tir.schedule.ScheduleCacheWrite", handle_, block, write_index, scope,
                     Array<ObjectRef>());
}

void TirSchedule::set_scope(const Block& block, int write_index, const std::string& scope) {
  call<void>("s_tir.schedule.ScheduleSetScope", handle_, block, write_index, scope);
}

void TirSchedule::transform_layout_padded(const Block& block, const ObjectRef& map,
                                          const PrimExpr& zero) {
  // The value is a map from the indices of the new layout to one number.
  Array<Var> indices;
  for (size_t i = 0; i < field<Array<PrimExpr>>(map, "final_indices").size(); ++i) {
    indices.push_back(var(fmt::format("i{}", i), prim_type(int64)));
  }
  call<void>("s_tir.schedule.ScheduleTransformLayout", handle_, block, /*buffer_index=*/0,
             kWrittenBuffer, map, index_map(indices, {zero}), /*assume_injective=*/false);
}

void TirSchedule::transform_layout_unpadded(const Block& block, const ObjectRef& map) {
  call<void>("s_tir.schedule.ScheduleTransformLayout", handle_, block, /*buffer_index=*/0,
             kWrittenBuffer, map, nullptr, /*assume_injective=*/true);
}

void TirSchedule::clamp_reads(const Block& block, const Var& variable, const PrimExpr& last) {
  const ObjectRef old = node(block);
  const auto written = field<Array<ObjectRef>>(old, "writes");
  const auto is_written = [&](const ObjectRef& load) {
    return std::any_of(written.begin(), written.end(), [&](const ObjectRef& region) {
      return field<ObjectRef>(region, "source").same_as(field<ObjectRef>(load, "source"));
    });
  };
  const PrimExpr clamped = min(variable, cast(last, item_type(variable)));
  const ObjectRef replacement =
      replace_objects(as<Expr>(old), "ir.TensorLoad", [&](const ObjectRef& load) -> ObjectRef {
        if (is_written(load)) return load;
        return replace_objects(as<Expr>(load), "ir.Var", [&](const ObjectRef& var) -> ObjectRef {
          return var.same_as(variable) ? ObjectRef(clamped) : var;
        });
      });
  const auto state = call<ObjectRef>("s_tir.schedule.ScheduleGetState", handle_);
  const auto sref = call<ObjectRef>("s_tir.schedule.ScheduleGetSRef", handle_, block);
  call<void>("s_tir.schedule.ScheduleStateReplace", state, sref, replacement,
             Map<ObjectRef, ObjectRef>{{old, replacement}});
}

Block TirSchedule::decompose_reduction(const Block& block, const Loop& loop) {
  return call<Block>("s_tir.schedule.ScheduleDecomposeReduction", handle_, block, loop);
}

Block TirSchedule::rfactor(const Loop& loop, int axis) {
  return call<Block>("s_tir.schedule.ScheduleRFactor", handle_, loop, axis);
}

void TirSchedule::annotate(const Block& block, const std::string& key, int64_t value) {
  call<void>("s_tir.schedule.ScheduleAnnotate", handle_, block, key, int_imm(value));
}

void TirSchedule::annotate(const Loop& loop, const std::string& key, int64_t value) {
  call<void>("s_tir.schedule.ScheduleAnnotate", handle_, loop, key, int_imm(value));
}

}  // namespace nnef_tvm
