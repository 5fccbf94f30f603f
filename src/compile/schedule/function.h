// What all targets' schedules ask of a PrimFunc.
#pragma once

#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

/// Whether a schedule, of ours or of another tuner, is applied already.
bool is_scheduled(const Expr& function);
/// The function, marked so.
Expr marked_scheduled(const PrimFunc& function);

/// The parameters that are chosen; those without a flag are not.
std::vector<Var> parameters(const PrimFunc& function, const std::vector<bool>& chosen);

}  // namespace nnef_tvm
