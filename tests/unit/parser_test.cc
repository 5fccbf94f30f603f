#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ast.h"
#include "stages.h"

namespace nnef {
namespace {

using ast::Expr;

std::string dump(const Expr& expr);

std::string dump_all(const std::vector<ast::ExprPtr>& items) {
  std::string text;
  for (const auto& item : items) text += " " + (item ? dump(*item) : std::string("_"));
  return text;
}

/// An expression as a Lisp.
std::string dump(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::logical:
      return expr.logical_value ? "true" : "false";
    case Expr::Kind::integer:
      return fmt::format("{}", expr.integer_value);
    case Expr::Kind::scalar:
      return fmt::format("{:#}", expr.scalar_value);
    case Expr::Kind::string:
      return fmt::format("'{}'", expr.text);
    case Expr::Kind::identifier:
      return expr.text;
    case Expr::Kind::array:
      return "(array" + dump_all(expr.items) + ")";
    case Expr::Kind::tuple:
      return "(tuple" + dump_all(expr.items) + ")";
    case Expr::Kind::subscript:
      return "(at" + dump_all(expr.items) + ")";
    case Expr::Kind::range:
      return "(range" + dump_all(expr.items) + ")";
    case Expr::Kind::conditional:
      return "(if" + dump_all(expr.items) + ")";
    case Expr::Kind::comprehension: {
      std::string text = "(for";
      for (const auto& i : expr.iterators) text += fmt::format(" {}:{}", i.name, dump(*i.in));
      return text + dump_all(expr.items) + ")";
    }
    case Expr::Kind::unary:
    case Expr::Kind::binary:
    case Expr::Kind::builtin:
      return fmt::format("({}{})", expr.text, dump_all(expr.items));
    case Expr::Kind::invocation:
      break;
  }
  std::string text = "(" + expr.text;
  if (expr.type_argument) text += fmt::format("<{}>", to_string(*expr.type_argument));
  for (const auto& argument : expr.arguments) {
    text += fmt::format(" {}{}", argument.name.empty() ? "" : argument.name + "=",
                        dump(*argument.value));
  }
  return text + ")";
}

ast::Document parse_text(const std::string& text, Diagnostics& diagnostics) {
  return parse(std::make_shared<Source>("g.nnef", text), diagnostics);
}

/// The right side of the assignment y = `expression`, or the diagnostics.
std::string expression(const std::string& expression) {
  Diagnostics diagnostics;
  const auto document = parse_text(
      "version 1.0; extension KHR_enable_operator_expressions; graph g(x) -> (y) { y = " +
          expression + "; }",
      diagnostics);
  if (diagnostics.has_errors()) return format(diagnostics);
  return dump(*document.graph->body.at(0).right);
}

TEST(Expressions, PrecedenceOfTheSpecification) {
  EXPECT_EQ(expression("a + b * c ^ d"), "(+ a (* b (^ c d)))");
  EXPECT_EQ(expression("a ^ b * c + d"), "(+ (* (^ a b) c) d)");
  EXPECT_EQ(expression("a - b + c"), "(+ (- a b) c)");
  EXPECT_EQ(expression("a / b * c"), "(* (/ a b) c)");
  EXPECT_EQ(expression("a ^ b ^ c"), "(^ (^ a b) c)");
  EXPECT_EQ(expression("a + b < c && d == e"), "(&& (< (+ a b) c) (== d e))");
  EXPECT_EQ(expression("a || b && c"), "(&& (|| a b) c)");
  EXPECT_EQ(expression("a && b in c"), "(in (&& a b) c)");
  EXPECT_EQ(expression("(a + b) * c"), "(* (+ a b) c)");
}

TEST(Expressions, UnaryOperators) {
  EXPECT_EQ(expression("-a + b"), "(+ (- a) b)");
  EXPECT_EQ(expression("-a ^ b"), "(- (^ a b))");
  EXPECT_EQ(expression("-2 ^ 2"), "(- (^ 2 2))");
  EXPECT_EQ(expression("a ^ -b"), "(^ a (- b))");
  EXPECT_EQ(expression("a ^ -0.5"), "(^ a -0.5)");
  EXPECT_EQ(expression("a - -1"), "(- a -1)");
  EXPECT_EQ(expression("a -1"), "(- a 1)");
  EXPECT_EQ(expression("!a && !b"), "(&& (! a) (! b))");
  EXPECT_EQ(expression("- -a"), "(- (- a))");
  EXPECT_EQ(expression("-a[0]"), "(- (at a 0))");
}

TEST(Expressions, Conditionals) {
  EXPECT_EQ(expression("a if b else c"), "(if a b c)");
  EXPECT_EQ(expression("a if b else c if d else e"), "(if a b (if c d e))");
  EXPECT_EQ(expression("a + b if c else d"), "(if (+ a b) c d)");
  EXPECT_EQ(expression("(a if b else c) + d"), "(+ (if a b c) d)");
}

TEST(Expressions, Comprehensions) {
  EXPECT_EQ(expression("[for i in a yield i]"), "(for i:a i _)");
  EXPECT_EQ(expression("[for i in a, j in b if i < j yield f(i, j)]"),
            "(for i:a j:b (f i j) (< i j))");
  EXPECT_EQ(expression("[for i in (a if b else c) yield i if d else e]"),
            "(for i:(if a b c) (if i d e) _)");
}

TEST(Expressions, Subscripts) {
  EXPECT_EQ(expression("a[0][1:2]"), "(range (at a 0) 1 2)");
  EXPECT_EQ(expression("a[:n / 2]"), "(range a _ (/ n 2))");
  EXPECT_EQ(expression("a[1:]"), "(range a 1 _)");
  EXPECT_EQ(expression("a[:]"), "(range a _ _)");
  EXPECT_EQ(expression("[1,2][0]"), "(at (array 1 2) 0)");
}

TEST(Expressions, Invocations) {
  EXPECT_EQ(expression("f(x, 1, a = [], b = (1,2))"), "(f x 1 a=(array) b=(tuple 1 2))");
  EXPECT_EQ(expression("f<scalar>(x)"), "(f<scalar> x)");
  EXPECT_EQ(expression("f<?>(x)"), "(f<?> x)");
  EXPECT_EQ(expression("a < scalar(b)"), "(< a (scalar b))");
  EXPECT_EQ(expression("length_of(a) + integer('3')"), "(+ (length_of a) (integer '3'))");
  EXPECT_EQ(expression("f(a == b)"), "(f (== a b))");
}

TEST(Literals, Numbers) {
  EXPECT_EQ(expression("[9223372036854775807, -9223372036854775808]"),
            "(array 9223372036854775807 -9223372036854775808)");
  EXPECT_EQ(expression("[1E3, 3.4e+38, 1e-05, -0.0, 007]"), "(array 1000.0 3.4e+38 1.e-05 -0.0 7)");
  EXPECT_EQ(expression("[1e-999, 0.0e999, -1e-400]"), "(array 0.0 0.0 -0.0)");
  EXPECT_EQ(expression("1.0e-5"), fmt::format("{:#}", 1e-5));
}

TEST(Literals, Strings) {
  EXPECT_EQ(expression(R"(['a"b', "a'b", 'it\'s', "\\"])"), R"((array 'a"b' 'a'b' 'it's' '\'))");
  EXPECT_EQ(expression("[true, false, '']"), "(array true false '')");
}

TEST(Positions, OfEveryNode) {
  const std::string text =
      "version 1.0; extension KHR_enable_operator_expressions; graph g(x) -> (y) { y = f(a, k = "
      "b[0]) + 1; }";
  Diagnostics diagnostics;
  const auto document = parse_text(text, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << format(diagnostics);
  const auto slice = [&](const Location& where) {
    return text.substr(where.begin, where.end - where.begin);
  };
  const Expr& sum = *document.graph->body.at(0).right;
  EXPECT_EQ(slice(document.graph->body[0].where), "y = f(a, k = b[0]) + 1");
  EXPECT_EQ(slice(sum.where), "f(a, k = b[0]) + 1");
  EXPECT_EQ(slice(sum.text_where), "+");
  EXPECT_EQ(slice(sum.items[0]->where), "f(a, k = b[0])");
  EXPECT_EQ(slice(sum.items[0]->text_where), "f");
  EXPECT_EQ(slice(sum.items[0]->arguments[1].name_where), "k");
  EXPECT_EQ(slice(sum.items[0]->arguments[1].value->where), "b[0]");
  EXPECT_EQ(slice(document.graph->where), text.substr(text.find("graph")));
  EXPECT_EQ(slice(document.graph->name_where), "g");
  EXPECT_EQ(slice(document.graph->outputs[0].where), "y");
  EXPECT_EQ(slice(document.extensions[0].where), "KHR_enable_operator_expressions");
}

TEST(Fragments, Declarations) {
  Diagnostics diagnostics;
  const auto source =
      std::make_shared<Source>("l.nnef",
                               "fragment f<? = scalar>(x: tensor<?>[], y: tensor<>, p: "
                               "(integer,scalar[])[] = [(1,[0.5])], q: string = 'a')"
                               "-> (z: tensor<logical>, w: tensor<?>[]);");
  const auto document = parse_library(source, diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << format(diagnostics);
  const ast::Fragment& fragment = document.fragments.at(0);
  EXPECT_TRUE(fragment.generic);
  EXPECT_EQ(to_string(*fragment.generic_default), "scalar");
  EXPECT_FALSE(fragment.has_body);
  EXPECT_EQ(to_string(fragment.parameters[0].type), "tensor<?>[]");
  EXPECT_EQ(to_string(fragment.parameters[1].type), "tensor<>");
  EXPECT_EQ(to_string(fragment.parameters[2].type), "(integer,scalar[])[]");
  EXPECT_EQ(dump(*fragment.parameters[2].default_value), "(array (tuple 1 (array 0.5)))");
  EXPECT_EQ(to_string(fragment.results[1].type), "tensor<?>[]");
  EXPECT_TRUE(fragment.parameters[0].type == fragment.results[1].type);
  EXPECT_FALSE(fragment.parameters[0].type == fragment.parameters[1].type);
}

TEST(Libraries, HoldNoGraph) {
  Diagnostics diagnostics;
  parse_library(std::make_shared<Source>("l.nnef", "graph g(x) -> (y) { y = relu(x); }"),
                diagnostics);
  EXPECT_EQ(format(diagnostics),
            "l.nnef:1:7: error: [syntax/graph-in-library] a library holds fragments only, and this "
            "is a graph\n"
            "graph g(x) -> (y) { y = relu(x); }\n"
            "      ^\n");
}

TEST(Quantization, Entries) {
  Diagnostics diagnostics;
  const auto entries = parse_quantization(
      std::make_shared<Source>(
          "q", "'a/b': f(min = [[-1.0]], bits = 8); # comment\nc: g(signed = true);"),
      diagnostics);
  ASSERT_FALSE(diagnostics.has_errors()) << format(diagnostics);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].tensor, "a/b");
  EXPECT_EQ(dump(*entries[0].invocation), "(f min=(array (array -1.0)) bits=8)");
  EXPECT_EQ(entries[1].tensor, "c");
}

TEST(Quantization, AnEmptyFileHasNoEntries) {
  Diagnostics diagnostics;
  EXPECT_TRUE(parse_quantization(std::make_shared<Source>("q", ""), diagnostics).empty());
  EXPECT_TRUE(parse_quantization(std::make_shared<Source>("q", "# none\n"), diagnostics).empty());
  EXPECT_TRUE(diagnostics.items().empty());
}

TEST(Limits, DeepNestingOfAllKindsIsReported) {
  const auto repeat = [](const char* text) {
    std::string result;
    for (int i = 0; i < 100000; ++i) result += text;
    return result;
  };
  for (const char* opening :
       {"(", "[", "-", "!", "f(", "a + ", "a[", "[for i in ", "a if b else ", "scalar("}) {
    EXPECT_NE(expression(repeat(opening)).find("syntax/too-deep"), std::string::npos) << opening;
  }
  EXPECT_NE(expression("a" + repeat("[0]")).find("syntax/too-deep"), std::string::npos);
  for (const std::string& text :
       {"graph g(x) -> (y) {" + repeat("[") + "}", "graph g(x) -> (y) {" + repeat("(") + "}",
        "fragment f(x: " + repeat("(") + ";",
        "fragment f(x: integer" + repeat("[]") + ") -> (y: tensor<>);"}) {
    Diagnostics diagnostics;
    parse_text("version 1.0; extension KHR_enable_fragment_definitions;" + text, diagnostics);
    EXPECT_NE(format(diagnostics).find("syntax/too-deep"), std::string::npos) << text.substr(0, 40);
  }
}

}  // namespace
}  // namespace nnef
