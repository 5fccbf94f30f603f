// The reference evaluator: conversions of items, integer arithmetic, and the state of variables.
// Values of operations stand in the cases.
#include "nnef/reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "nnef/model.h"
#include "tensor_items.h"

namespace nnef {
namespace {

constexpr ItemType kFloat16{ItemCode::float_, 0, 16};
constexpr ItemType kFloat32{ItemCode::float_, 0, 32};
constexpr ItemType kFloat64{ItemCode::float_, 0, 64};
constexpr ItemType kInt8{ItemCode::int_, 0, 8};
constexpr ItemType kInt32{ItemCode::int_, 0, 32};
constexpr ItemType kInt64{ItemCode::int_, 0, 64};
constexpr ItemType kUint8{ItemCode::uint_, 0, 8};
constexpr ItemType kUint64{ItemCode::uint_, 0, 64};
constexpr ItemType kBool{ItemCode::bool_, 0, 8};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kGreatest = std::numeric_limits<int64_t>::max();

using Reals = TensorValue::Reals;
using Integers = TensorValue::Integers;

TensorValue reals(const Reals& items, ItemType item = kFloat32) {
  return {DType::scalar, item, {static_cast<int64_t>(items.size())}, items};
}

TensorValue integers(const Integers& items, ItemType item = kInt32) {
  return {DType::integer, item, {static_cast<int64_t>(items.size())}, items};
}

/// The items of `value`, stored and read again as a tensor of another type.
template <typename T>
T converted(const TensorValue& value, DType dtype, const ItemType& item) {
  const auto result = to_value(to_data(value), dtype, item);
  EXPECT_TRUE(result.has_value());
  EXPECT_EQ(result->shape, value.shape);
  return std::get<T>(result->items);
}

TEST(TensorValue, Float16IsRoundedToTheNearestEven) {
  const double ulp = std::exp2(-10);
  const Reals items{1 + ulp / 2, 1 + 1.5 * ulp, 1 + ulp / 2 + std::exp2(-40),
                    65519.99,    65520,         -1e300};
  EXPECT_EQ(converted<Reals>(reals(items, kFloat64), DType::scalar, kFloat16),
            (Reals{1, 1 + 2 * ulp, 1 + ulp, 65504, kInfinity, -kInfinity}));
}

TEST(TensorValue, Float16HasSubnormals) {
  const double least = std::exp2(-24);
  const Reals items{least, least * 0.5, least * 0.51, -least * 1.5, 1023.5 * least};
  EXPECT_EQ(converted<Reals>(reals(items, kFloat64), DType::scalar, kFloat16),
            (Reals{least, 0, least, -2 * least, 1024 * least}));
}

TEST(TensorValue, EveryFloat16IsItself) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(double_to_half(value), bits);
  }
  EXPECT_TRUE(std::isnan(half_to_float(double_to_half(std::nan("")))));
}

TEST(TensorValue, RealsAreRoundedToFloat32) {
  EXPECT_EQ(converted<Reals>(reals({0.1, 1e39}, kFloat64), DType::scalar, kFloat32),
            (Reals{0.1F, kInfinity}));
}

TEST(TensorValue, RealsSaturateAsIntegers) {
  const TensorValue value =
      reals({-1.9, 1.9, 300, -300, std::nan(""), kInfinity, -kInfinity, 127.5}, kFloat64);
  EXPECT_EQ(converted<Integers>(value, DType::integer, kInt8),
            (Integers{-1, 1, 127, -128, 0, 127, -128, 127}));
  EXPECT_EQ(converted<Integers>(value, DType::integer, kUint8),
            (Integers{0, 1, 255, 0, 0, 255, 0, 127}));
  EXPECT_EQ(converted<Integers>(reals({1e19, -1e19}, kFloat64), DType::integer, kInt64),
            (Integers{kGreatest, kLeast}));
  EXPECT_EQ(converted<Integers>(reals({1e19, 1e30}, kFloat64), DType::integer, kUint64),
            (Integers{static_cast<int64_t>(10000000000000000000U), -1}));
}

TEST(TensorValue, IntegersWrap) {
  const TensorValue value = integers({255, 256, -1, 1000, kLeast, kGreatest}, kInt64);
  EXPECT_EQ(converted<Integers>(value, DType::integer, kInt8), (Integers{-1, 0, -1, -24, 0, -1}));
  EXPECT_EQ(converted<Integers>(value, DType::integer, kUint8),
            (Integers{255, 0, 255, 232, 0, 255}));
  EXPECT_EQ(converted<Integers>(value, DType::integer, kInt64), std::get<Integers>(value.items));
}

TEST(TensorValue, IntegersBecomeRealsAndLogicals) {
  EXPECT_EQ(converted<Reals>(integers({-1}, kUint64), DType::scalar, kFloat64),
            Reals{18446744073709551615.0});
  EXPECT_EQ(converted<Integers>(integers({0, 256, -1}), DType::logical, kBool),
            (Integers{0, 1, 1}));
  EXPECT_EQ(converted<Integers>(reals({0, 0.25, -0.0}), DType::logical, kBool),
            (Integers{0, 1, 0}));
}

TEST(TensorValue, QuantisedCodesAreNoNumbers) {
  TensorData data = to_data(integers({1, 2}, kUint8));
  data.type.code = ItemCode::quantized_uint;
  EXPECT_FALSE(to_value(data, DType::scalar, kFloat32).has_value());
}

/// A graph of this body. Its variables have the numbers 1, 2, ... in this order.
Graph graph_of(const std::string& text, bool keep_compounds = false, bool read = true) {
  LoadOptions options;
  if (!keep_compounds) options.keep_compound = has_evaluator;
  Diagnostics diagnostics;
  auto graph = load_text(std::make_shared<Source>("graph.nnef", "version 1.0; graph " + text),
                         nullptr, options, diagnostics);
  EXPECT_TRUE(graph.has_value()) << format(diagnostics);
  if (!graph) return {};
  double next = 1;
  for (const Operation& operation : graph->operations) {
    if (operation.name != "variable" || !read) continue;
    Tensor& tensor = (*graph)[OpView(*graph, operation).result("output")];
    tensor.data = std::make_shared<TensorData>(to_data(reals({next++})));
  }
  return std::move(*graph);
}

std::unique_ptr<Reference> evaluator(const Graph& graph) {
  Diagnostics diagnostics;
  auto reference = Reference::create(graph, diagnostics);
  EXPECT_NE(reference, nullptr) << format(diagnostics);
  return reference;
}

TensorRef named(const Graph& graph, const std::string& name) {
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].name == name) return {i};
  }
  ADD_FAILURE() << "no tensor " << name;
  return {};
}

/// One cycle with the input 0; the only item of a tensor.
double item_after_cycle(Reference& reference, const Graph& graph, const std::string& name) {
  Diagnostics diagnostics;
  const auto values = reference.run({reals({0})}, diagnostics);
  EXPECT_TRUE(values.has_value()) << format(diagnostics);
  return std::get<Reals>((*values)[named(graph, name).index].items).at(0);
}

TEST(Reference, SwapsVariablesInEveryCycle) {
  const Graph graph = graph_of(
      "G(u) -> (a, b) { u = external<scalar>(shape = [1]); x = variable<scalar>(shape = [1], label "
      "= 'x');"
      "y = variable<scalar>(shape = [1], label = 'y'); a = update(x, y); b = update(y, x); }");
  const auto reference = evaluator(graph);
  EXPECT_EQ(item_after_cycle(*reference, graph, "x"), 1);
  EXPECT_EQ(item_after_cycle(*reference, graph, "x"), 2);
  EXPECT_EQ(item_after_cycle(*reference, graph, "a"), 2);
  EXPECT_EQ(std::get<Reals>(reference->state(named(graph, "x")).items), Reals{2});
  EXPECT_EQ(std::get<Reals>(reference->state(named(graph, "y")).items), Reals{1});
}

TEST(Reference, AccumulatesFromTheStateAndResets) {
  const Graph graph = graph_of(
      "G(u) -> (n, seen) { u = external<scalar>(shape = [1]); x = variable<scalar>(shape = [1], "
      "label = 'x'); m = add(x, 1.0);"
      "n = update(x, m); seen = copy(x); }");
  const auto reference = evaluator(graph);
  EXPECT_EQ(item_after_cycle(*reference, graph, "n"), 2);
  EXPECT_EQ(item_after_cycle(*reference, graph, "seen"), 2);
  EXPECT_EQ(item_after_cycle(*reference, graph, "n"), 4);
  reference->set_state(named(graph, "x"), reals({40}));
  EXPECT_EQ(item_after_cycle(*reference, graph, "n"), 41);
  reference->reset();
  EXPECT_EQ(item_after_cycle(*reference, graph, "n"), 2);
}

TEST(Reference, VariablesOfOneLabelShareTheirState) {
  const Graph graph = graph_of(
      "G(u) -> (n, z) { u = external<scalar>(shape = [1]); x = variable<scalar>(shape = [1], label "
      "= 'v');"
      "y = variable<scalar>(shape = [1], label = 'V'); five = add(u, 5.0); n = update(x, five); z "
      "= copy(y); }");
  const auto reference = evaluator(graph);
  EXPECT_EQ(item_after_cycle(*reference, graph, "z"), 1);
  EXPECT_EQ(item_after_cycle(*reference, graph, "z"), 5);
}

TEST(Reference, RoundsNamedResultsAndNothingInsideOfCompounds) {
  Graph graph = graph_of(
      "G(x) -> (y, z) { x = external<scalar>(shape = [1]); y = sqr(x); z = rms_pool(x,"
      "size = [1]); }");
  for (Tensor& tensor : graph.tensors) tensor.item = kFloat16;
  const auto reference = evaluator(graph);
  Diagnostics diagnostics;
  const auto values = reference->run({reals({300}, kFloat16)}, diagnostics);
  ASSERT_TRUE(values.has_value()) << format(diagnostics);
  EXPECT_EQ(std::get<Reals>((*values)[graph.outputs[0].index].items), Reals{kInfinity});
  EXPECT_EQ(std::get<Reals>((*values)[graph.outputs[1].index].items), Reals{300});
}

/// The items of z = operation(x, y), for integers of one item type.
Integers binary(const std::string& operation, const Integers& x, const Integers& y, ItemType item) {
  const std::string shape = "(shape = [" + std::to_string(x.size()) + "]);";
  Graph graph = graph_of("G(x, y) -> (z) { x = external<integer>" + shape +
                         "y = external<integer>" + shape + "z = " + operation + "(x, y); }");
  for (Tensor& tensor : graph.tensors) {
    if (tensor.dtype == DType::integer) tensor.item = item;
  }
  Diagnostics diagnostics;
  const auto values = evaluator(graph)->run({integers(x, item), integers(y, item)}, diagnostics);
  EXPECT_TRUE(values.has_value()) << format(diagnostics);
  return std::get<Integers>((*values)[graph.outputs[0].index].items);
}

TEST(Reference, IntegerArithmeticWraps) {
  EXPECT_EQ(binary("add", {100, -100}, {100, -100}, kInt8), (Integers{-56, 56}));
  EXPECT_EQ(binary("sub", {0, 200}, {1, 201}, kUint8), (Integers{255, 255}));
  EXPECT_EQ(binary("add", {kGreatest, kLeast}, {1, -1}, kInt64), (Integers{kLeast, kGreatest}));
  EXPECT_EQ(binary("mul", {kLeast, kGreatest}, {-1, kGreatest}, kInt64), (Integers{kLeast, 1}));
}

TEST(Reference, IntegerDivisionTruncatesAndByZeroIsZero) {
  EXPECT_EQ(binary("div", {7, -7, 7, 5, kLeast}, {2, 2, -2, 0, -1}, kInt64),
            (Integers{3, -3, -3, 0, kLeast}));
  EXPECT_EQ(binary("div", {-1}, {2}, kUint64), Integers{kGreatest});
}

TEST(Reference, IntegerPowersAreProducts) {
  EXPECT_EQ(binary("pow", {3, 2, -1, 1, 2, 0, 0, -2}, {4, 63, -3, -5, -1, -1, 0, 3}, kInt64),
            (Integers{81, kLeast, -1, 1, 0, 0, 1, -8}));
}

TEST(Reference, LargeUnsignedIntegersAreNoNegativeOnes) {
  EXPECT_EQ(binary("gt", {-1, 0}, {1, -1}, kUint64), (Integers{1, 0}));
}

/// The ids of what creating an evaluator reports.
std::string ids_of_create(const Graph& graph) {
  Diagnostics diagnostics;
  EXPECT_EQ(Reference::create(graph, diagnostics), nullptr);
  std::string ids;
  for (const auto& item : diagnostics.items()) ids += (ids.empty() ? "" : " ") + item.id;
  return ids;
}

TEST(Reference, CompoundsAreNotKnown) {
  const Graph graph =
      graph_of("G(x) -> (y) { x = external<scalar>(shape = [1]); y = relu(x); }", true);
  EXPECT_EQ(ids_of_create(graph), "reference/no-evaluator");
}

TEST(Reference, VariablesNeedNumbers) {
  const std::string text =
      "G(u) -> (x) { u = external<scalar>(shape = [1]); x = variable<scalar>(shape = [1], label = "
      "'x'); }";
  EXPECT_EQ(ids_of_create(graph_of(text, false, false)), "reference/no-data");
  Graph graph = graph_of(text);
  TensorData data = *graph[named(graph, "x")].data;
  data.type = {ItemCode::quantized_uint, 0, 32};
  graph[named(graph, "x")].data = std::make_shared<TensorData>(data);
  EXPECT_EQ(ids_of_create(graph), "reference/item-type");
}

TEST(Reference, InputsMustFit) {
  const Graph graph = graph_of("G(x) -> (y) { x = external<scalar>(shape = [2]); y = copy(x); }");
  const auto reference = evaluator(graph);
  const auto id_of = [&](const std::vector<TensorValue>& inputs) {
    Diagnostics diagnostics;
    EXPECT_FALSE(reference->run(inputs, diagnostics).has_value());
    return diagnostics.items().at(0).id;
  };
  EXPECT_EQ(id_of({}), "run/input-count");
  EXPECT_EQ(id_of({reals({1})}), "run/input-shape");
  EXPECT_EQ(id_of({reals({1, 2}, kFloat64)}), "run/input-dtype");
  EXPECT_EQ(id_of({integers({1, 2})}), "run/input-dtype");
}

}  // namespace
}  // namespace nnef
