// Weights that are single numbers as constants, where passes and kernels see their values.
#pragma once

#include <string>
#include <vector>

#include "compile/pipeline.h"

namespace nnef_tvm {

/// `params` are the values of the entry's parameters after the first num_input.
Model bind_numbers(const IRModule& module, const std::string& entry,
                   const std::vector<ffi::Tensor>& params);

}  // namespace nnef_tvm
