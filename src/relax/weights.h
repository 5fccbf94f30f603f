// Data of variables as TVM tensors.
#pragma once

#include <optional>

#include "nnef/graph.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// The values of a variable as items of its type (relax_dtype): a view of its data when that is
/// stored so, else converted. Reports "import/..." and returns nothing when there are no data, or
/// none that can be converted.
std::optional<ffi::Tensor> weight_tensor(const nnef::Tensor& variable,
                                         nnef::Diagnostics& diagnostics);

}  // namespace nnef_tvm
