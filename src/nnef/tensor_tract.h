// Tensor files with items of tract's own: quantised blocks, which are read as float32, and others,
// which are refused by name.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "nnef/tensor_file.h"

namespace nnef {

/// Whether the bytes begin with the header of such a file.
bool is_tract_tensor(std::span<const std::byte> bytes);
/// Null after an error ("dat/...").
TensorDataPtr read_tract_tensor(std::span<const std::byte> bytes, const std::string& name,
                                Diagnostics& diagnostics);

}  // namespace nnef
