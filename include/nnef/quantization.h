// What quantised data stand for: the values of variables that are stored quantised.
#pragma once

#include <optional>
#include <vector>

#include "nnef/graph.h"

namespace nnef {

/// The values of a variable as reals. Items of codes 2 and 3 are read by its entry of graph.quant,
/// else by the deprecated parameters of its file; all others stand for themselves. Nothing when
/// the data were not read, or quantised items have neither.
std::optional<std::vector<double>> real_values(const Tensor& variable);

}  // namespace nnef
