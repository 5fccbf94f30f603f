// The stages from text to graph, in order. Each reports to Diagnostics and goes on as far as it
// makes sense.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
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
ast::Document parse(SourcePtr source, Diagnostics& diagnostics,
                    std::optional<Dialect> dialect = std::nullopt);
/// The same for a library of fragments (no graph, no version line needed).
ast::Document parse_library(SourcePtr source, Diagnostics& diagnostics,
                            Dialect dialect = Dialect::khronos);
std::vector<ast::QuantizationEntry> parse_quantization(SourcePtr source, Diagnostics& diagnostics,
                                                       Dialect dialect = Dialect::khronos);

/// All fragments in sight: those built in, and the document's.
class Declarations {
 public:
  /// The standard library, parsed once from the built-in stdlib.nnef.
  static const Declarations& standard();
  /// The same with the operations of tract (tract.nnef), some of which replace standard ones.
  static const Declarations& tract();
  static const Declarations& of(Dialect dialect) {
    return dialect == Dialect::tract ? tract() : standard();
  }
  /// The declaration of an operation of a flat graph, whatever dialect it came from; null for a
  /// custom one.
  static const ast::Fragment* find_built_in(std::string_view name);

  /// Adds the operations of custom.h.
  void add_registered();
  /// Adds the fragments of a document; reports redefinitions, which only tract's dialect has. The
  /// document must outlive this.
  void add(const ast::Document& document, Diagnostics& diagnostics);

  Dialect dialect() const { return dialect_; }
  const ast::Fragment* find(std::string_view name) const;
  /// Built in, and not replaced.
  bool is_standard(std::string_view name) const;
  std::vector<std::string> names() const;

 private:
  Dialect dialect_ = Dialect::khronos;
  std::map<std::string, const ast::Fragment*, std::less<>> fragments_;
  std::set<std::string, std::less<>> standard_;
  std::set<std::string, std::less<>> registered_;
};

/// Static checks of the graph and of every fragment body: names (with suggestions), argument lists,
/// types with generics, single assignment, results assigned, which constructs the enabled
/// extensions allow, where external, variable and update may stand.
void check(const ast::Document& document, const Declarations& declarations,
           Diagnostics& diagnostics);

/// What tract's dialect needs in order to expand: its attributes may be computed from shapes and
/// weights.
struct ExpansionInputs {
  std::map<std::string, Shape, std::less<>> shapes;  ///< LoadOptions::input_shapes
  /// The data of a variable; null after an error, which it reported. `shape` is the declared one.
  std::function<TensorDataPtr(const std::string& tensor, const std::string& label,
                              const Shape& shape, const Location& where)>
      read_variable;  ///< absent: there are no data
};

/// Evaluates compile-time expressions (64-bit integers, doubles) and expands fragments to the flat
/// graph. Standard compounds for which `keep` says true stay whole; custom fragments without a body
/// stay as operations.
std::optional<Graph> expand(const ast::Document& document, const Declarations& declarations,
                            const std::function<bool(std::string_view)>& keep,
                            Diagnostics& diagnostics, const ExpansionInputs& inputs = {});

/// Attaches the entries of a graph.quant to the graph's tensors, checked against the declarations.
void attach_quantization(Graph& graph, const std::vector<ast::QuantizationEntry>& entries,
                         const Declarations& declarations, Diagnostics& diagnostics);

/// Shapes and types of all tensors, and Operation::resolved. Goes on after an error with operations
/// that do not depend on the failed one.
void infer(Graph& graph, const std::map<std::string, Shape, std::less<>>& input_shapes,
           Diagnostics& diagnostics);

/// The same for one operation, whose inputs have shapes and item types; false after an error.
bool infer_operation(Graph& graph, Operation& operation, Diagnostics& diagnostics);

/// What is `given` ("a shape") for a name that is no input of the graph ("infer/input-unknown").
void report_unknown_input(const Graph& graph, std::string_view given, const std::string& name,
                          Diagnostics& diagnostics);

using InputTypes = std::map<std::string, ItemType, std::less<>>;

/// Item types of all tensors, after types are known and the headers of variables were read: what
/// the operands have, promoted. Inputs that are not named keep the type that an earlier call gave
/// them.
void infer_items(Graph& graph, const InputTypes& input_types, Diagnostics& diagnostics);
/// The results of one operation, whose inputs have item types.
void infer_items(Graph& graph, const Operation& operation);

}  // namespace nnef
