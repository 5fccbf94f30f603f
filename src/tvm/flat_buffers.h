// Flattening of buffers, without what TVM gets wrong there.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// tirx.transform.FlattenBuffer. The simplification of indices in it is wrong where a quotient or a
/// remainder of a sum with a constant meets another one of the same loop: with t below 4, it makes
/// (t + 1) % 4 of t // 2 % 2 * 2 + (t + 1) % 2, and 0 of (t % 8 + 3) // 8. What such sums depend on
/// is hidden from it.
Pass flat_buffers();

}  // namespace nnef_tvm
