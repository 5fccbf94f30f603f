// Which arguments of kernels are weights, and so can be laid out anew when the model is compiled.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

/// For each PrimFunc that the function "main" calls: which of its arguments depend on weights alone
/// in every call. Weights are the parameters after the first `num_input`, constants, and what is
/// computed from them.
std::map<std::string, std::vector<bool>> weight_arguments(const IRModule& module);

}  // namespace nnef_tvm
