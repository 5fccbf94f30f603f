#include "tvm/transform.h"

#include <tvm/ffi/rvalue_ref.h>

#include <utility>

#include "tvm/flat_buffers.h"
#include "tvm/vector_masks.h"

namespace nnef_tvm {

IRModule run_pass(const Pass& pass, const IRModule& module) {
  return call<IRModule>("transform.RunPass", pass, module);
}

Pass make_pass(const char* name, IRModule (*transform)(const IRModule& module)) {
  constexpr int kOptimizeLevel = 0;
  const auto info = call<ObjectRef>("transform.PassInfo", kOptimizeLevel, name, Array<String>(),
                                    /*traceable=*/false);
  const auto run = [transform](ffi::RValueRef<ObjectRef> module, const ObjectRef&) {
    return transform(as<IRModule>(*std::move(module)));
  };
  return call<Pass>("transform.MakeModulePass", ffi::Function::FromTyped(run), info);
}

MaskedVectorsScope::MaskedVectorsScope() {
  constexpr int kDefaultLevel = 2;
  const Map<String, Any> config = {{"tirx.enable_buffer_level_predication", true}};
  context_ = call<ObjectRef>("transform.PassContext", kDefaultLevel, Array<String>(),
                             Array<String>(), Array<ObjectRef>(), config);
  call<void>("transform.EnterPassContext", context_);
}

MaskedVectorsScope::~MaskedVectorsScope() {
  try {
    call<void>("transform.ExitPassContext", context_);
  } catch (const ffi::Error&) {
    // Of the instruments of a context; this one has none.
  }
}

namespace relax_pass {

Pass bind_params(const std::string& function, const Map<Var, ffi::Tensor>& values) {
  return call<Pass>("relax.transform.BindParams", function, values);
}

Pass canonicalize_bindings() { return call<Pass>("relax.transform.CanonicalizeBindings"); }

Pass convert_to_dataflow(int min_size) {
  return call<Pass>("relax.transform.ConvertToDataflow", min_size);
}

Pass dead_code_elimination(const Array<String>& entries) {
  return call<Pass>("relax.transform.DeadCodeElimination", entries);
}

Pass decompose_ops_for_inference() {
  return call<Pass>("relax.transform.DecomposeOpsForInference", nullptr);
}

Pass eliminate_common_subexpr() {
  return call<Pass>("relax.transform.EliminateCommonSubexpr", /*call_only=*/false);
}

Pass lift_transform_params() {
  return call<Pass>("relax.transform.LiftTransformParams", /*shared_transform=*/false);
}

Pass normalize() { return call<Pass>("relax.transform.Normalize"); }

Pass inline_private_functions() { return call<Pass>("relax.transform.InlinePrivateFunctions"); }

Pass legalize_ops(const Map<String, ffi::Function>& legalisations) {
  return call<Pass>("relax.transform.LegalizeOps", legalisations, /*skip_ops=*/nullptr,
                    /*enable_warning=*/false);
}

Pass annotate_tir_op_pattern() { return call<Pass>("relax.transform.AnnotateTIROpPattern"); }
Pass fold_constant() { return call<Pass>("relax.transform.FoldConstant"); }
Pass fuse_ops() { return call<Pass>("relax.transform.FuseOps", /*fuse_opt_level=*/-1); }
Pass fuse_tir() { return call<Pass>("relax.transform.FuseTIR"); }

Pass rewrite_dataflow_reshape() { return call<Pass>("relax.transform.RewriteDataflowReshape"); }
Pass to_non_dataflow() { return call<Pass>("relax.transform.ToNonDataflow"); }
Pass remove_purity_checking() { return call<Pass>("relax.transform.RemovePurityChecking"); }
Pass call_tir_rewrite() { return call<Pass>("relax.transform.CallTIRRewrite"); }
Pass static_plan_block_memory() { return call<Pass>("relax.transform.StaticPlanBlockMemory"); }
Pass lower_alloc_tensor() { return call<Pass>("relax.transform.LowerAllocTensor"); }
Pass kill_after_last_use() { return call<Pass>("relax.transform.KillAfterLastUse"); }
Pass lower_runtime_builtin() { return call<Pass>("relax.transform.LowerRuntimeBuiltin"); }
Pass compute_prim_value() { return call<Pass>("relax.transform.ComputePrimValue"); }

Pass vm_shape_lower() { return call<Pass>("relax.transform.VMShapeLower", /*emit_err_ctx=*/true); }

Pass attach_global_symbol() { return call<Pass>("relax.transform.AttachGlobalSymbol"); }

}  // namespace relax_pass

namespace tir_pass {

Pass bind_target(const Target& target) { return call<Pass>("tirx.transform.BindTarget", target); }

namespace {

void append(Array<Pass>& passes, const Array<Pass>& more) {
  for (const Pass& pass : more) passes.push_back(pass);
}

/// From blocks whose buffers have their places to loops over vectors and flat buffers.
Array<Pass> loops_of_flat_buffers() {
  return {
      call<Pass>("s_tir.transform.LowerMatchBuffer"),
      call<Pass>("s_tir.transform.StmtSimplify"),
      call<Pass>("s_tir.transform.AnnotateIrregularLoop"),
      call<Pass>("s_tir.transform.LowerOpaqueBlock"),
      flat_buffers(),
      call<Pass>("tirx.transform.BF16ComputeLegalize"),
      call<Pass>("tirx.transform.NarrowDataType", /*target_bits=*/32),
      call<Pass>("s_tir.transform.LoopPartition"),
      vectorize_loops(),
      call<Pass>("tirx.transform.StorageRewrite"),
      call<Pass>("s_tir.transform.HoistIfThenElse"),
      call<Pass>("tirx.transform.UnrollLoop"),
      call<Pass>("s_tir.transform.RenormalizeSplitPattern"),
      call<Pass>("tirx.transform.StmtSimplify"),
      call<Pass>("tirx.transform.RemoveNoOp"),
  };
}

}  // namespace

// The order of the wheel's s_tir/pipeline.py, without the passes that only touch GPU threads,
// memory scopes or types narrower than 16 bits.
Array<Pass> loops_for_cpu() {
  Array<Pass> passes = {
      call<Pass>("s_tir.transform.CanonicalizeLoop"),
      call<Pass>("s_tir.transform.LowerInitBlock"),
      call<Pass>("s_tir.transform.PlanAndUpdateBufferAllocationLocation"),
      call<Pass>("s_tir.transform.ConvertBlocksToOpaque"),
      call<Pass>("s_tir.transform.CompactBufferAllocation", /*is_strict=*/true),
  };
  append(passes, loops_of_flat_buffers());
  return passes;
}

Array<Pass> code_for_cpu() {
  return {
      call<Pass>("s_tir.transform.RewriteUnsafeSelect"),
      call<Pass>("tirx.transform.CommonSubexprElim"),
      call<Pass>("tirx.transform.VerifyMemory"),
      call<Pass>("tirx.transform.SplitHostDevice"),
      call<Pass>("tirx.transform.MakePackedAPI"),
      // Most of a small kernel's code. The virtual machine checks what main is called with, and
      // between kernels everything is as compiled.
      call<Pass>("tirx.transform.SkipAssert"),
      call<Pass>("tirx.transform.BF16StorageLegalize"),
      call<Pass>("tirx.transform.LowerTVMBuiltin"),
      call<Pass>("tirx.transform.LowerIntrin"),
  };
}

Array<Pass> lowering_to_kernels() {
  Array<Pass> passes = {
      call<Pass>("s_tir.transform.CanonicalizeLoop"),
      call<Pass>("s_tir.transform.LowerCrossThreadReduction"),
      call<Pass>("s_tir.transform.LowerInitBlock"),
      call<Pass>("s_tir.transform.PlanAndUpdateBufferAllocationLocation"),
      call<Pass>("s_tir.transform.ConvertBlocksToOpaque"),
      call<Pass>("s_tir.transform.LiftThreadBinding"),
      call<Pass>("s_tir.transform.CompactBufferAllocation", /*is_strict=*/true),
      call<Pass>("s_tir.transform.UnifyThreadBinding"),
  };
  append(passes, loops_of_flat_buffers());
  const Array<Pass> code = {
      call<Pass>("s_tir.transform.RewriteUnsafeSelect"),
      // Not CommonSubexprElim: in kernels it binds variables that nothing uses.
      call<Pass>("tirx.transform.VerifyMemory"),
      call<Pass>("s_tir.transform.ThreadSync", "shared"),
      call<Pass>("s_tir.transform.LowerThreadAllreduce"),
      call<Pass>("tirx.transform.SplitHostDevice"),
  };
  append(passes, code);
  return passes;
}

Array<Pass> lowering_of_calls() {
  return {call<Pass>("tirx.transform.MakePackedAPI"), call<Pass>("tirx.transform.SkipAssert"),
          call<Pass>("tirx.transform.BF16StorageLegalize")};
}

Array<Pass> lowering_of_host() {
  return {call<Pass>("tirx.transform.LowerTVMBuiltin"), call<Pass>("tirx.transform.LowerIntrin")};
}

Array<Pass> lowering_of_kernels() {
  return {call<Pass>("tirx.transform.LowerWarpMemory"), call<Pass>("tirx.transform.StmtSimplify"),
          call<Pass>("tirx.transform.LowerIntrin")};
}

Pass default_gpu_schedule() { return call<Pass>("s_tir.transform.DefaultGPUSchedule"); }

}  // namespace tir_pass
}  // namespace nnef_tvm
