// Private to libnnef: the tensor files of a graph's variables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model_files.h"
#include "nnef/diagnostic.h"
#include "nnef/graph.h"

namespace nnef {

/// The file of a variable's label, relative to the model; nothing for a label that leads out of the
/// model.
std::optional<std::string> label_file(std::string_view label);

/// Sets Tensor::data of every variable, and checks it against what the graph declares
/// ("variable/...", "dat/...").
void read_variables(Graph& graph, const ModelFiles& files, Diagnostics& diagnostics);

}  // namespace nnef
