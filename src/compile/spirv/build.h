// Kernels for Vulkan.
#pragma once

#include "runtime/plugin/kernels.h"
#include "tvm/object.h"

namespace nnef_tvm::spirv {

/// One SPIR-V module for each kernel; the code is what nnef_plugin::split_spirv() takes apart.
/// Throws tvm::ffi::Error for what shaders cannot do.
nnef_plugin::KernelModule build(const IRModule& kernels);

}  // namespace nnef_tvm::spirv
