#include "parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "stages.h"

namespace nnef {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kExampleDocument =
    "version 1.0; graph g(x) -> (y) { x = external(shape = [1,8]); y = relu(x); }";

}  // namespace

Parser::Parser(SourcePtr source, Diagnostics& diagnostics, std::optional<Dialect> dialect)
    : errors_(std::move(source), diagnostics), lexer_(errors_) {
  if (dialect) set_dialect(*dialect);
}

// Tokens.

Token Parser::next() {
  Token token = lexer_.next();
  last_end_ = token.end;
  return token;
}

bool Parser::accept(Kind kind) {
  if (!at(kind)) return false;
  next();
  return true;
}

bool Parser::expect(Kind kind, std::string_view context) {
  if (accept(kind)) return true;
  unexpected(fmt::format("{} {}", describe(kind), context));
  return false;
}

bool Parser::expect_semicolon(std::string_view context) {
  if (accept(Kind::semicolon)) return true;
  const auto& source = *errors_.source();
  const Token& token = lexer_.peek();
  const bool ends_here = at(Kind::end) || at(Kind::right_brace) || token.is_keyword() ||
                         source.line_column(token.begin).line > source.line_column(last_end_).line;
  if (!ends_here) {
    unexpected(fmt::format("';' {}", context));
    return false;
  }
  errors_.error("syntax/expected", after_last(), fmt::format("expected ';' {}", context));
  return true;
}

std::optional<ast::Identifier> Parser::expect_name(std::string_view what,
                                                   std::string_view example) {
  if (!at(Kind::identifier)) {
    const Token& token = lexer_.peek();
    unexpected(fmt::format("{}, such as {}", what, example),
               token.is_keyword()
                   ? fmt::format("'{}' is a keyword: choose another name", token.text)
                   : std::string());
    return std::nullopt;
  }
  const Token token = next();
  return ast::Identifier{token.name(), where(token)};
}

Location Parser::here() { return where(lexer_.peek()); }

// Errors.

Diagnostic& Parser::unexpected(std::string what, std::string hint) {
  const Token& token = lexer_.peek();
  if (last_unexpected_ == token.begin || token.follows_error) return errors_.unreported();
  last_unexpected_ = token.begin;
  const Location place = at(Kind::end) ? after_last() : where(token);
  return errors_
      .error("syntax/expected", place, fmt::format("found {}, expected {}", describe(token), what))
      .help(std::move(hint));
}

bool Parser::too_deep(const Location& at) {
  errors_
      .error("syntax/too-deep", at,
             fmt::format("this is nested more than {} levels deep", kMaxDepth))
      .help("split it by assigning parts to names of their own");
  return false;
}

/// Goes behind the next ';', or before what cannot be inside a statement. The line after an
/// unterminated string begins a new one.
void Parser::skip_statement() {
  const auto& source = *errors_.source();
  const Token& token = lexer_.peek();
  if (token.follows_error && token.kind == Kind::identifier &&
      source.line_column(token.begin).line > source.line_column(last_end_).line) {
    return;
  }
  skip_to({Kind::semicolon, Kind::right_brace, Kind::kw_graph, Kind::kw_fragment});
  accept(Kind::semicolon);
}

void Parser::skip_to(std::initializer_list<Kind> kinds) {
  while (!at(Kind::end) &&
         std::find(kinds.begin(), kinds.end(), lexer_.peek().kind) == kinds.end()) {
    next();
  }
}

void Parser::need_extension(std::string_view extension, bool enabled, const Location& at,
                            std::string_view construct) {
  const bool reported = std::find(missing_extensions_.begin(), missing_extensions_.end(),
                                  extension) != missing_extensions_.end();
  if (enabled || reported) return;
  missing_extensions_.push_back(extension);
  errors_
      .error("syntax/needs-extension", at,
             fmt::format("{} needs the extension {}, which this document does not enable",
                         construct, extension))
      .help(fmt::format("add this line after 'version 1.0;': extension {};", extension));
}

// Documents.

ast::Document Parser::parse_document() {
  ast::Document document;
  document.source = errors_.source();
  if (!check_is_text(errors_, kExampleDocument) || !check_beginning()) return document;
  if (at(Kind::kw_version)) parse_version();
  parse_extensions(document);
  document.dialect = dialect_.value_or(Dialect::khronos);
  parse_definitions(document);
  if (!document.graph && errors_.count() == 0) {
    errors_.error("syntax/no-graph", after_last(), "the document defines no graph")
        .help(fmt::format("a document looks like this: {}", kExampleDocument));
  }
  return document;
}

ast::Document Parser::parse_library() {
  ast::Document document;
  document.source = errors_.source();
  fragments_enabled_ = true;
  operators_enabled_ = true;
  library_ = true;
  if (!check_is_text(errors_,
                     "fragment f(x: tensor<scalar>) -> (y: tensor<scalar>) { y = relu(x); }")) {
    return document;
  }
  if (at(Kind::kw_version)) parse_version();
  parse_extensions(document);
  parse_definitions(document);
  if (document.graph) {
    errors_.error("syntax/graph-in-library", document.graph->name_where,
                  "a library holds fragments only, and this is a graph");
  }
  return document;
}

/// False when the text is evidently something else.
bool Parser::check_beginning() {
  const Token& token = lexer_.peek();
  switch (token.kind) {
    case Kind::kw_version:
      return true;
    case Kind::end:
      if (errors_.count() == 0) {
        errors_.error("syntax/empty", {}, "there is nothing in the file but blanks and comments")
            .help(fmt::format("a document looks like this: {}", kExampleDocument))
            .path = errors_.source()->name();
      }
      return false;
    case Kind::kw_extension:
    case Kind::kw_graph:
    case Kind::kw_fragment:
      errors_
          .error("syntax/version", here(),
                 fmt::format("found {} before the version", describe(token)))
          .help("the first line is: version 1.0;");
      return true;
    default:
      break;
  }
  if (nearest_name(token.text, {"version"}).empty()) {
    errors_
        .error("syntax/not-text", here(),
               fmt::format("this is not NNEF text: it begins with {}", describe(token)))
        .help("the first line is: version 1.0;");
    return false;
  }
  unexpected("'version'", "the first line is: version 1.0;");
  skip_statement();
  return true;
}

void Parser::parse_version() {
  next();
  if (!at(Kind::real) && !at(Kind::integer)) {
    unexpected("a version number", "the first line is: version 1.0;");
    skip_statement();
    return;
  }
  const Token number = next();
  if (number.text != "1.0") {
    errors_
        .error("syntax/version", where(number),
               fmt::format("version {} is not supported, expected 1.0", number.text))
        .help("all revisions of NNEF 1 (1.0 to 1.0.5) are written: version 1.0;");
  }
  if (accept(Kind::semicolon)) return;
  // Files of the provisional specification have no ';' here.
  if (at(Kind::kw_extension) || at(Kind::kw_graph) || at(Kind::kw_fragment)) {
    errors_.warning("syntax/version-semicolon", after_last(), "there is no ';' after the version");
    return;
  }
  expect_semicolon("after the version");
}

void Parser::parse_extensions(ast::Document& document) {
  while (accept(Kind::kw_extension)) {
    const size_t errors = errors_.count();
    if (parse_tract_extension(document)) continue;
    do {
      parse_extension_name(document);
    } while (errors_.count() == errors && (accept(Kind::comma) || at(Kind::identifier)));
    if (errors_.count() == errors) {
      if (!expect_semicolon("after the names of extensions")) skip_statement();
    } else {
      skip_statement();
    }
  }
}

void Parser::parse_extension_name(ast::Document& document) {
  auto name = expect_name("the name of an extension", kOperatorExtension);
  if (!name) return;
  const std::vector<std::string> known = {std::string(kFragmentExtension),
                                          std::string(kOperatorExtension)};
  std::string meant = name->name;
  if (std::find(known.begin(), known.end(), meant) == known.end()) {
    meant = nearest_name(name->name, known);
    errors_
        .error("syntax/unknown-extension", name->where,
               fmt::format("unknown extension '{}'", name->name))
        .help(meant.empty()
                  ? fmt::format("known extensions: {}, {}", kFragmentExtension, kOperatorExtension)
                  : fmt::format("did you mean {}?", meant));
  }
  // A misspelt name counts as the one that was meant, to be silent about what it would have
  // enabled.
  fragments_enabled_ = fragments_enabled_ || meant == kFragmentExtension;
  operators_enabled_ = operators_enabled_ || meant == kOperatorExtension;
  if (!meant.empty()) document.extensions.push_back({meant, name->where});
}

/// Fragments, and the graph after them.
void Parser::parse_definitions(ast::Document& document) {
  while (!at(Kind::end) && !document.graph) {
    const Token& token = lexer_.peek();
    if (token.kind == Kind::kw_fragment) {
      need_extension(kFragmentExtension, fragments_enabled_, here(), "a fragment definition");
      ast::Fragment fragment;
      if (parse_fragment(fragment)) document.fragments.push_back(std::move(fragment));
    } else if (token.kind == Kind::kw_graph) {
      ast::GraphDefinition graph;
      parse_graph(graph);
      document.graph = std::move(graph);
    } else {
      unexpected("'fragment' or 'graph'", token.kind == Kind::kw_extension
                                              ? "extensions stand before fragments and the graph"
                                              : std::string());
      next();
      skip_to({Kind::kw_fragment, Kind::kw_graph});
    }
  }
  if (!at(Kind::end)) {
    const bool definition = at(Kind::kw_graph) || at(Kind::kw_fragment);
    unexpected("the end of the file after the graph",
               definition ? "a document has one graph, and its fragments stand before it" : "");
  }
}

bool Parser::parse_graph(ast::GraphDefinition& graph) {
  const Token first = next();
  const auto header = [&] {
    auto name = expect_name("the name of the graph", "net");
    if (!name) return false;
    graph.name = std::move(name->name);
    graph.name_where = std::move(name->where);
    return parse_names(graph.inputs, "input") && expect(Kind::arrow, "after the graph's inputs") &&
           parse_names(graph.outputs, "output");
  };
  const bool good = header();
  if (!good) skip_to({Kind::left_brace, Kind::kw_fragment, Kind::kw_graph});
  const bool body = parse_body(graph.body);
  graph.where = since(first);
  return good && body;
}

/// "(a, b)"
bool Parser::parse_names(std::vector<ast::Identifier>& names, std::string_view what) {
  if (!expect(Kind::left_paren, fmt::format("before the graph's {}s", what))) return false;
  if (is_tract() && accept(Kind::right_paren)) return true;
  do {
    auto name = expect_name(fmt::format("the name of an {}", what), what == "input" ? "x" : "y");
    if (!name) return false;
    names.push_back(std::move(*name));
    if (at(Kind::colon)) {
      unexpected("',' or ')'",
                 fmt::format("the {}s of a graph have no types: write their names only", what));
      return false;
    }
  } while (accept(Kind::comma));
  return expect(Kind::right_paren,
                fmt::format("or ',' after the {} '{}'", what, names.back().name));
}

bool Parser::parse_body(std::vector<ast::Assignment>& body) {
  if (!expect(Kind::left_brace, "before the body")) return false;
  const size_t errors = errors_.count();
  if (at(Kind::right_brace)) unexpected("an assignment, such as y = relu(x);");
  while (!at(Kind::right_brace) && !at(Kind::end) && !at(Kind::kw_graph) &&
         !at(Kind::kw_fragment)) {
    if (!parse_assignment(body)) skip_statement();
  }
  return expect(Kind::right_brace, "after the body") && errors_.count() == errors;
}

bool Parser::parse_assignment(std::vector<ast::Assignment>& body) {
  const Token first = lexer_.peek();
  ast::Assignment assignment;
  assignment.left = parse_left_side();
  if (!assignment.left) return false;
  if (!accept(Kind::assign)) {
    unexpected("'=' after the left side of an assignment",
               at(Kind::equal) ? "'==' compares; '=' assigns" : "");
    return false;
  }
  assignment.right = parse_expression();
  if (!assignment.right) return false;
  if (at(Kind::comma)) {
    unexpected("';' after an assignment",
               "on the right side of '=' a tuple needs parentheses: (a, b)");
    return false;
  }
  assignment.where = since(first);
  const bool flat = operators_enabled_ || check_flat(*assignment.right, true);
  body.push_back(std::move(assignment));
  return expect_semicolon("after an assignment") && flat;
}

/// Names, arrays and tuples of them; the outermost tuple needs no parentheses.
ast::ExprPtr Parser::parse_left_side() {
  const Token first = lexer_.peek();
  auto item = parse_left_item();
  if (!item || !at(Kind::comma)) return item;
  auto tuple = make(ast::Expr::Kind::tuple);
  tuple->items.push_back(std::move(item));
  while (accept(Kind::comma)) {
    item = parse_left_item();
    if (!item) return nullptr;
    tuple->items.push_back(std::move(item));
  }
  return finish(std::move(tuple), since(first));
}

ast::ExprPtr Parser::parse_left_item() {
  const Nesting nesting(*this);
  if (nesting_ > kMaxDepth) {
    too_deep(here());
    return nullptr;
  }
  if (at(Kind::left_bracket)) return parse_left_list(ast::Expr::Kind::array, Kind::right_bracket);
  if (at(Kind::left_paren)) return parse_left_list(ast::Expr::Kind::tuple, Kind::right_paren);
  auto name = expect_name("the name of a result", "y");
  if (!name) return nullptr;
  auto item = make(ast::Expr::Kind::identifier);
  item->text = std::move(name->name);
  return finish(std::move(item), name->where);
}

ast::ExprPtr Parser::parse_left_list(ast::Expr::Kind kind, Kind close) {
  const Token first = next();
  auto list = make(kind);
  while (!at(close) || !list->items.empty()) {
    auto item = parse_left_item();
    if (!item) return nullptr;
    list->items.push_back(std::move(item));
    if (!accept(Kind::comma)) break;
  }
  if (!expect(close, "or ',' on the left side of an assignment")) return nullptr;
  if (kind == ast::Expr::Kind::tuple && list->items.size() < 2) {
    if (list->items.size() == 1) return std::move(list->items[0]);
    errors_.error("syntax/expected", since(first),
                  "a tuple on the left side has at least two items");
    return nullptr;
  }
  return finish(std::move(list), since(first));
}

ast::Document parse(SourcePtr source, Diagnostics& diagnostics, std::optional<Dialect> dialect) {
  return Parser(std::move(source), diagnostics, dialect).parse_document();
}

ast::Document parse_library(SourcePtr source, Diagnostics& diagnostics, Dialect dialect) {
  return Parser(std::move(source), diagnostics, dialect).parse_library();
}

}  // namespace nnef
