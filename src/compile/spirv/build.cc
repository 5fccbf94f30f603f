#include "compile/spirv/build.h"

#include "compile/spirv/emitter.h"
#include "tvm/ir_module.h"
#include "tvm/te.h"

namespace nnef_tvm::spirv {

namespace {

nnef_plugin::KernelInfo describe(const NamedFunction& kernel) {
  nnef_plugin::KernelInfo info;
  info.name = kernel.name;
  for (const Var& parameter : field<Array<Var>>(kernel.function, "params")) {
    const bool is_handle = type_key(field<ObjectRef>(parameter, "ty")) == "ir.PointerType";
    info.arguments.push_back(is_handle ? DLDataType{kDLOpaqueHandle, 64, 1} : item_type(parameter));
  }
  if (const auto tags = function_attr(kernel.function, "tirx.kernel_launch_params")) {
    for (const String& tag : tags->cast<Array<String>>()) info.launch_tags.push_back(tag);
  }
  return info;
}

}  // namespace

nnef_plugin::KernelModule build(const IRModule& kernels) {
  nnef_plugin::KernelModule module;
  module.format = "spv";
  for (const NamedFunction& kernel : functions_of(kernels)) {
    module.kernels.push_back(describe(kernel));
    const Words words = Emitter().kernel(kernel.name, kernel.function);
    nnef_plugin::append_spirv(words, module.code);
  }
  return module;
}

}  // namespace nnef_tvm::spirv
