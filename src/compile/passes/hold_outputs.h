// Outputs that depend on weights alone.
#pragma once

#include <string>

#include "tvm/object.h"

namespace nnef_tvm {

/// Marks every output of the function, so that lift_transform_params() hands those that it computes
/// ahead to the function again; without the mark it leaves them undefined. It removes the marks.
IRModule hold_outputs(const IRModule& module, const std::string& entry);

}  // namespace nnef_tvm
