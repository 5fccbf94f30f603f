// A case by the reference evaluator: its values, and by how much rounding may change them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph_case.h"
#include "nnef/diagnostic.h"
#include "nnef/graph.h"

namespace generator {

/// Items by the names of tensors, for every cycle.
using Values = std::map<std::string, std::vector<double>>;

struct Expectation {
  Values values;
  /// How far each item of an output may be moved by rounding before it; infinite where a step or a
  /// number that is not finite makes any value possible.
  Values doubt;
  std::map<std::string, Operand> tensors;  ///< type and shape of every output
};

/// The number of cycles that show all of a graph's behaviour: two where variables change.
int cycles(const GraphCase& graph_case);

/// A graph with the data of its variables; compounds for which `keep` holds stay whole.
std::optional<nnef::Graph> load_case(const std::string& text, const std::vector<Given>& given,
                                     bool (*keep)(std::string_view),
                                     nnef::Diagnostics& diagnostics);

/// Of the last cycle.
std::optional<Expectation> expect(const GraphCase& graph_case, nnef::Diagnostics& diagnostics);

}  // namespace generator
