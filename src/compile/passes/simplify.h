// Operators that change nothing, and chains of which one does.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// Gone: x * 1, x / 1, x + 0, x - 0; reshapes, transpositions, casts, broadcasts and slices to what
/// is there already; concatenations of one item. Chains of reshapes, of transpositions and of
/// casts become one; a transposition that only moves axes of one item becomes a reshape, which
/// copies nothing.
IRModule simplify(const IRModule& module);

}  // namespace nnef_tvm
