// Files of several tensors by name (.safetensors), which tract takes for variables.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "nnef/diagnostic.h"
#include "nnef/file.h"
#include "nnef/tensor_file.h"

namespace nnef {

/// All tensors of a file; those of types that tensors here lack are left out. Nothing after an
/// error
/// ("safetensors/...").
std::map<std::string, TensorDataPtr> read_safetensors(FileBytes file, const std::string& name,
                                                      Diagnostics& diagnostics);

}  // namespace nnef
