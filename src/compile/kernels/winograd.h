// Convolution by Winograd's minimal filtering.
#pragma once

#include <map>
#include <string>

#include "compile/schedule/cpu/winograd_plan.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// Replaces those convolutions of channels-last data by 3 x 3 windows of known weights for which
/// `choose` returns a plan: a kernel that transforms the weights, which depends on weights alone,
/// and one that takes them so. What remains is left to the other legalisations.
IRModule use_winograd(const IRModule& module, const std::string& entry,
                      const WinogradChoice& choose);

}  // namespace nnef_tvm
