// Private to libnnef: the tensor files of a graph's variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model_files.h"
#include "nnef/diagnostic.h"
#include "nnef/graph.h"

namespace nnef {

/// The data of one file, with the variable in the diagnostics; null after an error.
TensorDataPtr read_variable_file(const ModelFiles& files, const std::string& file,
                                 const std::string& variable, const Location& where,
                                 Diagnostics& diagnostics);

/// Sets Tensor::data of every variable, and checks it against what the graph declares
/// ("variable/...", "dat/...").
void read_variables(Graph& graph, const ModelFiles& files, Diagnostics& diagnostics);

}  // namespace nnef
