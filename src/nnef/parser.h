// The parser's inside: one class for documents (parser.cc), fragments and types
// (parser_fragment.cc), expressions (parser_expr.cc) and quantization files (quant_parser.cc).
// Functions return null or false after an error that they reported.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ast.h"
#include "lexer.h"

namespace nnef {

constexpr std::string_view kFragmentExtension = "KHR_enable_fragment_definitions";
constexpr std::string_view kOperatorExtension = "KHR_enable_operator_expressions";

class Parser {
 public:
  /// Depth of nested expressions, types and left sides.
  static constexpr uint32_t kMaxDepth = 200;

  /// With a dialect, the text is of that one; else its extension lines tell.
  Parser(SourcePtr source, Diagnostics& diagnostics, std::optional<Dialect> dialect = {});

  ast::Document parse_document();
  ast::Document parse_library();
  std::vector<ast::QuantizationEntry> parse_quantization();

 private:
  using Kind = Token::Kind;

  /// Forbids `x if c else y` where `if` belongs to a comprehension.
  enum class Conditional : bool { forbidden, allowed };

  /// Counts nesting for the time of a scope.
  struct Nesting {
    explicit Nesting(Parser& parser) : parser(parser) { ++parser.nesting_; }
    ~Nesting() { --parser.nesting_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;
    Parser& parser;
  };

  // Tokens.
  bool at(Kind kind) { return lexer_.peek().kind == kind; }
  bool at(Kind kind, size_t ahead) { return lexer_.peek(ahead).kind == kind; }
  Token next();
  bool accept(Kind kind);
  /// `context` says what the token is for: "after the graph's inputs".
  bool expect(Kind kind, std::string_view context);
  /// A ';' that ends a statement; when it is missing where a statement could end, parsing goes on
  /// as if it were there.
  bool expect_semicolon(std::string_view context);
  std::optional<ast::Identifier> expect_name(std::string_view what, std::string_view example);
  Location here();
  Location where(const Token& token) const { return errors_.at(token.begin, token.end); }
  Location since(const Token& first) const { return errors_.at(first.begin, last_end_); }
  Location after_last() const { return errors_.at(last_end_, last_end_); }

  // Errors.
  /// "found X, expected WHAT", once for each place.
  Diagnostic& unexpected(std::string what, std::string hint = {});
  bool too_deep(const Location& at);
  void skip_statement();
  void skip_to(std::initializer_list<Kind> kinds);

  // Documents.
  bool check_beginning();
  void parse_version();
  void parse_extensions(ast::Document& document);
  void parse_extension_name(ast::Document& document);
  bool parse_tract_extension(ast::Document& document);
  void set_dialect(Dialect dialect);
  bool is_tract() const { return dialect_ == Dialect::tract; }
  void parse_definitions(ast::Document& document);
  void parse_rest_of_document(ast::Document& document);
  bool parse_fragment(ast::Fragment& fragment);
  bool parse_generic(ast::Fragment& fragment);
  bool parse_parameters(std::vector<ast::Parameter>& parameters);
  bool parse_results(std::vector<ast::Result>& results);
  bool parse_graph(ast::GraphDefinition& graph);
  bool parse_names(std::vector<ast::Identifier>& names, std::string_view what);
  bool parse_body(std::vector<ast::Assignment>& body);
  bool parse_assignment(std::vector<ast::Assignment>& body);
  ast::ExprPtr parse_left_side();
  ast::ExprPtr parse_left_item();
  ast::ExprPtr parse_left_list(ast::Expr::Kind kind, Kind close);
  std::optional<ast::Type> parse_type();
  std::optional<ast::Type> parse_type_name(std::string_view what);
  std::optional<ast::Type> parse_plain_type();

  // Extensions.
  void need_extension(std::string_view extension, bool enabled, const Location& at,
                      std::string_view construct);
  /// Reports what flat syntax does not allow in the right side of an assignment.
  bool check_flat(const ast::Expr& expr, bool whole);

  // Expressions.
  ast::ExprPtr parse_expression(Conditional conditional = Conditional::allowed);
  ast::ExprPtr parse_binary(int lowest);
  ast::ExprPtr parse_unary();
  ast::ExprPtr parse_postfix();
  ast::ExprPtr parse_subscript(ast::ExprPtr base, const Token& first);
  ast::ExprPtr parse_primary();
  ast::ExprPtr parse_parenthesised();
  ast::ExprPtr parse_array();
  ast::ExprPtr parse_comprehension(const Token& first);
  ast::ExprPtr parse_builtin();
  ast::ExprPtr parse_invocation();
  bool parse_arguments(std::vector<ast::NamedArgument>& arguments);
  ast::ExprPtr parse_literal();
  ast::ExprPtr parse_number(const Token& first, const Token& number, bool negative);
  /// Items up to `close`, which is consumed.
  bool parse_items(std::vector<ast::ExprPtr>& items, Kind close);
  bool at_type_argument();
  ast::ExprPtr make(ast::Expr::Kind kind) const;
  /// Sets position and depth of a node that is complete; null when it is too deep.
  ast::ExprPtr finish(ast::ExprPtr expr, Location where);

  // Quantization.
  bool parse_entry(std::vector<ast::QuantizationEntry>& entries);
  bool check_quantization(const ast::Expr& invocation);

  SyntaxErrors errors_;
  Lexer lexer_;
  uint32_t last_end_ = 0;                    ///< end of the last token consumed
  std::optional<uint32_t> last_unexpected_;  ///< where the last syntax/expected was reported
  uint32_t nesting_ = 0;
  std::optional<Dialect> dialect_;
  bool fragments_enabled_ = false;
  bool operators_enabled_ = false;
  bool library_ = false;                              ///< type `number` may be written
  std::vector<std::string_view> missing_extensions_;  ///< reported already
};

/// A literal, or arrays and tuples of literals only.
bool is_literal(const ast::Expr& expr);

}  // namespace nnef
