// From the checked document to the flat graph, split by concern: expand.cc (document, assignments),
// expand_expr.cc (expressions), expand_call.cc (operations and fragments), graph_rules.cc (what
// only the flat graph shows); expand_tract.cc, tract_arguments.cc and tract_normal.cc (what
// tract's dialect does otherwise).
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ast.h"
#include "checker.h"
#include "evaluate.h"
#include "known_values.h"
#include "stages.h"

namespace nnef {

/// Limits that keep every file from exhausting the machine.
inline constexpr size_t kMaxCallDepth = 500;  ///< fragments within fragments
inline constexpr size_t kMaxNesting = 2000;   ///< expressions within expressions, over all calls
inline constexpr size_t kMaxOperations = 250'000;  ///< of the flat graph
inline constexpr size_t kMaxWork =
    10'000'000;  ///< expressions evaluated, items copied, links of call chains

/// Names of tensors that the text does not name.
class TensorNames {
 public:
  void reserve(const std::string& name) { taken_.insert(name); }
  /// `wanted`, or `wanted` and a number.
  std::string unique(const std::string& wanted);

 private:
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, size_t> next_;
};

/// How the tensors of a value should be called.
struct Target {
  std::string name;       ///< empty: by the operation that makes them
  bool exact = false;     ///< the text names this tensor: exactly so
  Location where;         ///< of the name in the text, when exact
  bool sequence = false;  ///< an array or tuple on the left side: `items`
  std::vector<Target> items;

  Target item(size_t index) const;
};

/// A body under evaluation: of the graph, or of one call of a fragment.
struct Frame {
  const ast::Fragment* fragment = nullptr;  ///< null: the graph
  const Frame* parent = nullptr;
  Location call;  ///< where the parent calls `fragment`
  size_t depth = 0;
  std::optional<DType> generic;              ///< what '?' is here
  std::map<std::string_view, Value> values;  ///< monostate: failed, reported
  std::map<std::string_view, Target> results;
};

struct CallArgument {
  Value value;
  Location where;
  bool defaulted = false;
};

class Expander {
 public:
  Expander(const ast::Document& document, const Declarations& declarations,
           const std::function<bool(std::string_view)>& keep, Diagnostics& diagnostics,
           const ExpansionInputs& inputs);

  std::optional<Graph> expand();

 private:
  using Result = std::optional<Value>;

  // expand.cc
  void reserve_names();
  void add_custom_declarations();
  Target target_of(const ast::Expr& left, const Frame& frame) const;
  bool run_assignment(const ast::Assignment& assignment, Frame& frame);
  bool assign(const ast::Expr& left, const Value& value, Frame& frame);
  Value name_in_graph(const ast::Expr& left, const Value& value);
  void give_up_name(const ast::Expr& left);
  void poison(const ast::Expr& left, Frame& frame);
  void collect_interface();
  /// Nothing, after reporting once for each place, with the calls that led there.
  std::nullopt_t fail(std::string id, const Location& where, std::string message,
                      const Frame& frame, std::string hint = {});
  std::nullopt_t fail(const EvaluationFault& fault, const Location& where, const Frame& frame);
  /// Like fail, and ends the expansion: for limits.
  std::nullopt_t give_up(std::string id, const Location& where, std::string message,
                         const Frame& frame, std::string hint = {});
  /// Counts towards kMaxWork; false when the expansion ends.
  bool spend(size_t work, const Location& where, const Frame& frame);

  // expand_expr.cc
  Result evaluate(const ast::Expr& expr, Frame& frame, const Target& target = {});
  Result evaluate_kind(const ast::Expr& expr, Frame& frame, const Target& target);
  /// The value of a name without a copy, else `storage`; null after a fault.
  const Value* borrow(const ast::Expr& expr, Frame& frame, Value& storage);
  Result identifier(const ast::Expr& expr, Frame& frame);
  template <typename Sequence>
  Result sequence(const ast::Expr& expr, Frame& frame, const Target& target);
  Result subscript(const ast::Expr& expr, Frame& frame);
  Result range(const ast::Expr& expr, Frame& frame);
  Result unary(const ast::Expr& expr, Frame& frame, const Target& target);
  Result binary(const ast::Expr& expr, Frame& frame, const Target& target);
  Result conditional(const ast::Expr& expr, Frame& frame, const Target& target);
  Result comprehension(const ast::Expr& expr, Frame& frame, const Target& target);
  Result builtin(const ast::Expr& expr, Frame& frame);
  std::optional<bool> condition(const ast::Expr& expr, Frame& frame);
  Result checked(Result value, const EvaluationFault& fault, const Location& where,
                 const Frame& frame);

  // expand_call.cc
  Result invocation(const ast::Expr& expr, Frame& frame, const Target& target);
  Result tensor_operator(const ast::Expr& expr, std::string_view operation, Frame& frame,
                         const Target& target);
  std::optional<DType> binding_of(const ast::Expr& expr, const Frame& frame);
  /// Expands or emits, as the declaration and `keep` want it.
  Result call(const ast::Fragment& fragment, std::vector<CallArgument> arguments,
              std::optional<DType> binding, std::optional<DType> type_argument,
              const Location& where, Frame& frame, const Target& target);
  Result expand_fragment(const ast::Fragment& fragment, std::vector<CallArgument> arguments,
                         std::optional<DType> binding, const Location& where, Frame& frame,
                         const Target& target);
  Result emit(const ast::Fragment& fragment, std::vector<CallArgument> arguments,
              std::optional<DType> binding, std::optional<DType> type_argument,
              const Location& where, const Frame& frame, const Target& target);
  /// The new tensors of a result; an array needs to know how many they are.
  Result make_result(const ast::Type& type, std::optional<DType> binding,
                     std::optional<size_t> length, const Operation& operation, const Frame& frame,
                     const Target& target);
  std::optional<size_t> result_length(const Operation& operation) const;
  TensorRef add_tensor(const Target& target, const std::string& operation, DType dtype,
                       const Location& where);
  DType dtype_of(const Value& value) const;

  // expand_tract.cc
  /// Operations that are more than their declarations say: null for others.
  using Special = Result (Expander::*)(const ast::Expr&, Frame&, const Target&);
  static Special find_special(std::string_view name);
  Result external(const ast::Expr& expr, Frame& frame, const Target& target);
  Result variable(const ast::Expr& expr, Frame& frame, const Target& target);
  // tract_scan.cc
  Result scan(const ast::Expr& expr, Frame& frame, const Target& target);
  struct Scan;
  /// As an operation with a body of its own, where the number of iterations has symbols.
  Result loop(Scan scan, const ast::Expr& expr, Frame& frame, const Target& target);
  /// The body as a graph of its own.
  std::optional<Graph> loop_body(const Scan& scan, const ast::Expr& expr, Frame& frame);
  Result scan_slice(const Value& tensor, const Value& axis, int64_t step, int64_t iteration,
                    const Location& where, const Frame& frame);

  const ast::Expr* argument_of(const ast::Expr& expr, std::string_view name, size_t position) const;
  Result symbol(const ast::Expr& expr, const Frame& frame);
  // tract_symbols.cc
  /// What symbols are: extents of the shapes that are given, or symbols with bounds.
  void declare_symbols();
  /// What the bounds of symbols do not say becomes conditions of the graph.
  void add_assertions();
  std::optional<Shape> external_shape(const ast::Expr& expr, Frame& frame, const std::string& name);
  Result dynamic_unary(const ast::Expr& expr, Frame& frame, const Target& target);
  Result dynamic_shape_of(const ast::Expr& expr, Frame& frame);
  Result dynamic_binary(const ast::Expr& expr, Frame& frame, const Target& target);
  /// A conversion to another primitive type.
  TensorRef cast(TensorRef ref, DType to, const Location& where, const Frame& frame);
  /// Shapes and item types of the operation that was added last.
  void infer_last();
  void remove_unused();
  void remove_unused_tensors();
  void report_without_rule();

  // tract_arguments.cc
  /// Makes the arguments what the declaration asks for. Sets `binding` to what '?' is.
  bool adapt(const ast::Fragment& fragment, std::vector<CallArgument>& arguments,
             std::optional<DType>& binding, const Frame& frame);
  /// A value where a tensor is expected: an array becomes one, of at most `rank` axes.
  Result as_tensor(const Value& value, const Location& where, const Frame& frame,
                   size_t rank = SIZE_MAX);
  /// A value where an attribute is expected: a tensor becomes its items, which must be known.
  Result as_attribute(const Value& value, const ast::Type& type, std::string_view name,
                      const CallArgument& argument, const Frame& frame);
  bool all_known(const std::vector<CallArgument>& arguments);
  DType common_dtype(const ast::Fragment& fragment, const std::vector<CallArgument>& arguments,
                     std::optional<DType> binding) const;
  void known_scalars_to_literals(const ast::Fragment& fragment,
                                 std::vector<CallArgument>& arguments) const;
  /// Says as the standard does what tract says otherwise: axes from the end, repeated axes, ...
  void normalise(const ast::Fragment& fragment, std::vector<CallArgument>& arguments);
  Value converted(const Value& value, DType to, const Location& where, const Frame& frame);

  const ast::Document& document_;
  const Declarations& declarations_;
  const std::function<bool(std::string_view)>& keep_;
  Diagnostics& diagnostics_;
  const ExpansionInputs& inputs_;
  const bool dynamic_;          ///< the dialect is tract's: types are those of the values
  KnownValues known_;           ///< tract: of tensors that depend on no input
  DimValues symbols_;           ///< tract: those that an input has
  TensorDataPtr pending_data_;  ///< tract: of the variable that is being added
  std::vector<std::pair<std::string, Location>> without_rule_;  ///< tract: operations

  OperationTypes types_;
  Diagnostics type_diagnostics_;  ///< of checking standard fragments, for `types_` only
  std::unordered_set<const ast::Fragment*> typed_;

  Graph graph_;
  Frame top_;
  TensorNames names_;
  std::string root_;  ///< first name of the graph's assignment at hand: derived names begin with it
  size_t first_fresh_ = 0;  ///< tensors from this index on are made by the assignment at hand
  std::map<std::string_view, TensorRef> by_name_;  ///< the tensors that the graph's text names
  std::set<std::tuple<const Source*, uint32_t, std::string>> reported_;
  size_t nesting_ = 0;
  size_t work_ = 0;
  bool exhausted_ = false;
};

/// The chain of fragment calls that led to `frame`, innermost first.
std::vector<CallSite> call_chain(const Frame& frame);
/// Appends the chain to a diagnostic; the middle of a long one is left out.
void add_call_notes(Diagnostic& diagnostic, const std::vector<CallSite>& chain);

/// Labels and shapes of variables, and what is updated.
void check_variables(const Graph& graph, Diagnostics& diagnostics);

}  // namespace nnef
