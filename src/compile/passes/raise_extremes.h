// Kernels that say no more than an operator does, as that operator: TVM's frontends write clip as
// two such kernels, which layouts and later simplifications could not see through.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// Calls in "main" of kernels that are the maximum or minimum of two tensors, or of one and a
/// number, become relax.maximum and relax.minimum.
IRModule raise_extremes(const IRModule& module);

}  // namespace nnef_tvm
