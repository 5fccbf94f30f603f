// Vectors of which only some lanes exist.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// tirx.transform.VectorizeLoop, with masked loads and stores for vectorised loops over one store
/// under a condition on the lane, `x + lane < n` or what simplification makes of it, `x // c + lane
/// // c < n // c`. TVM itself makes masks only where items lie as the condition counts them; all
/// else it takes apart into lanes. Loads from memory of scope "local" are of whole vectors.
Pass vectorize_loops();

}  // namespace nnef_tvm
