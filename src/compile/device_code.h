// Kernels as the bytes that artefacts and plug-ins take.
#pragma once

#include <tvm/ffi/extra/module.h>

#include <optional>
#include <string>

#include "tvm/ir_module.h"

namespace nnef_tvm {

/// Code for kernels, lowered for the target, as one module of the target's kind: runnable when the
/// plug-in for the device is loaded.
ffi::Module build_device_code(const IRModule& kernels, const Target& target);

/// A kernel, lowered for the target, in the language of the target's kind: "opencl" (OpenCL C),
/// "vulkan" (SPIR-V's words), "cuda" (CUDA C++). Throws tvm::ffi::Error for what the language
/// cannot say.
std::string kernel_code(const NamedFunction& kernel, const Target& target);

}  // namespace nnef_tvm
