// From the checked document to the flat graph, split by concern: expand.cc (document, assignments),
// expand_expr.cc (expressions), expand_call.cc (operations and fragments), graph_rules.cc (what
// only the flat graph shows).
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
           const std::function<bool(std::string_view)>& keep, Diagnostics& diagnostics);

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

  const ast::Document& document_;
  const Declarations& declarations_;
  const std::function<bool(std::string_view)>& keep_;
  Diagnostics& diagnostics_;

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
