// The static checks of one document, split by concern: check.cc (document, bodies),
// check_fragment.cc (declarations), check_expr.cc (expressions), check_invocation.cc (argument
// lists), check_tract.cc (what tract's dialect does otherwise: its values have their types only
// when they are computed, so that nothing is said about types here).
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ast.h"
#include "check_types.h"
#include "stages.h"

namespace nnef {

/// The expressions that are operations (invocations, and operators on tensors), each with what '?'
/// of its declaration is: a primitive type, '?' of the fragment around it, or nothing when the
/// declaration is not generic.
using OperationTypes = std::unordered_map<const ast::Expr*, StaticType>;

class Checker {
 public:
  /// `operations` may be null; it receives the operations of all that is checked without a fault.
  Checker(const Declarations& declarations, Diagnostics& diagnostics,
          OperationTypes* operations = nullptr)
      : declarations_(declarations),
        diagnostics_(diagnostics),
        operations_(operations),
        dynamic_(declarations.dialect() == Dialect::tract) {}

  void check_document(const ast::Document& document);
  void check_fragment(const ast::Fragment& fragment);

 private:
  /// The arguments of an invocation, by the names of their parameters.
  using Arguments = std::map<std::string_view, const ast::NamedArgument*>;

  /// A name of the body at hand.
  struct Binding {
    StaticType type;
    Location where;
    /// Never assigned; reported at its first use, kept to be silent about the others.
    bool unknown = false;
    bool parameter = false;  ///< of a fragment
  };

  // check.cc
  void check_graph(const ast::GraphDefinition& graph);
  void check_graph_inputs(const ast::GraphDefinition& graph);
  void check_graph_outputs(const ast::GraphDefinition& graph);
  void begin_body(const std::vector<ast::Assignment>& body);
  void check_body(const std::vector<ast::Assignment>& body);
  void check_assignment(const ast::Expr& left, const ast::Expr& right);
  void assign(const ast::Expr& left, const StaticType& type);
  void check_external(const ast::Expr& left, const ast::Expr& right);
  bool declare(const std::string& name, StaticType type, const Location& where);

  // check_fragment.cc
  void check_parameters(const ast::Fragment& fragment);
  void check_results(const ast::Fragment& fragment);
  void check_generic_declaration(const ast::Fragment& fragment);
  void check_result_types(const ast::Fragment& fragment);

  // check_expr.cc
  StaticType type_of(const ast::Expr& expr);
  StaticType type_of_identifier(const ast::Expr& expr);
  StaticType type_of_array(const ast::Expr& expr);
  StaticType type_of_tuple(const ast::Expr& expr);
  StaticType type_of_subscript(const ast::Expr& expr);
  StaticType type_of_range(const ast::Expr& expr);
  StaticType type_of_unary(const ast::Expr& expr);
  StaticType type_of_binary(const ast::Expr& expr);
  StaticType type_of_conditional(const ast::Expr& expr);
  StaticType type_of_comprehension(const ast::Expr& expr);
  StaticType type_of_builtin(const ast::Expr& expr);
  StaticType operand_fault(const ast::Expr& expr, const std::vector<const ast::Type*>& types);
  /// The type of operator `expr` on tensors, which is an invocation of `operation`.
  StaticType type_of_tensor_operator(const ast::Expr& expr, std::string_view operation,
                                     const std::vector<const ast::Type*>& types);
  void expect_integer(const ast::Expr& expr, std::string_view role);
  void expect_condition(const ast::Expr& expr);

  // check_invocation.cc
  StaticType type_of_invocation(const ast::Expr& expr);
  const ast::Parameter* parameter_of(const ast::NamedArgument& argument, size_t position,
                                     const ast::Fragment& fragment, bool after_named);
  void check_missing(const ast::Expr& expr, const ast::Fragment& fragment, const Arguments& given);
  /// Checks the types of the given arguments against the declaration; may set `binding`.
  bool match_types(const ast::Fragment& fragment, const Arguments& given,
                   const std::map<std::string_view, StaticType>& types, StaticType& binding);
  /// Lets the defaults of arguments that are not given bind '?', or reports that they contradict
  /// `binding`.
  bool bind_defaults(const ast::Expr& expr, const ast::Fragment& fragment, const Arguments& given,
                     StaticType& binding);
  /// What '?' is bound to by the invocation's type argument; nothing when it has none or a wrong
  /// one.
  StaticType explicit_binding(const ast::Expr& expr, const ast::Fragment& fragment);
  void check_place(const ast::Expr& expr);
  void unknown_operation(const ast::Expr& expr);

  // check_tract.cc
  /// Checks the names in an expression.
  void check_dynamic(const ast::Expr& expr);
  void check_dynamic_fragment(const ast::Fragment& fragment);
  /// An argument of a name that the declaration lacks; true when it has no effect.
  bool ignore_argument(const ast::NamedArgument& argument, const ast::Fragment& fragment);
  void report_unresolved();

  /// "[check/type] message" with a hint on how to convert, when there is a way.
  void type_fault(const Location& where, std::string message, const ast::Expr& expr,
                  const ast::Type& from, const ast::Type& to);

  const Declarations& declarations_;
  Diagnostics& diagnostics_;
  OperationTypes* operations_;
  bool dynamic_;                              ///< the dialect is tract's
  std::vector<const ast::Expr*> unresolved_;  ///< tract: invocations of unknown operations
  std::set<const ast::Fragment*> ignorant_;   ///< tract: those with an ignored argument, reported
  std::set<std::string_view> symbols_;        ///< tract: of the document

  // Of the body at hand.
  std::map<std::string, Binding, std::less<>> scope_;
  std::map<std::string, Location, std::less<>> assigned_;  ///< all names the body assigns, wherever
  const ast::GraphDefinition* graph_ = nullptr;            ///< null in a fragment
  const ast::Fragment* fragment_ = nullptr;                ///< null in the graph
  const ast::Expr* external_allowed_ =
      nullptr;  ///< the invocation that is the whole right side of an assignment
};

}  // namespace nnef
