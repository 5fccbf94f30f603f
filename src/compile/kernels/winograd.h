// Convolution by Winograd's minimal filtering.
#pragma once

#include <string>

#include "compile/schedule/cpu/schedule.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// Replaces convolutions of channels-last data by 3 x 3 windows of known weights where Winograd's
/// method pays on the target: a kernel that transforms the weights, which depends on weights alone,
/// and one that takes them so. What remains is left to the other legalisations.
IRModule use_winograd(const IRModule& module, const std::string& entry, const CpuTraits& traits,
                      WinogradUse use);

}  // namespace nnef_tvm
