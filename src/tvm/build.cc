#include "tvm/build.h"

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
