#include "tvm/build.h"

#include "tvm/cuda_code.h"
#include "tvm/ir_module.h"
#include "tvm/prefetch.h"
#include "tvm/target.h"
#include "tvm/transform.h"

namespace nnef_tvm {

ffi::Module build_tir(const IRModule& prim_funcs, const Target& target) {
  Target hosted = with_host(target, target);
  TargetScope scope(hosted);
  MaskedVectorsScope masked;
  IRModule module = run_pass(tir_pass::bind_target(hosted), prim_funcs);
  for (const Pass& pass : tir_pass::loops_for_cpu()) module = run_pass(pass, module);
  module = insert_prefetches(module);
  for (const Pass& pass : tir_pass::code_for_cpu()) module = run_pass(pass, module);
  return call<ffi::Module>("target.build.llvm", module, target);
}

namespace {

IRModule run_passes(IRModule module, const Array<Pass>& passes) {
  for (const Pass& pass : passes) module = run_pass(pass, module);
  return module;
}

bool is_for_host(const Expr& function) {
  const auto target = function_attr(function, "target");
  return !target || target_kind(target->cast<Target>()) == "llvm";
}

}  // namespace

DeviceCode lower_for_device(const IRModule& prim_funcs, const Target& target) {
  TargetScope scope(target);
  const IRModule bound = run_pass(tir_pass::bind_target(target), prim_funcs);
  const IRModule split = run_passes(bound, tir_pass::lowering_to_kernels());
  std::vector<NamedFunction> plans, host, kernels;
  // Before it can be called, a host's half still has the target of both.
  for (const NamedFunction& item : functions_of(split)) {
    if (!function_attr(item.function, "tirx.kernel_launch_params")) plans.push_back(item);
  }
  for (const NamedFunction& item : functions_of(run_passes(split, tir_pass::lowering_of_calls()))) {
    (is_for_host(item.function) ? host : kernels).push_back(item);
  }
  return {run_passes(make_module(host), tir_pass::lowering_of_host()),
          run_passes(make_module(kernels), tir_pass::lowering_of_kernels()), plans};
}

ffi::Module build_host(const IRModule& host, const Target& target) {
  TargetScope scope(target);
  return call<ffi::Module>("target.build.llvm", host, target);
}

ffi::Module build_kernels(const IRModule& kernels, const Target& target) {
  TargetScope scope(target);
  const std::string kind = target_kind(target);
  if (kind == "cuda") register_cuda_code();
  return ffi::Function::GetGlobalRequired("target.build." + kind)(kernels, target)
      .cast<ffi::Module>();
}

namespace {

ffi::Module build_function_or_module(const ObjectRef& code, const Target& target) {
  if (type_key(code) == "ir.IRModule") return build_tir(as<IRModule>(code), target);
  return build_tir(call<IRModule>("ir.Module_FromExpr", code, Map<GlobalVar, Expr>()), target);
}

}  // namespace

void register_tir_builder() {
  static const char* const name = "tirx.build";
  if (ffi::Function::GetGlobal(name).has_value()) return;
  ffi::Function::SetGlobal(name, ffi::Function::FromTyped(build_function_or_module));
}

ExecutableBuilder::ExecutableBuilder() : builder_(call<ObjectRef>("relax.ExecBuilderCreate")) {}

IRModule ExecutableBuilder::generate(const IRModule& lowered) {
  return call<IRModule>("relax.VMCodeGen", builder_, lowered);
}

ffi::Module ExecutableBuilder::link(const Target& target, const std::vector<ffi::Module>& kernels) {
  ffi::Optional<ffi::Module> first;
  Array<ffi::Module> others;
  for (const ffi::Module& kernel : kernels) {
    if (first.has_value()) {
      others.push_back(kernel);
    } else {
      first = kernel;
    }
  }
  return call<ffi::Module>("relax.VMLink", builder_, target, first, others,
                           Map<String, ffi::Tensor>());
}

ffi::Module pack_imports(const ffi::Module& executable, const Target& target) {
  return call<ffi::Module>("runtime.ModulePackImportsToLLVM", executable, /*system_lib=*/false,
                           target_json(target), /*c_symbol_prefix=*/"");
}

}  // namespace nnef_tvm
