// Kernels as the bytes that artefacts and plug-ins take.
#pragma once

#include <tvm/ffi/extra/module.h>

#include "tvm/object.h"

namespace nnef_tvm {

/// Code for kernels, lowered for the target, as one module of the target's kind: runnable when the
/// plug-in for the device is loaded.
ffi::Module build_device_code(const IRModule& kernels, const Target& target);

}  // namespace nnef_tvm
