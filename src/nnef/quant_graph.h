// Private to libnnef: the operation of an entry of graph.quant as a graph of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "nnef/diagnostic.h"
#include "nnef/graph.h"

namespace nnef {

/// How the tensors of the graph are called.
struct QuantNames {
  std::string input;
  std::string output;
  std::string prefix;  ///< of parameters, before their names in the declaration
};

/// An external of the tensor's shape, a constant for each parameter that is an array, and the
/// operation, whole, with shapes; positions are those of the entry. Nothing after an error, which
/// is reported.
std::optional<Graph> quantization_graph(const Tensor& tensor, const QuantNames& names,
                                        Diagnostics& diagnostics);

/// The same graph with the compounds expanded that `keep_compound` does not name; all positions are
/// those of the entry.
std::optional<Graph> expanded(const Graph& graph, const Quantization& entry,
                              const std::function<bool(std::string_view)>& keep_compound,
                              Diagnostics& diagnostics);

/// Shapes and values of the entries of graph.quant, for a graph with inferred shapes.
void check_quantization(const Graph& graph, Diagnostics& diagnostics);

}  // namespace nnef
