// The stages from text to graph, in order. Each reports to Diagnostics and goes on as far as it
// makes sense.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ast.h"
#include "nnef/diagnostic.h"
#include "nnef/graph.h"
#include "nnef/model.h"

namespace nnef {

/// Lexer and parser. Recovers at statement ends, so that one run reports several errors. The
/// document is usable by the next stage only when no error was reported.
ast::Document parse(SourcePtr source, Diagnostics& diagnostics);
/// The same for a library of fragments (no graph, no version line needed).
ast::Document parse_library(SourcePtr source, Diagnostics& diagnostics);
std::vector<ast::QuantizationEntry> parse_quantization(SourcePtr source, Diagnostics& diagnostics);

/// All fragments in sight: the standard's and the document's.
class Declarations {
 public:
  /// The standard library, parsed once from the built-in stdlib.nnef.
  static const Declarations& standard();

  /// Adds the fragments of a document; reports redefinitions. The document must outlive this.
  void add(const ast::Document& document, Diagnostics& diagnostics);

  const ast::Fragment* find(std::string_view name) const;
  bool is_standard(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, const ast::Fragment*, std::less<>> fragments_;
  std::map<std::string, bool, std::less<>> standard_;
};

/// Static checks of the graph and of every fragment body: names (with suggestions), argument lists,
/// types with generics, single assignment, results assigned, which constructs the enabled
/// extensions allow, where external, variable and update may stand.
void check(const ast::Document& document, const Declarations& declarations,
           Diagnostics& diagnostics);

/// Evaluates compile-time expressions (64-bit integers, doubles) and expands fragments to the flat
/// graph. Standard compounds for which `keep` says true stay whole; custom fragments without a body
/// stay as operations.
std::optional<Graph> expand(const ast::Document& document, const Declarations& declarations,
                            const std::function<bool(std::string_view)>& keep,
                            Diagnostics& diagnostics);

/// Attaches the entries of a graph.quant to the graph's tensors, checked against the declarations.
void attach_quantization(Graph& graph, const std::vector<ast::QuantizationEntry>& entries,
                         const Declarations& declarations, Diagnostics& diagnostics);

/// Shapes and types of all tensors, and Operation::resolved. Goes on after an error with operations
/// that do not depend on the failed one.
void infer(Graph& graph, const std::map<std::string, Shape, std::less<>>& input_shapes,
           Diagnostics& diagnostics);

/// What is `given` ("a shape") for a name that is no input of the graph ("infer/input-unknown").
void report_unknown_input(const Graph& graph, std::string_view given, const std::string& name,
                          Diagnostics& diagnostics);

using InputTypes = std::map<std::string, ItemType, std::less<>>;

/// Item types of all tensors, after types are known and the headers of variables were read: what
/// the operands have, promoted. Inputs that are not named keep the type that an earlier call gave
/// them.
void infer_items(Graph& graph, const InputTypes& input_types, Diagnostics& diagnostics);

}  // namespace nnef
