// A whole case: a graph of one to six operations with the data of its tensors.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "choices.h"
#include "draft.h"

namespace generator {

/// How often drawing an operation gave what its shape rule accepts.
struct Attempts {
  size_t valid = 0;
  size_t invalid = 0;
};

struct GraphCase {
  std::string text;  ///< graph.nnef
  std::vector<Given> given;
  std::vector<Statement> statements;
  std::vector<std::string> outputs;
  std::map<std::string, Attempts> attempts;  ///< by operation

  /// The tensors that nothing in the graph gives: externals, in the order of the graph's inputs.
  std::vector<const Given*> of_kind(Given::Kind kind) const;
};

/// A graph in which `focus` is one of the operations. No statements when every attempt was invalid.
GraphCase draw_case(Choices& choices, std::string_view focus);

/// A complete case file: the model, its inputs, the expected outputs by name, and the run.
std::string case_text(const GraphCase& graph_case, const std::string& comment,
                      const std::map<std::string, std::vector<double>>& expected,
                      const std::map<std::string, Operand>& tensors);

}  // namespace generator
