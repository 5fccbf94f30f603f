// Truth values in OpenCL C.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// Kernels that mean the same when TVM writes them in OpenCL C. There, "true" is 1 as a number and
/// -1 as a lane of a vector, and TVM's select() of vectors and casts to numbers mistake one for the
/// other.
IRModule with_opencl_truths(const IRModule& kernels);

}  // namespace nnef_tvm
