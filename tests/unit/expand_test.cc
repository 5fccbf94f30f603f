// Compile-time evaluation, static types of the standard library, and what the flat graph records
// beside its text.
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "check_types.h"
#include "checker.h"
#include "evaluate.h"
#include "nnef/model.h"
#include "stages.h"

namespace nnef {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Value binary(std::string_view symbol, Value a, Value b) {
  EvaluationFault fault;
  const auto result = evaluate_binary(symbol, a, b, fault);
  return result ? *result : Value("fault: " + std::string(fault.id));
}

Value builtin(std::string_view name, Value operand) {
  EvaluationFault fault;
  const auto result = evaluate_builtin(name, operand, fault);
  return result ? *result : Value("fault: " + std::string(fault.id));
}

Value fault(std::string_view id) { return Value("fault: expand/" + std::string(id)); }
Value integer(int64_t value) { return Value(value); }
Value text(std::string value) { return Value(std::move(value)); }
Value array(std::vector<Value> items) { return Value(Array{std::move(items)}); }

std::optional<Graph> load(const std::string& body, Diagnostics& diagnostics, bool keep = true,
                          const std::string& fragments = "", const std::string& inputs = "x",
                          const std::string& outputs = "y") {
  LoadOptions options;
  options.read_data = false;
  options.keep_compound = [keep](std::string_view) { return keep; };
  const auto source = std::make_shared<Source>(
      "t.nnef",
      "version 1.0;\nextension KHR_enable_operator_expressions;\n"
      "extension KHR_enable_fragment_definitions;\n" +
          fragments + "\ngraph G(" + inputs + ") -> (" + outputs + ")\n{\n" + body + "\n}\n");
  return load_text(source, nullptr, options, diagnostics);
}

/// Parsed, checked and expanded, without shapes: what operations without a shape rule allow.
std::optional<Graph> expand_only(const std::string& document_text, Diagnostics& diagnostics) {
  const ast::Document document =
      parse(std::make_shared<Source>("t.nnef", document_text), diagnostics);
  Declarations declarations = Declarations::standard();
  declarations.add(document, diagnostics);
  check(document, declarations, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return expand(
      document, declarations, [](std::string_view) { return true; }, diagnostics);
}

TEST(Evaluate, IntegersAreCheckedAt64Bits) {
  EXPECT_EQ(binary("+", integer(kMax - 1), integer(1)), integer(kMax));
  EXPECT_EQ(binary("+", integer(kMax), integer(1)), fault("overflow"));
  EXPECT_EQ(binary("-", integer(kMin), integer(1)), fault("overflow"));
  EXPECT_EQ(binary("*", integer(kMin), integer(-1)), fault("overflow"));
  EXPECT_EQ(binary("*", integer(3037000500), integer(3037000500)), fault("overflow"));
  EXPECT_EQ(binary("/", integer(kMin), integer(-1)), fault("overflow"));
  EXPECT_EQ(binary("/", integer(7), integer(-1)), integer(-7));
  EXPECT_EQ(binary("/", integer(1), integer(0)), fault("division-by-zero"));
  EXPECT_EQ(binary("/", integer(-7), integer(2)), integer(-3));
}

TEST(Evaluate, IntegerPowers) {
  EXPECT_EQ(binary("^", integer(0), integer(0)), integer(1));
  EXPECT_EQ(binary("^", integer(2), integer(62)), integer(int64_t{1} << 62));
  EXPECT_EQ(binary("^", integer(2), integer(63)), fault("overflow"));
  EXPECT_EQ(binary("^", integer(-2), integer(63)), integer(kMin));
  EXPECT_EQ(binary("^", integer(-1), integer(kMax)), integer(-1));
  EXPECT_EQ(binary("^", integer(1), integer(kMax)), integer(1));
  EXPECT_EQ(binary("^", integer(10), integer(18)), integer(1000000000000000000));
  EXPECT_EQ(binary("^", integer(2), integer(-1)), fault("domain"));
}

TEST(Evaluate, ScalarsStayFinite) {
  EXPECT_EQ(binary("*", Value(1e200), Value(1e200)), fault("overflow"));
  EXPECT_EQ(binary("/", Value(1.0), Value(0.0)), fault("division-by-zero"));
  EXPECT_EQ(binary("^", Value(-8.0), Value(1.0 / 3.0)), fault("domain"));
  EXPECT_EQ(binary("^", Value(0.0), Value(-2.0)), fault("domain"));
  EXPECT_EQ(binary("^", Value(-2.0), Value(3.0)), Value(-8.0));
  EXPECT_EQ(binary("*", Value(1e-200), Value(1e-200)), Value(0.0));
}

TEST(Evaluate, ArraysAndStrings) {
  const Value pair = array({integer(1), integer(2)});
  EXPECT_EQ(binary("+", pair, array({})), pair);
  EXPECT_EQ(binary("*", pair, integer(0)), array({}));
  EXPECT_EQ(binary("*", integer(2), array({integer(3)})), array({integer(3), integer(3)}));
  EXPECT_EQ(binary("*", text("ab"), integer(2)), text("abab"));
  EXPECT_EQ(binary("*", text(""), integer(kMax)), fault("too-large"));
  EXPECT_EQ(binary("*", array({}), integer(kMax)), fault("too-large"));
  EXPECT_EQ(binary("*", pair, integer(-1)), fault("domain"));
  EXPECT_EQ(binary("*", pair, integer(kMax)), fault("too-large"));
  EXPECT_EQ(binary("in", integer(2), pair), Value(true));
  EXPECT_EQ(binary("in", integer(2), array({})), Value(false));
  EXPECT_EQ(binary("<", text("a"), text("b")), Value(true));
  EXPECT_EQ(binary("==", pair, array({integer(1), integer(2)})), Value(true));
  EXPECT_EQ(binary("!=", pair, array({integer(2), integer(1)})), Value(true));
}

TEST(Evaluate, ValuesThatNoCheckAdmitsAreFaults) {
  EXPECT_EQ(binary("+", integer(1), Value(1.0)), fault("type"));
  EXPECT_EQ(binary("<", Value(true), Value(false)), fault("type"));
  EXPECT_EQ(binary("+", text("a"), array({})), fault("type"));
  EXPECT_EQ(binary("in", integer(1), integer(1)), fault("type"));
  EXPECT_EQ(builtin("length_of", integer(1)), fault("type"));
  EXPECT_EQ(builtin("integer", array({})), fault("type"));
  EvaluationFault unary_fault;
  EXPECT_FALSE(evaluate_unary("!", integer(1), unary_fault));
  EXPECT_FALSE(evaluate_unary("-", text("a"), unary_fault));
  EXPECT_FALSE(evaluate_unary("-", integer(kMin), unary_fault));
  EXPECT_EQ(unary_fault.id, "expand/overflow");
}

TEST(Evaluate, Conversions) {
  EXPECT_EQ(builtin("integer", Value(-2.9)), integer(-2));
  EXPECT_EQ(builtin("integer", Value(9223372036854775808.0)), fault("overflow"));
  EXPECT_EQ(builtin("integer", Value(-9223372036854775808.0)), integer(kMin));
  EXPECT_EQ(builtin("integer", Value(std::numeric_limits<double>::quiet_NaN())), fault("overflow"));
  EXPECT_EQ(builtin("integer", text("-12")), integer(-12));
  EXPECT_EQ(builtin("integer", text("12 ")), fault("conversion"));
  EXPECT_EQ(builtin("integer", text("9223372036854775808")), fault("conversion"));
  EXPECT_EQ(builtin("scalar", text("1e400")), fault("conversion"));
  EXPECT_EQ(builtin("scalar", text("inf")), fault("conversion"));
  EXPECT_EQ(builtin("scalar", text("1e-3")), Value(1e-3));
  EXPECT_EQ(builtin("string", Value(1.0)), text("1.0"));
  EXPECT_EQ(builtin("string", Value(1e30)), text("1e+30"));
  EXPECT_EQ(builtin("logical", text("")), Value(false));
}

TEST(Evaluate, SubscriptsCountFromBothEnds) {
  const Value items = array({integer(1), integer(2), integer(3)});
  EvaluationFault unused;
  EXPECT_EQ(evaluate_item(items, -3, unused), integer(1));
  EXPECT_FALSE(evaluate_item(items, -4, unused));
  EXPECT_FALSE(evaluate_item(items, kMin, unused));
  EXPECT_EQ(evaluate_range(items, -2, std::nullopt, unused), array({integer(2), integer(3)}));
  EXPECT_EQ(evaluate_range(items, 3, 3, unused), array({}));
  EXPECT_FALSE(evaluate_range(items, 0, kMax, unused));
  EXPECT_FALSE(evaluate_range(items, 2, 1, unused));
  EXPECT_EQ(evaluate_range(text("abc"), 1, -1, unused), text("b"));
}

TEST(Types, Casting) {
  const ast::Type scalar = primitive_type(DType::scalar);
  const ast::Type integer_type = primitive_type(DType::integer);
  const ast::Type generic{ast::Type::Kind::generic, DType::scalar, {}};
  const ast::Type any{ast::Type::Kind::tensor, DType::scalar, {}};
  const ast::Type empty{ast::Type::Kind::array, DType::scalar, {}};
  EXPECT_TRUE(castable(scalar, tensor_of(scalar)));
  EXPECT_FALSE(castable(integer_type, tensor_of(scalar)));
  EXPECT_FALSE(castable(integer_type, scalar));
  EXPECT_FALSE(castable(tensor_of(scalar), scalar));
  EXPECT_TRUE(castable(tensor_of(integer_type), any));
  EXPECT_FALSE(castable(any, tensor_of(integer_type)));
  EXPECT_TRUE(castable(empty, array_of(array_of(scalar))));
  EXPECT_FALSE(castable(array_of(scalar), empty));
  EXPECT_TRUE(castable(array_of(scalar), array_of(tensor_of(scalar))));
  StaticType binding;
  EXPECT_TRUE(castable(integer_type, tensor_of(generic), &binding));
  EXPECT_FALSE(castable(tensor_of(scalar), tensor_of(generic), &binding));
  EXPECT_EQ(*binding, integer_type);
  EXPECT_FALSE(castable(scalar, generic));
  EXPECT_TRUE(castable(generic, tensor_of(generic)));
  EXPECT_EQ(describe(array_of(empty)), "[][]");
}

TEST(Check, TheStandardLibraryIsWellTyped) {
  const Declarations& standard = Declarations::standard();
  for (const std::string& name : standard.names()) {
    Diagnostics diagnostics;
    Checker(standard, diagnostics).check_fragment(*standard.find(name));
    EXPECT_TRUE(diagnostics.items().empty()) << format(diagnostics);
  }
}

TEST(Expand, ArgumentsStandInDeclaredOrderWithDefaults) {
  Diagnostics diagnostics;
  const auto graph = load(
      "x = external(shape = [1,4]);\n"
      "w = variable<scalar>(label = 'w', shape = [4,4]);\n"
      "y = linear(filter = w, input = x);",
      diagnostics);
  ASSERT_TRUE(graph) << format(diagnostics);
  const Operation& external = graph->operations[0];
  EXPECT_EQ(external.type_argument, DType::scalar);
  const Operation& variable = graph->operations[1];
  ASSERT_EQ(variable.attributes.size(), 2u);
  EXPECT_EQ(variable.attributes[0].name, "shape");
  const Operation& linear = graph->operations[2];
  ASSERT_EQ(linear.inputs.size(), 3u);
  EXPECT_EQ(linear.inputs[0].name, "input");
  EXPECT_EQ(linear.inputs[2].value, Value(0.0));
  EXPECT_TRUE(linear.inputs[2].defaulted);
  EXPECT_FALSE(linear.inputs[1].defaulted);
  EXPECT_FALSE(linear.type_argument);
}

TEST(Expand, OperationsKnowTheCallsThatLedToThem) {
  Diagnostics diagnostics;
  const auto graph =
      load("x = external(shape = [1,4]);\ny = outer(x);", diagnostics, true,
           "fragment inner(x: tensor<scalar>) -> (y: tensor<scalar>) { y = tanh(x); }\n"
           "fragment outer(x: tensor<scalar>) -> (y: tensor<scalar>) { y = inner(x) + 1.0; }");
  ASSERT_TRUE(graph) << format(diagnostics);
  ASSERT_EQ(graph->operations.size(), 3u);
  EXPECT_TRUE(graph->operations[0].expansion.empty());
  const std::vector<CallSite>& chain = graph->operations[1].expansion;
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(chain[0].fragment, "inner");
  EXPECT_EQ(chain[1].fragment, "outer");
  EXPECT_EQ(chain[1].where.source->line_column(chain[1].where.begin).line, 9u);
  EXPECT_EQ(graph->operations[2].expansion.size(), 1u);
}

TEST(Expand, OperationsWithoutABodyKeepTheirDeclarations) {
  Diagnostics diagnostics;
  const auto graph = expand_only(
      "version 1.0;\nextension KHR_enable_fragment_definitions;\n"
      "fragment custom<? = scalar>(\n    x: tensor<?>, c: tensor<scalar> = -1.5e-3, # a comment\n"
      "    pads: (integer,integer)[] = [(0,1)], mode: string = \"it's\") -> (y: tensor<?>);\n"
      "fragment pieces(x: tensor<scalar>, n: integer) -> (ys: tensor<scalar>[], z: "
      "tensor<integer>);\n"
      "graph G(x) -> (y)\n{\n    x = external(shape = [4]);\n    u = custom(x, 2.0);\n"
      "    [a, b], z = pieces(u, n = 2);\n    y = add(a, b);\n}\n",
      diagnostics);
  ASSERT_TRUE(graph) << format(diagnostics);
  ASSERT_EQ(graph->custom.size(), 2u);
  EXPECT_EQ(graph->custom[0].text,
            "fragment custom<? = scalar>(x: tensor<?>, c: tensor<scalar> = -1.5e-3, "
            "pads: (integer,integer)[] = [(0,1)], mode: string = \"it's\") -> (y: tensor<?>);");
  EXPECT_EQ(graph->extensions, std::vector<std::string>{"KHR_enable_fragment_definitions"});
  const Operation& pieces = graph->operations[2];
  ASSERT_EQ(pieces.outputs.size(), 2u);
  EXPECT_EQ(pieces.outputs[0].value.get<Array>()->items.size(), 2u);
  EXPECT_EQ((*graph)[*pieces.outputs[1].value.get<TensorRef>()].dtype, DType::integer);
}

TEST(Expand, AFlatGraphExpandsToItself) {
  for (const bool keep : {true, false}) {
    Diagnostics diagnostics;
    const auto graph = load(
        "x = external(shape = [1,4,6,6]);\n"
        "n = local_contrast_normalization(x, size = [1,1,3,3]);\n"
        "p, i = max_pool_with_index(n, size = [1,1,2,2], border = 'ignore');\n"
        "q = zero_point_linear_quantize(p, 1, 0.5, bits = 8, signed = true, symmetric = false);\n"
        "[a, b] = split(q * 2.0 + p, axis = 1, ratios = [1,3]);\n"
        "y = softmax(b) / add_n([a, a ^ 2.0, -a, 1.0]);",
        diagnostics, keep);
    ASSERT_TRUE(graph) << format(diagnostics);
    const std::string flat = write_graph(*graph);
    LoadOptions options;
    options.read_data = false;
    options.keep_compound = [keep](std::string_view) { return keep; };
    const auto again =
        load_text(std::make_shared<Source>("t.nnef", flat), nullptr, options, diagnostics);
    ASSERT_TRUE(again) << format(diagnostics) << flat;
    EXPECT_EQ(write_graph(*again), flat);
    EXPECT_EQ(again->operations.size(), graph->operations.size());
  }
}

TEST(Expand, NamesAreUnique) {
  Diagnostics diagnostics;
  const auto graph = load(
      "x = external(shape = [4]);\ny_add = x + 1.0 + 2.0;\ny_add_2 = y_add + x;\n"
      "y = (x + 1.0) + (x + 2.0) + y_add_2;",
      diagnostics);
  ASSERT_TRUE(graph) << format(diagnostics);
  std::set<std::string> names;
  for (const Tensor& tensor : graph->tensors) {
    EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
  }
}

}  // namespace
}  // namespace nnef
