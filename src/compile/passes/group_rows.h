// Chains of kernels along rows, made one kernel each.
#pragma once

#include <string>

#include "compile/schedule/cpu/schedule.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// Groups calls of kernels that reduce rows, or compute items of the same rows from the results, as
/// functions that FuseTIR makes single kernels of: normalisations and softmax as exporters write
/// them, with their epilogues. `entry` calls kernels whose patterns are annotated; FuseOps comes
/// after.
IRModule group_rows(const IRModule& module, const std::string& entry, const CpuTraits& traits);

}  // namespace nnef_tvm
