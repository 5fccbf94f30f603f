// The importer: what stands around the operations, faults, and the tables of lowerings. Numbers are
// checked by the cases in tests/ops.
#include "relax/import.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "nnef/model.h"
#include "relax/lowering.h"
#include "stages.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

class Import : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    nnef::Diagnostics diagnostics;
    ASSERT_TRUE(load_compiler(diagnostics)) << nnef::format(diagnostics);
  }

  /// A graph of the given inputs, outputs and statements; compounds without a lowering expanded.
  nnef::Graph load(const std::string& signature, const std::string& statements) {
    const std::string text = "version 1.0;\ngraph G" + signature + "\n{\n" + statements + "\n}\n";
    nnef::LoadOptions options;
    options.keep_compound = has_lowering;
    nnef::Diagnostics found;
    auto graph =
        nnef::load_text(std::make_shared<nnef::Source>("g.nnef", text), nullptr, options, found);
    EXPECT_TRUE(graph.has_value()) << nnef::format(found);
    return graph ? std::move(*graph) : nnef::Graph{};
  }

  std::optional<Imported> import(const nnef::Graph& graph, bool keep_params = false) {
    ImportOptions options;
    options.keep_params = keep_params;
    return import_graph(graph, options, diagnostics_);
  }

  /// Gives a variable its data.
  template <typename T>
  void fill(nnef::Graph& graph, std::string_view name, nnef::ItemType type,
            const std::vector<T>& items) {
    for (nnef::Tensor& tensor : graph.tensors) {
      if (tensor.name != name) continue;
      auto bytes = std::shared_ptr<std::byte[]>(static_cast<std::byte*>(std::aligned_alloc(64, 64)),
                                                std::free);
      std::memcpy(bytes.get(), items.data(), items.size() * sizeof(T));
      auto data = std::make_shared<nnef::TensorData>();
      data->type = type;
      data->shape = *tensor.shape;
      data->bytes = {bytes.get(), items.size() * sizeof(T)};
      data->owner = bytes;
      tensor.data = data;
    }
  }

  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const auto& item : diagnostics_.items()) ids.push_back(item.id);
    return ids;
  }

  nnef::Diagnostics diagnostics_;
};

constexpr nnef::ItemType float32_items{nnef::ItemCode::float_, 0, 32};

const char* const one_variable =
    "x = external<scalar>(shape = [2,2]);\n"
    "w = variable<scalar>(shape = [2,2], label = 'w');\n"
    "y = add(x, w);";

std::vector<std::string> relax_names(const std::vector<ImportedTensor>& tensors) {
  std::vector<std::string> names;
  for (const ImportedTensor& tensor : tensors) names.push_back(tensor.relax_name);
  return names;
}

using Strings = std::vector<std::string>;

TEST_F(Import, VariablesOfRelaxAreNamedAfterTensors) {
  const auto graph = load("(in_, lambda) -> (y)",
                          "in_ = external<scalar>(shape = [2]);\n"
                          "lambda = external<scalar>(shape = [2]);\n"
                          "_sum = add(in_, lambda);\n"
                          "y = relu(_sum);");
  const auto imported = import(graph);
  ASSERT_TRUE(imported) << nnef::format(diagnostics_);
  EXPECT_EQ(relax_names(imported->inputs), (Strings{"in_", "lambda_1"}));
  EXPECT_EQ(imported->inputs[1].name, "lambda");
  EXPECT_EQ(relax_names(imported->outputs), (Strings{"y"}));
  const std::string text = script(imported->module);
  EXPECT_NE(text.find("input__sum: R.Tensor((2,), dtype=\"float32\") = R.add(in_, lambda_1)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("R.func_attr({\"num_input\": 2})"), std::string::npos) << text;
}

TEST_F(Import, WeightsAreConstants) {
  nnef::Graph graph = load("(x) -> (y)", one_variable);
  fill<float>(graph, "w", float32_items, {1, 2, 3, 4});
  const auto imported = import(graph);
  ASSERT_TRUE(imported) << nnef::format(diagnostics_);
  EXPECT_TRUE(imported->params.empty());
  EXPECT_NE(script(imported->module).find("def main(x: R.Tensor((2, 2), dtype=\"float32\")) ->"),
            std::string::npos)
      << script(imported->module);
}

TEST_F(Import, WeightsCanBeParametersWithoutACopy) {
  nnef::Graph graph = load("(x) -> (y)", one_variable);
  fill<float>(graph, "w", float32_items, {1, 2, 3, 4});
  const auto imported = import(graph, true);
  ASSERT_TRUE(imported) << nnef::format(diagnostics_);
  EXPECT_EQ(relax_names(imported->param_specs), (Strings{"w"}));
  ASSERT_EQ(imported->params.size(), 1u);
  for (const nnef::Tensor& tensor : graph.tensors) {
    if (tensor.name == "w") {
      EXPECT_EQ(imported->params[0].data_ptr(), tensor.data->bytes.data());
    }
  }
  const Expr main = find_function(imported->module, "main");
  EXPECT_EQ(function_attr(main, "num_input")->cast<int64_t>(), 1);
  EXPECT_EQ(function_attr(main, "params")->cast<Array<ffi::Tensor>>().size(), 1u);
  EXPECT_NE(script(imported->module).find("w: R.Tensor((2, 2), dtype=\"float32\")"),
            std::string::npos);
}

TEST_F(Import, SeveralOutputsAreATuple) {
  const auto graph = load("(x) -> (y, z, c)",
                          "x = external<scalar>(shape = [2]);\n"
                          "c = constant<scalar>(shape = [2], value = [1.0, 2.0]);\n"
                          "y = relu(x);\nz = neg(y);");
  const auto imported = import(graph);
  ASSERT_TRUE(imported) << nnef::format(diagnostics_);
  EXPECT_EQ(relax_names(imported->outputs), (Strings{"y", "z", "c"}));
  EXPECT_NE(script(imported->module).find("return (y, z, c)"), std::string::npos)
      << script(imported->module);
}

TEST_F(Import, AVariableCanBeAnOutput) {
  nnef::Graph graph = load("(x) -> (y, w)", one_variable);
  fill<float>(graph, "w", float32_items, {1, 2, 3, 4});
  for (bool keep : {false, true}) {
    const auto imported = import(graph, keep);
    ASSERT_TRUE(imported) << nnef::format(diagnostics_);
    EXPECT_EQ(imported->outputs[1].name, "w");
  }
}

/// Every operation of the standard has a lowering; those that a host adds have none.
TEST_F(Import, UnsupportedOperationsAreReportedTogether) {
  auto graph = load("(x) -> (y, z, a, b)",
                    "x = external<scalar>(shape = [1,1,2,2]);\n"
                    "a = exp(x);\n"
                    "y = log(x);\n"
                    "b = exp(x);\n"
                    "z = relu(x);");
  graph.operations[1].name = "shuffle";
  graph.operations[2].name = "rotate";
  graph.operations[3].name = "shuffle";
  EXPECT_FALSE(import(graph));
  ASSERT_EQ(ids(), (Strings{"import/unsupported", "import/unsupported"}));
  const nnef::Diagnostic& shuffle = diagnostics_.items()[0];
  EXPECT_EQ(shuffle.message, "operation 'shuffle' cannot be lowered to Relax (2 uses)");
  EXPECT_EQ(shuffle.where.source->line_column(shuffle.where.begin).line, 5u);
  ASSERT_EQ(shuffle.notes.size(), 1u);
  EXPECT_EQ(shuffle.notes[0].where.source->line_column(shuffle.notes[0].where.begin).line, 7u);
  EXPECT_EQ(diagnostics_.items()[1].message,
            "operation 'rotate' cannot be lowered to Relax (1 use)");
}

TEST_F(Import, DataMustHaveBeenRead) {
  EXPECT_FALSE(import(load("(x) -> (y)", one_variable)));
  EXPECT_EQ(ids(), (Strings{"import/no-data"}));
}

/// What only a wrong shape rule or a wrong lowering could do.
TEST_F(Import, ShapesThatTvmInfersAreChecked) {
  nnef::Graph graph = load("(x) -> (y)", "x = external<scalar>(shape = [2]);\ny = relu(x);");
  graph[graph.outputs[0]].shape = nnef::Shape{3};
  EXPECT_FALSE(import(graph));
  EXPECT_EQ(ids(), (Strings{"import/type"}));
}

TEST_F(Import, WhatTvmRefusesIsReported) {
  nnef::Graph graph = load("(x, z) -> (y)",
                           "x = external<scalar>(shape = [2]);\n"
                           "z = external<scalar>(shape = [2]);\ny = add(x, z);");
  graph[graph.inputs[0]].shape = nnef::Shape{3};
  EXPECT_FALSE(import(graph));
  EXPECT_EQ(ids(), (Strings{"import/tvm"}));
}

/// The values of parameter `w` after import.
template <typename T>
std::vector<T> values(const std::optional<Imported>& imported) {
  if (!imported || imported->params.empty()) return {};
  const auto* items = static_cast<const T*>(imported->params[0].data_ptr());
  return {items, items + 4};
}

TEST_F(Import, ItemsAreConverted) {
  nnef::Graph graph = load("(x) -> (y)", one_variable);
  fill<double>(graph, "w", {nnef::ItemCode::float_, 0, 64}, {1, -2, 0.5, 4});
  EXPECT_EQ(values<float>(import(graph, true)), (std::vector<float>{1, -2, 0.5, 4}));
  fill<uint16_t>(graph, "w", {nnef::ItemCode::float_, 0, 16}, {0x3c00, 0xc000, 0x3800, 0});
  EXPECT_EQ(values<float>(import(graph, true)), (std::vector<float>{1, -2, 0.5, 0}));
}

TEST_F(Import, QuantizedItemsAreRealNumbers) {
  nnef::Graph graph = load("(x) -> (y)", one_variable);
  fill<uint8_t>(graph, "w", {nnef::ItemCode::quantized_uint, 0, 8}, {0, 128, 130, 255});
  EXPECT_FALSE(import(graph, true));
  EXPECT_EQ(ids(), (Strings{"import/item-type"}));
  for (nnef::Tensor& tensor : graph.tensors) {
    if (tensor.name != "w") continue;
    tensor.quantization.emplace().name = "zero_point_linear_quantize";
    tensor.quantization->attributes = {{.name = "zero_point", .value = int64_t{128}, .where = {}},
                                       {.name = "scale", .value = 0.5, .where = {}}};
  }
  EXPECT_EQ(values<float>(import(graph, true)), (std::vector<float>{-64, 0, 1, 63.5}));
  for (nnef::Tensor& tensor : graph.tensors) {
    if (tensor.name != "w") continue;
    tensor.quantization->name = "linear_quantize";
    tensor.quantization->attributes = {{.name = "min", .value = -1.0, .where = {}},
                                       {.name = "max", .value = 254.0, .where = {}}};
  }
  EXPECT_EQ(values<float>(import(graph, true)), (std::vector<float>{-1, 127, 129, 254}));
}

TEST_F(Import, IntegersMustFit) {
  nnef::Graph graph = load("(x) -> (y)",
                           "x = external<scalar>(shape = [8]);\n"
                           "w = variable<integer>(shape = [2,2], label = 'w');\n"
                           "y = gather(x, w);");
  const nnef::ItemType int64_items{nnef::ItemCode::int_, 0, 64};
  fill<int64_t>(graph, "w", int64_items, {1, 2, 3, 7});
  EXPECT_EQ(values<int32_t>(import(graph, true)), (std::vector<int32_t>{1, 2, 3, 7}));
  fill<int64_t>(graph, "w", int64_items, {1, 2, 3, int64_t{1} << 31});
  EXPECT_FALSE(import(graph, true));
  EXPECT_EQ(ids(), (Strings{"import/integer-range"}));
}

TEST_F(Import, BoolsAreZeroOrOne) {
  nnef::Graph graph = load("(x) -> (y)",
                           "x = external<logical>(shape = [2,2]);\n"
                           "w = variable<logical>(shape = [2,2], label = 'w');\n"
                           "y = and(x, w);");
  fill<uint8_t>(graph, "w", {nnef::ItemCode::bool_, 0, 8}, {0, 1, 2, 255});
  EXPECT_EQ(values<uint8_t>(import(graph, true)), (std::vector<uint8_t>{0, 1, 1, 1}));
}

TEST(Lowerings, EachIsOfAStandardOperationAndStandsOnce) {
  std::set<std::string_view> seen;
  for (const auto table :
       {elementwise_lowerings(), reduce_lowerings(), window_lowerings(), resample_lowerings(),
        movement_lowerings(), linear_lowerings(), roi_lowerings()}) {
    for (const LoweringRow& row : table) {
      EXPECT_NE(nnef::Declarations::find_built_in(row.operation), nullptr) << row.operation;
      EXPECT_TRUE(seen.insert(row.operation).second) << row.operation << " stands twice";
    }
  }
}

TEST(Lowerings, EveryPrimitiveHasOne) {
  std::set<std::string_view> lowered;
  for (const LoweringInfo& info : lowerings()) lowered.insert(info.operation);
  // Those that expansion does itself are none of a graph.
  lowered.insert({"tract_core_external", "tract_core_scan"});
  for (const std::string& name : nnef::Declarations::tract().names()) {
    const bool primitive = !nnef::Declarations::find_built_in(name)->has_body;
    EXPECT_TRUE(!primitive || lowered.contains(name)) << name;
  }
}

/// The wrappers name TVM's functions literally, in calls or in tables.
TEST_F(Import, TvmHasEveryFunctionThatIsNamed) {
  const auto folder = std::filesystem::path(NNEF_SOURCE_DIR) / "src" / "tvm";
  const std::regex name(R"re((?:call(?:<[\w:<>, ]*>)?\(\s*"([\w.]+)")|"(relax\.op\.[\w.]+)")re");
  size_t names = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const std::string content = text.str();
    for (std::sregex_iterator at(content.begin(), content.end(), name), end; at != end; ++at) {
      const std::string function = (*at)[1].matched ? (*at)[1] : (*at)[2];
      EXPECT_TRUE(ffi::Function::GetGlobal(function).has_value())
          << entry.path().filename() << " names '" << function << "', which TVM does not have";
      ++names;
    }
  }
  EXPECT_GT(names, 100u);
}

}  // namespace
}  // namespace nnef_tvm
