// Channels last: the layout that convolutions are fastest in.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// Two-dimensional convolutions take their data in NHWC and their weights in HWIO, and what lies
/// between them follows, so that layouts change only around operators that know one layout. Results
/// stay what they were. Run it while weights are parameters of "main" and before they are split
/// off: their changes of layout then happen at compile time.
IRModule convert_layout(const IRModule& module, const Target& target);

}  // namespace nnef_tvm
