// Types again, from the beginning: a frontend that could not see a constant left what follows it
// without shapes.
#pragma once

#include <cstddef>

#include "tvm/object.h"

namespace nnef_tvm {

/// The tensors bound in "main" whose extents are not all known.
size_t count_unknown_shapes(const IRModule& module);

/// "main" with the types that its operators give to their results now.
IRModule refine_types(const IRModule& module);

}  // namespace nnef_tvm
