// Scans over extents with symbols.
#pragma once

#include "relax/lowering.h"

namespace nnef_tvm {

std::vector<Expr> lower_loop(const LoweringContext& op);

}  // namespace nnef_tvm
