// TVM's passes over modules, one function for each one used, and how to run them.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// Runs one pass. Passes that depend on the target read it from the current TargetScope (target.h).
IRModule run_pass(const Pass& pass, const IRModule& module);

/// A pass of our own among TVM's.
Pass make_pass(const char* name, IRModule (*transform)(const IRModule& module));

/// While it lives, this thread's passes turn vectors with a condition on each lane (`i < n`) into
/// masked loads and stores instead of scalar loops.
class MaskedVectorsScope {
 public:
  MaskedVectorsScope();
  ~MaskedVectorsScope();
  MaskedVectorsScope(const MaskedVectorsScope&) = delete;
  MaskedVectorsScope& operator=(const MaskedVectorsScope&) = delete;

 private:
  ObjectRef context_;
};

namespace relax_pass {

Pass bind_params(const std::string& function, const Map<Var, ffi::Tensor>& values);
Pass canonicalize_bindings();
Pass convert_to_dataflow(int min_size);
/// Keeps what the functions of these names need.
Pass dead_code_elimination(const Array<String>& entries);
Pass decompose_ops_for_inference();
Pass eliminate_common_subexpr();
/// Splits "main" into "main", which then takes the transformed parameters after its `num_input`
/// inputs, and "main_transform_params", which makes them from a tuple of the original ones.
Pass lift_transform_params();

/// Nested calls are bound to variables, types inferred.
Pass normalize();
Pass inline_private_functions();
Pass legalize_ops(const Map<String, ffi::Function>& legalisations);
Pass annotate_tir_op_pattern();
/// Needs the global function tirx.build (build.h); folds nothing, silently, when that fails.
Pass fold_constant();
Pass fuse_ops();
Pass fuse_tir();

Pass rewrite_dataflow_reshape();
Pass to_non_dataflow();
Pass remove_purity_checking();
Pass call_tir_rewrite();
Pass static_plan_block_memory();
Pass lower_alloc_tensor();
Pass kill_after_last_use();
Pass lower_runtime_builtin();
Pass compute_prim_value();
Pass vm_shape_lower();
Pass attach_global_symbol();

}  // namespace relax_pass

namespace tir_pass {

/// Sets the target of every function that has none.
Pass bind_target(const Target& target);
/// The passes from schedulable TIR to loops over vectors and flat buffers.
Array<Pass> loops_for_cpu();
/// Those from there to what a CPU's code generator takes.
Array<Pass> code_for_cpu();
/// From schedulable TIR to device code: functions come out as two, for the host and for the device.
Array<Pass> lowering_to_kernels();
/// Makes the host's halves callable by the runtime.
Array<Pass> lowering_of_calls();
/// What each half of them still needs.
Array<Pass> lowering_of_host();
Array<Pass> lowering_of_kernels();

/// Binds the loops of functions that have no threads yet, one thread for each independent
/// iteration. Reads the target from the current TargetScope.
Pass default_gpu_schedule();

}  // namespace tir_pass
}  // namespace nnef_tvm
