// Quantised graphs and data: what stored items stand for, and the entries of graph.quant as
// operations.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "nnef/graph.h"

namespace nnef {

/// The values of a variable as reals. Items of codes 2 and 3 are read by its entry of graph.quant,
/// else by the deprecated parameters of its file; all others stand for themselves. Nothing when
/// the data were not read, or quantised items have neither.
std::optional<std::vector<double>> real_values(const Tensor& variable);

/// Puts the operation of each entry of graph.quant after the tensor that it names ("pseudo"
/// quantisation of the specification): whatever reads the tensor, the graph's results included,
/// reads values of the grid, which stay reals. Variables that are stored quantised and never
/// updated are on their grid already and keep their entry; all other entries are used up.
///
/// Graph inputs and results keep their names. `keep_compound` says which operations stay whole
/// (LoadOptions); empty: all. Reports "quant/..." and returns false for operations that are not of
/// the standard.
bool fake_quantize(Graph& graph, const std::function<bool(std::string_view)>& keep_compound,
                   Diagnostics& diagnostics);

}  // namespace nnef
