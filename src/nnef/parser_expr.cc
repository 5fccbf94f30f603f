// Expressions (NNEF 1.0.5 specification, sections 3.2.1 and 3.2.3, precedence in 3.3.3).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>
#include <utility>

#include "parser.h"

namespace nnef {
namespace {

using Kind = Token::Kind;
using ast::Expr;

struct BinaryOperator {
  Kind kind;
  int precedence;
};

constexpr int kPower = 6;
constexpr auto kBinaryOperators = std::to_array<BinaryOperator>({
    {Kind::kw_in, 1},
    {Kind::and_and, 2},
    {Kind::or_or, 2},
    {Kind::less, 3},
    {Kind::less_equal, 3},
    {Kind::greater, 3},
    {Kind::greater_equal, 3},
    {Kind::equal, 3},
    {Kind::not_equal, 3},
    {Kind::plus, 4},
    {Kind::minus, 4},
    {Kind::star, 5},
    {Kind::slash, 5},
    {Kind::caret, kPower},
});

/// 0 when the token is no binary operator.
int precedence(Kind kind) {
  const auto found = std::find_if(kBinaryOperators.begin(), kBinaryOperators.end(),
                                  [kind](const BinaryOperator& op) { return op.kind == kind; });
  return found == kBinaryOperators.end() ? 0 : found->precedence;
}

bool is_unary(Kind kind) { return kind == Kind::plus || kind == Kind::minus || kind == Kind::bang; }
bool is_number(Kind kind) { return kind == Kind::integer || kind == Kind::real; }
bool is_builtin(Kind kind) {
  return (kind >= Kind::kw_integer && kind <= Kind::kw_string) ||
         (kind >= Kind::kw_shape_of && kind <= Kind::kw_range_of);
}
bool is_type_name(Kind kind) {
  return kind == Kind::question || (kind >= Kind::kw_integer && kind <= Kind::kw_string);
}

/// Whether a decimal number that does not fit a double is too small, rather than too large.
bool is_tiny(std::string_view number) {
  const size_t mark = number.find_first_of("eE");
  const std::string_view digits = number.substr(0, mark);
  const size_t first = digits.find_first_not_of("0.");
  if (first == std::string_view::npos) return true;
  const size_t point = std::min(digits.find('.'), digits.size());
  const auto magnitude = static_cast<int64_t>(point) - static_cast<int64_t>(first);
  if (mark == std::string_view::npos) return magnitude <= 0;
  std::string_view text = number.substr(mark + 1);
  if (text.starts_with('+')) text.remove_prefix(1);
  int64_t exponent = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (failure != std::errc()) return text.starts_with('-');
  return exponent < -magnitude;
}

/// The construct that flat syntax lacks, for a message; empty for what flat syntax has.
std::string beyond_flat(const Expr& expr, bool whole) {
  switch (expr.kind) {
    case Expr::Kind::unary:
    case Expr::Kind::binary:
      return fmt::format("the operator '{}'", expr.text);
    case Expr::Kind::subscript:
    case Expr::Kind::range:
      return "a subscript";
    case Expr::Kind::conditional:
      return "'if' ... 'else'";
    case Expr::Kind::comprehension:
      return "an array comprehension";
    case Expr::Kind::builtin:
      return fmt::format("the built-in function '{}'", expr.text);
    case Expr::Kind::invocation:
      return whole ? "" : fmt::format("the invocation of '{}' inside an expression", expr.text);
    default:
      return whole ? "an assignment of anything but an invocation" : "";
  }
}

}  // namespace

bool is_literal(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::logical:
    case Expr::Kind::integer:
    case Expr::Kind::scalar:
    case Expr::Kind::string:
      return true;
    case Expr::Kind::array:
    case Expr::Kind::tuple:
      return std::all_of(expr.items.begin(), expr.items.end(),
                         [](const ast::ExprPtr& item) { return is_literal(*item); });
    default:
      return false;
  }
}

bool Parser::check_flat(const Expr& expr, bool whole) {
  const bool plus =
      expr.kind == Expr::Kind::unary && expr.text == "+" && is_literal(*expr.items[0]);
  if (plus && !whole) {
    errors_.error("syntax/number", expr.where, "a number has no '+' before it")
        .help("leave the '+' out");
    return false;
  }
  const std::string construct = beyond_flat(expr, whole);
  if (!construct.empty()) {
    const bool at_operator = expr.kind == Expr::Kind::unary || expr.kind == Expr::Kind::binary;
    need_extension(kOperatorExtension, operators_enabled_,
                   at_operator ? expr.text_where : expr.where, construct);
    return false;
  }
  const auto flat = [this](const Expr& part) { return check_flat(part, false); };
  return std::all_of(expr.items.begin(), expr.items.end(),
                     [&](const ast::ExprPtr& item) { return flat(*item); }) &&
         std::all_of(expr.arguments.begin(), expr.arguments.end(),
                     [&](const ast::NamedArgument& argument) { return flat(*argument.value); });
}

ast::ExprPtr Parser::make(Expr::Kind kind) const {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  return expr;
}

ast::ExprPtr Parser::finish(ast::ExprPtr expr, Location where) {
  uint32_t below = 0;
  const auto count = [&below](const ast::ExprPtr& child) {
    if (child) below = std::max(below, child->depth);
  };
  for (const auto& item : expr->items) count(item);
  for (const auto& iterator : expr->iterators) count(iterator.in);
  for (const auto& argument : expr->arguments) count(argument.value);
  expr->depth = below + 1;
  expr->where = std::move(where);
  if (expr->depth <= kMaxDepth) return expr;
  too_deep(expr->where);
  return nullptr;
}

/// value [if condition else other]
ast::ExprPtr Parser::parse_expression(Conditional conditional) {
  const Nesting nesting(*this);
  if (nesting_ > kMaxDepth) {
    too_deep(here());
    return nullptr;
  }
  const Token first = lexer_.peek();
  auto value = parse_binary(1);
  if (!value || conditional == Conditional::forbidden || !at(Kind::kw_if)) return value;
  const Token mark = next();
  auto expr = make(Expr::Kind::conditional);
  expr->text_where = where(mark);
  auto condition = parse_expression();
  if (!condition || !expect(Kind::kw_else, "after the condition of 'if'")) return nullptr;
  auto other = parse_expression();
  if (!other) return nullptr;
  expr->items.push_back(std::move(value));
  expr->items.push_back(std::move(condition));
  expr->items.push_back(std::move(other));
  return finish(std::move(expr), since(first));
}

/// Operators of at least the precedence `lowest`; those of equal precedence group from the left.
ast::ExprPtr Parser::parse_binary(int lowest) {
  const Token first = lexer_.peek();
  auto left = parse_unary();
  while (left) {
    const int level = precedence(lexer_.peek().kind);
    if (level == 0 || level < lowest) return left;
    const Token op = next();
    auto right = parse_binary(level + 1);
    if (!right) return nullptr;
    auto expr = make(Expr::Kind::binary);
    expr->text = op.text;
    expr->text_where = where(op);
    expr->items.push_back(std::move(left));
    expr->items.push_back(std::move(right));
    left = finish(std::move(expr), since(first));
  }
  return nullptr;
}

/// Unary operators bind less tightly than '^' on their right: -x ^ 2.0 is -(x ^ 2.0). A '-' before
/// a number is part of the literal.
ast::ExprPtr Parser::parse_unary() {
  const Token first = lexer_.peek();
  if (!is_unary(first.kind)) return parse_postfix();
  const Nesting nesting(*this);
  if (nesting_ > kMaxDepth) {
    too_deep(here());
    return nullptr;
  }
  next();
  if (first.kind == Kind::minus && is_number(lexer_.peek().kind) && !at(Kind::caret, 1)) {
    const Token number = next();
    return parse_number(first, number, true);
  }
  auto operand = parse_binary(kPower);
  if (!operand) return nullptr;
  auto expr = make(Expr::Kind::unary);
  expr->text = first.text;
  expr->text_where = where(first);
  expr->items.push_back(std::move(operand));
  return finish(std::move(expr), since(first));
}

ast::ExprPtr Parser::parse_postfix() {
  const Token first = lexer_.peek();
  auto expr = parse_primary();
  while (expr && at(Kind::left_bracket)) expr = parse_subscript(std::move(expr), first);
  return expr;
}

/// base[index], base[begin:end], either bound may be left out
ast::ExprPtr Parser::parse_subscript(ast::ExprPtr base, const Token& first) {
  next();
  auto expr = make(Expr::Kind::subscript);
  expr->items.push_back(std::move(base));
  ast::ExprPtr begin;
  if (!at(Kind::colon)) {
    begin = parse_expression();
    if (!begin) return nullptr;
  }
  expr->items.push_back(std::move(begin));
  if (accept(Kind::colon)) {
    expr->kind = Expr::Kind::range;
    ast::ExprPtr end;
    if (!at(Kind::right_bracket)) {
      end = parse_expression();
      if (!end) return nullptr;
    }
    expr->items.push_back(std::move(end));
  }
  if (!expect(Kind::right_bracket, "after a subscript")) return nullptr;
  return finish(std::move(expr), since(first));
}

ast::ExprPtr Parser::parse_primary() {
  const Kind kind = lexer_.peek().kind;
  if (kind == Kind::identifier) {
    if (at(Kind::left_paren, 1) || at_type_argument()) return parse_invocation();
    const Token name = next();
    auto expr = make(Expr::Kind::identifier);
    expr->text = name.name();
    return finish(std::move(expr), where(name));
  }
  if (kind == Kind::left_paren) return parse_parenthesised();
  if (kind == Kind::left_bracket) return parse_array();
  if (is_builtin(kind)) return parse_builtin();
  if (is_number(kind) || kind == Kind::string || kind == Kind::kw_true || kind == Kind::kw_false) {
    return parse_literal();
  }
  unexpected(
      "a value, such as x, 0.5, 'same', true, [1,2] or relu(x)",
      lexer_.peek().is_keyword() ? fmt::format("'{}' is a keyword", lexer_.peek().text) : "");
  return nullptr;
}

/// (a) is a itself, (a, b) a tuple
ast::ExprPtr Parser::parse_parenthesised() {
  const Token first = next();
  auto tuple = make(Expr::Kind::tuple);
  if (!parse_items(tuple->items, Kind::right_paren)) return nullptr;
  if (tuple->items.empty()) {
    errors_.error("syntax/expected", since(first),
                  "found '()', expected a value between the parentheses");
    return nullptr;
  }
  if (tuple->items.size() == 1) {
    tuple->items[0]->where = since(first);
    return std::move(tuple->items[0]);
  }
  return finish(std::move(tuple), since(first));
}

ast::ExprPtr Parser::parse_array() {
  const Token first = next();
  if (accept(Kind::kw_for)) return parse_comprehension(first);
  auto array = make(Expr::Kind::array);
  if (!parse_items(array->items, Kind::right_bracket)) return nullptr;
  return finish(std::move(array), since(first));
}

bool Parser::parse_items(std::vector<ast::ExprPtr>& items, Kind close) {
  if (accept(close)) return true;
  do {
    if (at(close)) {
      unexpected("an item after ','", "remove the last ','");
      return false;
    }
    auto item = parse_expression();
    if (!item) return false;
    items.push_back(std::move(item));
  } while (accept(Kind::comma));
  return expect(close, "or ',' after an item");
}

/// The rest of [for i in a, j in b if condition yield item]
ast::ExprPtr Parser::parse_comprehension(const Token& first) {
  auto expr = make(Expr::Kind::comprehension);
  do {
    auto name = expect_name("the name of a loop variable", "i");
    if (!name || !expect(Kind::kw_in, fmt::format("after the loop variable '{}'", name->name)))
      return nullptr;
    auto in = parse_expression(Conditional::forbidden);
    if (!in) return nullptr;
    expr->iterators.push_back({std::move(name->name), std::move(name->where), std::move(in)});
  } while (accept(Kind::comma));
  ast::ExprPtr condition;
  if (accept(Kind::kw_if)) {
    condition = parse_expression();
    if (!condition) return nullptr;
  }
  if (!expect(Kind::kw_yield,
              condition ? "after the condition" : "or 'if' or ',' after the loop variables")) {
    return nullptr;
  }
  auto item = parse_expression();
  if (!item) return nullptr;
  expr->items.push_back(std::move(item));
  expr->items.push_back(std::move(condition));
  if (!expect(Kind::right_bracket, "after an array comprehension")) return nullptr;
  return finish(std::move(expr), since(first));
}

ast::ExprPtr Parser::parse_builtin() {
  const Token name = next();
  auto expr = make(Expr::Kind::builtin);
  expr->text = name.text;
  expr->text_where = where(name);
  if (!expect(Kind::left_paren, fmt::format("after the built-in function '{}'", name.text)))
    return nullptr;
  auto argument = parse_expression();
  if (!argument) return nullptr;
  expr->items.push_back(std::move(argument));
  if (!expect(Kind::right_paren,
              fmt::format("after the argument of '{}', which has one", name.text))) {
    return nullptr;
  }
  return finish(std::move(expr), since(name));
}

/// Whether a name is followed by <scalar> or <?>, which no comparison can be. Where there are no
/// comparisons, a '<' before any type is taken for that, too.
bool Parser::at_type_argument() {
  if (!at(Kind::less, 1)) return false;
  const Kind type = lexer_.peek(2).kind;
  if (!operators_enabled_) return is_type_name(type) || type == Kind::kw_tensor;
  return is_type_name(type) && at(Kind::greater, 3);
}

ast::ExprPtr Parser::parse_invocation() {
  const Token name = next();
  auto expr = make(Expr::Kind::invocation);
  expr->text = name.name();
  expr->text_where = where(name);
  if (accept(Kind::less)) {
    expr->type_argument = parse_type_name("a primitive type");
    if (!expr->type_argument || !expect(Kind::greater, "after the type")) return nullptr;
  }
  if (!expect(Kind::left_paren, fmt::format("after '{}'", name.text))) return nullptr;
  if (!parse_arguments(expr->arguments)) return nullptr;
  return finish(std::move(expr), since(name));
}

/// "x, size = 3)"
bool Parser::parse_arguments(std::vector<ast::NamedArgument>& arguments) {
  if (accept(Kind::right_paren)) return true;
  do {
    if (at(Kind::right_paren)) {
      unexpected("an argument after ','", "remove the last ','");
      return false;
    }
    ast::NamedArgument argument;
    if (at(Kind::identifier) && at(Kind::assign, 1)) {
      const Token name = next();
      next();
      argument.name = name.name();
      argument.name_where = where(name);
    }
    argument.value = parse_expression();
    if (!argument.value) return false;
    arguments.push_back(std::move(argument));
  } while (accept(Kind::comma));
  if (accept(Kind::right_paren)) return true;
  std::string hint;
  if (at(Kind::colon)) hint = "a named argument is written name = value";
  if (at(Kind::semicolon)) hint = "a ')' is missing";
  unexpected("')' or ',' after an argument", std::move(hint));
  return false;
}

ast::ExprPtr Parser::parse_literal() {
  const Token token = next();
  if (is_number(token.kind)) return parse_number(token, token, false);
  auto expr = make(token.kind == Kind::string ? Expr::Kind::string : Expr::Kind::logical);
  expr->text = token.value;
  expr->logical_value = token.kind == Kind::kw_true;
  return finish(std::move(expr), where(token));
}

ast::ExprPtr Parser::parse_number(const Token& first, const Token& number, bool negative) {
  auto expr = make(number.kind == Kind::integer ? Expr::Kind::integer : Expr::Kind::scalar);
  const Location place = since(first);
  if (!number.problem.empty()) {
    errors_
        .error("syntax/number", place,
               fmt::format("malformed number '{}': {}", number.text, number.problem))
        .help("numbers look like 3, 0.5, 1.0e-5; names begin with a letter or '_'");
    return finish(std::move(expr), place);
  }
  const std::string text = fmt::format("{}{}", negative ? "-" : "", number.text);
  const char* end = text.data() + text.size();
  if (number.kind == Kind::integer) {
    if (std::from_chars(text.data(), end, expr->integer_value).ec != std::errc()) {
      errors_
          .error("syntax/integer-range", place,
                 fmt::format("the integer {} does not fit 64 bits", text))
          .help(
              "integers run from -9223372036854775808 to 9223372036854775807; a real number has a "
              "'.' or an exponent");
    }
  } else if (std::from_chars(text.data(), end, expr->scalar_value).ec != std::errc()) {
    expr->scalar_value = negative ? -0.0 : 0.0;
    if (!is_tiny(number.text)) {
      errors_
          .error("syntax/scalar-range", place,
                 fmt::format("the number {} does not fit 64 bits", text))
          .help("the largest number is about 1.8e308");
    }
  }
  return finish(std::move(expr), place);
}

}  // namespace nnef
