#include "nnef/quantization.h"

#include <gtest/gtest.h>

#include <set>

#include "nnef/model.h"
#include "nnef/operations.h"

namespace nnef {
namespace {

Graph loaded(const std::string& body, const std::string& quant, bool expand = false) {
  Diagnostics diagnostics;
  LoadOptions options;
  if (expand) options.keep_compound = [](std::string_view) { return false; };
  auto graph = load_text(std::make_shared<Source>("graph.nnef", "version 1.0;\n" + body),
                         std::make_shared<Source>("graph.quant", quant), options, diagnostics);
  EXPECT_TRUE(graph) << format(diagnostics);
  return graph.value_or(Graph{});
}

bool keep_none(std::string_view) { return false; }

const Tensor& tensor(const Graph& graph, const std::string& name) {
  for (const Tensor& item : graph.tensors) {
    if (item.name == name) return item;
  }
  ADD_FAILURE() << "no tensor " << name;
  return graph.tensors.front();
}

constexpr const char* kGraph =
    "graph G(x) -> (y)\n{\nx = external<scalar>(shape = [1,2]);\n"
    "v = variable<scalar>(shape = [1,2], label = 'v');\ny_min = mul(x, v);\n"
    "y = sigmoid(y_min);\n}\n";
constexpr const char* kQuant =
    "\"x\": linear_quantize(min = -1.0, max = 1.0, bits = 8);\n"
    "\"v\": zero_point_linear_quantize(zero_point = [[1,2]], scale = 0.5, bits = 4, signed = true, "
    "symmetric = false);\n"
    "\"y\": linear_quantize(min = [0.0], max = 1.0, bits = 2);\n";

TEST(FakeQuantize, KeepsTheNamesOfInputsAndResults) {
  Graph graph = loaded(kGraph, kQuant);
  Diagnostics diagnostics;
  ASSERT_TRUE(fake_quantize(graph, {}, diagnostics)) << format(diagnostics);
  EXPECT_EQ(graph[graph.inputs[0]].name, "x");
  EXPECT_EQ(graph[graph.outputs[0]].name, "y");
  EXPECT_EQ(write_graph(graph),
            "version 1.0;\n\ngraph G(x) -> (y)\n{\n"
            "    x = external<scalar>(shape = [1,2]);\n"
            "    x_quantized = linear_quantize(x, -1.0, 1.0, bits = 8);\n"
            "    v_unquantized = variable<scalar>(shape = [1,2], label = 'v');\n"
            "    v_zero_point = constant<integer>(shape = [1,2], value = [1,2]);\n"
            "    v = zero_point_linear_quantize(v_unquantized, v_zero_point, 0.5, bits = 4, "
            "signed = true, symmetric = false);\n"
            "    y_min = mul(x_quantized, v);\n"
            "    y_unquantized = sigmoid(y_min);\n"
            "    y_min_2 = constant<scalar>(shape = [1], value = [0.0]);\n"
            "    y = linear_quantize(y_unquantized, y_min_2, 1.0, bits = 2);\n"
            "}\n");
  EXPECT_EQ(write_quantization(graph), "");
}

TEST(FakeQuantize, ExpandsToPrimitives) {
  Graph graph = loaded(kGraph, kQuant, true);
  Diagnostics diagnostics;
  ASSERT_TRUE(fake_quantize(graph, keep_none, diagnostics)) << format(diagnostics);
  std::set<std::string> compounds, names;
  for (const auto& info : standard_operations()) {
    if (info.compound) compounds.insert(info.name);
  }
  for (const Operation& operation : graph.operations) {
    EXPECT_FALSE(compounds.contains(operation.name)) << operation.name;
  }
  for (const Tensor& item : graph.tensors) {
    EXPECT_TRUE(names.insert(item.name).second) << item.name;
    EXPECT_TRUE(item.shape) << item.name;
  }
  const Graph again = loaded(write_graph(graph).substr(13), "", true);
  EXPECT_EQ(write_graph(again, true), write_graph(graph, true));
}

TEST(FakeQuantize, UpdatesAssignToTheVariableItself) {
  Graph graph = loaded(
      "graph G(x) -> (y)\n{\nx = external<scalar>(shape = [2]);\n"
      "v = variable<scalar>(shape = [2], label = 'v');\nw = add(v, x);\ny = update(v, w);\n}\n",
      "\"v\": linear_quantize(min = 0.0, max = 1.0, bits = 8);\n");
  Diagnostics diagnostics;
  ASSERT_TRUE(fake_quantize(graph, {}, diagnostics)) << format(diagnostics);
  const OpView update(graph, graph.operations.back());
  EXPECT_EQ(graph[update.tensor("variable")].name, "v");
  EXPECT_EQ(tensor(graph, "v_quantized").shape, (Shape{2}));
  EXPECT_EQ(graph[graph.outputs[0]].name, "y");
}

TEST(FakeQuantize, LeavesVariablesThatAreStoredQuantised) {
  Graph graph = loaded(kGraph, kQuant);
  static const std::byte kItems[] = {std::byte{0x1f}};
  for (Tensor& item : graph.tensors) {
    if (item.name != "v") continue;
    item.data = std::make_shared<TensorData>(
        TensorData{{ItemCode::quantized_int, 0, 4}, {1, 2}, kItems, nullptr});
  }
  Diagnostics diagnostics;
  ASSERT_TRUE(fake_quantize(graph, {}, diagnostics)) << format(diagnostics);
  EXPECT_EQ(real_values(tensor(graph, "v")), (std::vector<double>{0, -1.5}));
}

TEST(RealValues, NeedAnEntryThatFits) {
  Graph graph = loaded(kGraph, kQuant);
  Tensor v = tensor(graph, "v");
  EXPECT_FALSE(real_values(v));
  static const std::byte kItems[] = {std::byte{1}, std::byte{0xff}};
  v.data = std::make_shared<TensorData>(
      TensorData{{ItemCode::quantized_uint, 0, 8}, {1, 2}, kItems, nullptr});
  EXPECT_EQ(real_values(v), (std::vector<double>{0, 126.5}));
  v.quantization->attributes[0].value = Array{{int64_t{1}, int64_t{2}}};  // [2] against [1,2]
  EXPECT_FALSE(real_values(v));
  v.quantization->name = "halves";
  EXPECT_FALSE(real_values(v));
  v.quantization.reset();
  EXPECT_FALSE(real_values(v));
}

TEST(Integers, StayExact) {
  alignas(8) static const uint64_t kItems[] = {(uint64_t{1} << 53) + 1, ~uint64_t{0}};
  const auto bytes = std::as_bytes(std::span(kItems));
  TensorData data{{ItemCode::int_, 0, 64}, {2}, bytes, nullptr};
  EXPECT_EQ(to_integers(data), (std::vector<int64_t>{(int64_t{1} << 53) + 1, -1}));
  data.type.code = ItemCode::float_;
  EXPECT_FALSE(to_integers(data));
}

}  // namespace
}  // namespace nnef
