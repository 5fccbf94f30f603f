// Fragment declarations and types.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "parser.h"

namespace nnef {
namespace {

using Kind = Token::Kind;

struct TypeName {
  Kind kind;
  DType type;
};
constexpr auto kTypeNames = std::to_array<TypeName>({
    {Kind::kw_integer, DType::integer},
    {Kind::kw_scalar, DType::scalar},
    {Kind::kw_logical, DType::logical},
    {Kind::kw_string, DType::string},
});

/// What other languages call NNEF's types.
struct ForeignName {
  std::string_view name;
  std::string_view type;
};
constexpr auto kForeignNames = std::to_array<ForeignName>({
    {"float", "scalar"},
    {"double", "scalar"},
    {"real", "scalar"},
    {"int", "integer"},
    {"extent", "integer"},
    {"bool", "logical"},
    {"boolean", "logical"},
    {"str", "string"},
    {"Tensor", "tensor<scalar>"},
});

std::string type_hint(const Token& token) {
  const auto foreign =
      std::find_if(kForeignNames.begin(), kForeignNames.end(),
                   [&](const ForeignName& name) { return name.name == token.text; });
  if (foreign == kForeignNames.end()) return {};
  return fmt::format("NNEF's name for this type is {}", foreign->type);
}

}  // namespace

bool Parser::parse_fragment(ast::Fragment& fragment) {
  const Token first = next();
  const auto header = [&] {
    auto name = expect_name("the name of the fragment", "block");
    if (!name) return false;
    fragment.name = std::move(name->name);
    fragment.name_where = std::move(name->where);
    return parse_generic(fragment) && parse_parameters(fragment.parameters) &&
           expect(Kind::arrow, "after the fragment's parameters") &&
           parse_results(fragment.results);
  };
  const bool good = header();
  if (!good) skip_to({Kind::left_brace, Kind::semicolon, Kind::kw_fragment, Kind::kw_graph});
  bool body = true;
  if (at(Kind::left_brace)) {
    fragment.has_body = true;
    body = parse_body(fragment.body);
  } else if (!accept(Kind::semicolon)) {
    unexpected("'{' and a body, or ';' after the declaration of a fragment");
    body = false;
  }
  fragment.where = since(first);
  return good && body;
}

/// "<?>", "<? = scalar>" or nothing
bool Parser::parse_generic(ast::Fragment& fragment) {
  if (!accept(Kind::less)) return true;
  if (!expect(Kind::question, "after the '<' of a generic fragment")) return false;
  fragment.generic = true;
  if (accept(Kind::assign)) {
    fragment.generic_default = parse_type_name("the default of the generic type");
    if (!fragment.generic_default) return false;
  }
  return expect(Kind::greater, "after the generic parameter");
}

bool Parser::parse_parameters(std::vector<ast::Parameter>& parameters) {
  if (!expect(Kind::left_paren, "before the fragment's parameters")) return false;
  if (is_tract() && accept(Kind::right_paren)) return true;
  do {
    const Token first = lexer_.peek();
    auto name = expect_name("the name of a parameter", "x: tensor<scalar>");
    if (!name || !expect(Kind::colon, "and a type after the parameter's name")) return false;
    auto type = parse_type();
    if (!type) return false;
    ast::ExprPtr value;
    if (accept(Kind::assign)) {
      value = parse_expression();
      if (!value) return false;
      if (!is_literal(*value)) {
        errors_
            .error("syntax/default-literal", value->where,
                   fmt::format("the default of '{}' is not a literal", name->name))
            .help("defaults are numbers, strings, true, false, and arrays or tuples of them");
      }
    }
    parameters.push_back({std::move(name->name), std::move(*type), std::move(value), since(first)});
  } while (accept(Kind::comma));
  return expect(Kind::right_paren,
                fmt::format("or ',' after the parameter '{}'", parameters.back().name));
}

bool Parser::parse_results(std::vector<ast::Result>& results) {
  if (!expect(Kind::left_paren, "before the fragment's results")) return false;
  do {
    const Token first = lexer_.peek();
    auto name = expect_name("the name of a result", "y: tensor<scalar>");
    if (!name || !expect(Kind::colon, "and a type after the result's name")) return false;
    auto type = parse_type();
    if (!type) return false;
    results.push_back({std::move(name->name), std::move(*type), since(first)});
  } while (accept(Kind::comma));
  return expect(Kind::right_paren,
                fmt::format("or ',' after the result '{}'", results.back().name));
}

std::optional<ast::Type> Parser::parse_type() {
  const Nesting nesting(*this);
  if (nesting_ > kMaxDepth) {
    too_deep(here());
    return std::nullopt;
  }
  auto type = parse_plain_type();
  uint32_t suffixes = 0;
  while (type && at(Kind::left_bracket)) {
    if (nesting_ + ++suffixes > kMaxDepth) {
      too_deep(here());
      return std::nullopt;
    }
    next();
    if (!expect(Kind::right_bracket, "after the '[' of an array type")) return std::nullopt;
    ast::Type array;
    array.kind = ast::Type::Kind::array;
    array.items.push_back(std::move(*type));
    type = std::move(array);
  }
  return type;
}

/// A type without its "[]".
std::optional<ast::Type> Parser::parse_plain_type() {
  ast::Type type;
  if (accept(Kind::kw_tensor)) {
    type.kind = ast::Type::Kind::tensor;
    if (!at(Kind::less)) {
      unexpected("'<' after 'tensor'", "write tensor<scalar>, tensor<?> or another item type");
      return std::nullopt;
    }
    next();
    if (accept(Kind::greater)) return type;
    auto item = parse_type_name("the item type of a tensor");
    if (!item || !expect(Kind::greater, "after the item type of a tensor")) return std::nullopt;
    type.items.push_back(std::move(*item));
    return type;
  }
  if (!at(Kind::left_paren)) return parse_type_name("a type");
  const Token first = next();
  type.kind = ast::Type::Kind::tuple;
  do {
    auto item = parse_type();
    if (!item) return std::nullopt;
    type.items.push_back(std::move(*item));
  } while (accept(Kind::comma));
  if (!expect(Kind::right_paren, "or ',' in a tuple type")) return std::nullopt;
  if (type.items.size() < 2) {
    errors_.error("syntax/expected", since(first), "a tuple type has at least two items");
    return std::nullopt;
  }
  return type;
}

/// integer, scalar, logical, string or ?
std::optional<ast::Type> Parser::parse_type_name(std::string_view what) {
  ast::Type type;
  const Token& token = lexer_.peek();
  if (token.kind == Kind::question) {
    type.kind = ast::Type::Kind::generic;
  } else if (library_ && token.kind == Kind::identifier && token.text == "number") {
    type.kind = ast::Type::Kind::number;
  } else {
    const auto found = std::find_if(kTypeNames.begin(), kTypeNames.end(),
                                    [&](const TypeName& name) { return name.kind == token.kind; });
    if (found == kTypeNames.end()) {
      unexpected(fmt::format("{}: integer, scalar, logical, string or ?{}", what,
                             what == "a type" ? ", or tensor<...>" : ""),
                 type_hint(token));
      return std::nullopt;
    }
    type.primitive = found->type;
  }
  next();
  return type;
}

}  // namespace nnef
