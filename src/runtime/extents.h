// Extents of inputs that depend on the run.
#pragma once

#include <string>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef_runtime/session.h"

namespace nnef_runtime {

/// "float32[1,S,64]"
std::string to_string(const TensorSpec& spec);

/// Whether the inputs, whose ranks and known extents are right, give each symbol one value within
/// its bounds, for which all conditions hold; reports "run/..." otherwise.
bool check_symbols(const std::vector<::tvm::ffi::Tensor>& inputs,
                   const std::vector<TensorSpec>& specs,
                   const std::vector<ShapeCondition>& conditions, nnef::Diagnostics& diagnostics);

}  // namespace nnef_runtime
