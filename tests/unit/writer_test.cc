#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "nnef/file.h"
#include "nnef/model.h"
#include "temporary_folder.h"

namespace nnef {
namespace {

std::optional<Graph> load(const std::string& text, const std::string& quant, bool expand,
                          Diagnostics& diagnostics) {
  LoadOptions options;
  if (expand) options.keep_compound = [](std::string_view) { return false; };
  const SourcePtr quant_source =
      quant.empty() ? nullptr : std::make_shared<Source>("graph.quant", quant);
  return load_text(std::make_shared<Source>("graph.nnef", text), quant_source, options,
                   diagnostics);
}

Graph loaded(const std::string& text, const std::string& quant = {}) {
  Diagnostics diagnostics;
  auto graph = load(text, quant, false, diagnostics);
  EXPECT_TRUE(graph) << format(diagnostics);
  return graph ? std::move(*graph) : Graph{};
}

/// Everything of a graph that its text has to keep, with tensors by name.
std::string describe(const Graph& graph, const Value& value) {
  const auto list = [&graph](const std::vector<Value>& items) {
    std::string text;
    for (const Value& item : items) text += describe(graph, item) + ";";
    return text;
  };
  if (const auto* logical = value.get<bool>()) return *logical ? "logical 1" : "logical 0";
  if (const auto* integer = value.get<int64_t>()) return "integer " + std::to_string(*integer);
  if (const auto* scalar = value.get<double>()) {
    uint64_t bits = 0;
    std::memcpy(&bits, scalar, sizeof(bits));
    return "scalar " + std::to_string(bits);
  }
  if (const auto* string = value.get<std::string>()) return "string " + *string;
  if (const auto* ref = value.get<TensorRef>()) return "tensor " + graph[*ref].name;
  if (const auto* array = value.get<Array>()) return "[" + list(array->items) + "]";
  if (const auto* tuple = value.get<Tuple>()) return "(" + list(tuple->items) + ")";
  return "nothing";
}

std::string describe(const Graph& graph) {
  std::string text = graph.name + "\n";
  for (const std::string& extension : graph.extensions) text += "extension " + extension + "\n";
  for (const CustomDeclaration& custom : graph.custom) text += custom.text + "\n";
  for (const TensorRef ref : graph.inputs) text += "in " + graph[ref].name + "\n";
  for (const TensorRef ref : graph.outputs) text += "out " + graph[ref].name + "\n";
  for (const Operation& operation : graph.operations) {
    text += operation.name;
    for (const auto* arguments : {&operation.inputs, &operation.attributes, &operation.outputs}) {
      for (const Argument& argument : *arguments)
        text += " " + argument.name + "=" + describe(graph, argument.value);
    }
    text += "\n";
  }
  std::vector<std::string> tensors;
  for (const Tensor& tensor : graph.tensors) {
    std::string line = tensor.name + " " + std::string(to_string(tensor.dtype)) +
                       (tensor.shape ? to_string(*tensor.shape) : "?");
    if (tensor.quantization) {
      line += " " + tensor.quantization->name;
      for (const Argument& argument : tensor.quantization->attributes)
        line += " " + argument.name + "=" + describe(graph, argument.value);
    }
    tensors.push_back(line + "\n");
  }
  std::sort(tensors.begin(), tensors.end());
  for (const std::string& line : tensors) text += line;
  return text;
}

/// The section "--- file NAME" of a case; empty when there is none.
std::string section(const std::string& text, const std::string& name) {
  const std::string head = "--- file " + name + "\n";
  const size_t begin = text.find(head);
  if (begin == std::string::npos) return {};
  const size_t end = text.find("\n--- ", begin + head.size() - 1);
  return text.substr(begin + head.size(),
                     end == std::string::npos ? end : end + 1 - begin - head.size());
}

TEST(Writer, EveryGraphOfTheCasesReadsBackTheSame) {
  const std::filesystem::path tests = std::filesystem::path(NNEF_SOURCE_DIR) / "tests";
  size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests)) {
    if (entry.path().extension() != ".case") continue;
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    for (const bool expand : {false, true}) {
      Diagnostics diagnostics;
      const auto graph =
          load(section(text, "graph.nnef"), section(text, "graph.quant"), expand, diagnostics);
      if (!graph) continue;  // a case of a fault
      ++count;
      const std::string written = write_graph(*graph, /*annotate=*/true);
      const std::string quant = write_quantization(*graph);
      const auto back = load(written, quant, expand, diagnostics);
      ASSERT_TRUE(back) << entry.path() << "\n" << written << format(diagnostics);
      EXPECT_EQ(describe(*back), describe(*graph)) << entry.path();
      EXPECT_EQ(write_graph(*back, true), written) << entry.path();
      EXPECT_EQ(write_quantization(*back), quant) << entry.path();
    }
  }
  EXPECT_GT(count, 0u);
}

TEST(Writer, LeavesDefaultsOutAndKeepsTheRest) {
  const std::string text = R"(version 1.0;

graph G(x) -> (y, a, b)
{
    x = external<scalar>(shape = [1,4,8,8]);
    k = constant<integer>(shape = [2], value = [1,2]);
    w = variable<scalar>(shape = [4,4,3,3], label = 'a/w');
    y = conv(x, w, 0.5, padding = [(0,0),(1,1)], stride = [2,2]);
    [a, b] = split(x, axis = 1, ratios = [1,3]);
    (m, v) = moments(y, axes = [2,3]);
    c = concat([a, b], axis = 1);
    i = cast<integer>(m);
}
)";
  EXPECT_EQ(write_graph(loaded(text)), text);
  const std::string written_out =
      "version 1.0; graph G(x) -> (y) { x = external(shape = [1,4]); y = softmax(x, axes = [1]); }";
  EXPECT_NE(write_graph(loaded(written_out)).find("y = softmax(x);"), std::string::npos);
}

TEST(Writer, ScalarsAreShortestAndExact) {
  const std::string head =
      "version 1.0;\n\ngraph G(x) -> (y)\n{\n    x = external<scalar>(shape = [1]);\n    y = "
      "add(x, ";
  for (const char* scalar :
       {"1.0", "0.1", "-0.0", "-2.5", "1e-07", "1e+20", "0.30000000000000004", "16777217.0",
        "5e-324", "1.7976931348623157e+308", "123456789012345.0"}) {
    const std::string text = head + scalar + ");\n}\n";
    EXPECT_EQ(write_graph(loaded(text)), text);
  }
  EXPECT_EQ(write_graph(loaded(head + "100000e-5);\n}\n")), head + "1.0);\n}\n");
}

TEST(Writer, StringsAreEscaped) {
  Graph graph =
      loaded("version 1.0; graph G(x) -> (y) { x = external(shape = [1]); y = copy(x); }");
  Argument name;
  name.name = "name";
  name.value = std::string("it's \\ \"so\"");
  graph.operations.back().attributes.push_back(name);
  const std::string written = write_graph(graph);
  EXPECT_NE(written.find(R"(y = copy(x, name = 'it\'s \\ "so"');)"), std::string::npos) << written;
}

TEST(Writer, CommentsAreAligned) {
  const std::string text =
      "version 1.0; graph G(x) -> (y) { x = external(shape = [1,4]); [a, b] = split(x, axis = 1, "
      "ratios = [1,1]); y = gt(a, b); }";
  EXPECT_EQ(write_graph(loaded(text), true), R"(version 1.0;

graph G(x) -> (y)
{
    x = external<scalar>(shape = [1,4]);          # scalar [1,4]
    [a, b] = split(x, axis = 1, ratios = [1,1]);  # scalar [1,2], scalar [1,2]
    y = gt(a, b);                                 # logical [1,2]
}
)");
}

TEST(Writer, OverriddenInputShapesAreWritten) {
  LoadOptions options;
  options.input_shapes["x"] = {5, 4};
  Diagnostics diagnostics;
  const std::string text =
      "version 1.0; graph G(x) -> (y) { x = external(shape = [1,4]); y = relu(x); }";
  const auto graph =
      load_text(std::make_shared<Source>("graph.nnef", text), nullptr, options, diagnostics);
  ASSERT_TRUE(graph) << format(diagnostics);
  EXPECT_NE(write_graph(*graph).find("external<scalar>(shape = [5,4])"), std::string::npos);
}

TEST(Writer, QuantizationIsWritten) {
  const std::string text =
      "version 1.0; graph G(x) -> (y) { x = external(shape = [1,4]); y = relu(x); }";
  const std::string quant = "\"x\": linear_quantize(min = -1.0, max = 1.5, bits = 8);\n";
  EXPECT_EQ(write_quantization(loaded(text, quant)), quant);
  EXPECT_EQ(write_quantization(loaded(text)), "");
}

constexpr char kModel[] = R"(version 1.0;

graph G(x) -> (y)
{
    x = external<scalar>(shape = [1,2]);
    w = variable<scalar>(shape = [2,2], label = 'deep/w');
    n = variable<integer>(shape = [3], label = 'n');
    y = matmul(x, w);
}
)";

class Save : public TemporaryFolder {
 protected:
  void write_tensor(const std::string& name, ItemType type, Shape shape) {
    TensorData data;
    data.type = type;
    data.shape = std::move(shape);
    const std::string items(*byte_size(type, static_cast<uint64_t>(volume(data.shape).value())),
                            '\7');
    data.bytes = std::as_bytes(std::span(items));
    std::filesystem::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(write_tensor_file(path(name), data, diagnostics_));
  }

  std::optional<Graph> load(const std::string& name, const LoadOptions& options = {}) {
    diagnostics_ = {};
    return load_model(path(name), options, diagnostics_);
  }

  std::vector<std::string> faults(const std::string& name) {
    EXPECT_FALSE(load(name));
    std::vector<std::string> ids;
    for (const Diagnostic& diagnostic : diagnostics_.items()) ids.push_back(diagnostic.id);
    return ids;
  }

  void write_model() {
    write("m/graph.nnef", kModel);
    write_tensor("m/deep/w.dat", {ItemCode::float_, 0, 32}, {2, 2});
    write_tensor("m/n.dat", {ItemCode::uint_, 0, 4}, {3});
  }

  Diagnostics diagnostics_;
};

using Ids = std::vector<std::string>;

TEST_F(Save, EveryContainerReadsBackTheSame) {
  write_model();
  write("m/graph.quant", "\"x\": linear_quantize(min = 0.0, max = 1.0, bits = 8);\n");
  const char* chain[] = {"m", "a", "b.tar", "c.tgz", "d.tar", "e.tgz", "f"};
  for (size_t i = 1; i < std::size(chain); ++i) {
    const auto graph = load(chain[i - 1]);
    ASSERT_TRUE(graph) << format(diagnostics_);
    ASSERT_TRUE(save_model(*graph, path(chain[i]), diagnostics_)) << format(diagnostics_);
  }
  for (const char* name : {"graph.nnef", "graph.quant", "deep/w.dat", "n.dat"}) {
    EXPECT_EQ(read(std::string("f/") + name), read(std::string("m/") + name)) << name;
  }
  EXPECT_EQ(read("b.tar"), read("d.tar"));
  EXPECT_EQ(read("c.tgz"), read("e.tgz"));
}

TEST_F(Save, ReplacesAnEarlierModel) {
  write_model();
  write("old/graph.nnef", "old");
  write("old/graph.quant", "old");
  write("old/README", "kept");
  const auto graph = load("m");
  ASSERT_TRUE(graph) << format(diagnostics_);
  ASSERT_TRUE(save_model(*graph, path("old"), diagnostics_)) << format(diagnostics_);
  EXPECT_EQ(read("old/graph.nnef"), kModel);
  EXPECT_FALSE(std::filesystem::exists(path("old/graph.quant")));
  EXPECT_EQ(read("old/README"), "kept");
  // Into its own place: the data is still mapped.
  ASSERT_TRUE(save_model(*graph, path("m"), diagnostics_)) << format(diagnostics_);
  EXPECT_TRUE(load("m"));
}

TEST_F(Save, LeavesNothingAfterAFailure) {
  write_model();
  const auto before = files();
  auto graph = load("m");
  ASSERT_TRUE(graph);
  EXPECT_FALSE(save_model(*graph, path("m/n.dat/x"), diagnostics_));
  EXPECT_EQ(diagnostics_.items().at(0).id, "file/write");
  EXPECT_FALSE(save_model(*graph, path("no/such/x.tgz"), diagnostics_));
  // 'deep' is a file there: 'deep/w.dat' fails after others were written.
  write("busy/deep", "a file");
  EXPECT_FALSE(save_model(*graph, path("busy"), diagnostics_));
  std::filesystem::remove_all(path("busy/deep"));
  EXPECT_EQ(files(), before);

  LoadOptions options;
  options.read_data = false;
  graph = load("m", options);
  ASSERT_TRUE(graph);
  EXPECT_FALSE(save_model(*graph, path("new"), diagnostics_));
  EXPECT_EQ(diagnostics_.items().at(0).id, "variable/no-data");
  EXPECT_FALSE(std::filesystem::exists(path("new")));
}

TEST_F(Save, VariablesAreCheckedAgainstTheirFiles) {
  write_model();
  const auto graph = load("m");
  ASSERT_TRUE(graph) << format(diagnostics_);
  const Tensor& n = *std::ranges::find(graph->tensors, "n", &Tensor::name);
  ASSERT_NE(n.data, nullptr);
  EXPECT_EQ(to_doubles(*n.data), (std::vector<double>{0, 7, 0}));

  write_tensor("m/deep/w.dat", {ItemCode::int_, 0, 32}, {2, 2});
  write_tensor("m/n.dat", {ItemCode::uint_, 0, 4}, {3, 1});
  EXPECT_EQ(faults("m"), (Ids{"variable/item-type", "variable/shape"}));
  std::filesystem::remove_all(path("m/deep"));
  std::filesystem::remove(path("m/n.dat"));
  EXPECT_EQ(faults("m"), (Ids{"variable/missing", "variable/missing"}));
}

TEST_F(Save, TextsHaveALimit) {
  write("m/graph.nnef", kModel);
  std::filesystem::resize_file(path("m/graph.nnef"), (uint64_t{256} << 20) + 1);
  EXPECT_EQ(faults("m"), (Ids{"model/text-size"}));
}

TEST_F(Save, EqualLabelsShareTheirData) {
  const std::string text = R"(version 1.0;
graph G(x) -> (y) {
  x = external(shape = [1,2]);
  a = variable(shape = [1,2], label = 'w');
  b = variable(shape = [1,2], label = 'w');
  c = variable(shape = [1,2], label = 'W');
  d = add(x, a);
  e = add(b, c);
  y = add(d, e);
})";
  write("m/graph.nnef", text);
  write_tensor("m/w.dat", {}, {1, 2});
  const auto graph = load("m");
  ASSERT_TRUE(graph) << format(diagnostics_);
  ASSERT_EQ(diagnostics_.items().size(), 1u);
  EXPECT_EQ(diagnostics_.items()[0].id, "variable/label-case");
  const auto data = [&graph](const char* name) {
    return std::ranges::find(graph->tensors, name, &Tensor::name)->data;
  };
  EXPECT_NE(data("a"), nullptr);
  EXPECT_EQ(data("a"), data("b"));
  EXPECT_EQ(data("a"), data("c"));

  // Each has its own where the files are told apart.
  write_tensor("m/W.dat", {}, {1, 2});
  const auto other = load("m");
  ASSERT_TRUE(other) << format(diagnostics_);
  EXPECT_NE(std::ranges::find(other->tensors, "c", &Tensor::name)->data,
            std::ranges::find(other->tensors, "a", &Tensor::name)->data);
}

}  // namespace
}  // namespace nnef
