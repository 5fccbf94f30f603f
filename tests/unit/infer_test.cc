// What shape inference leaves for lowerings in Operation::resolved, and faults that no text can
// have.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "nnef/model.h"
#include "stages.h"

namespace nnef {
namespace {

using Integers = std::vector<int64_t>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

/// A graph of the inputs `x` [1,2,5,4], `y` [1,4,3,2] and `v` [6], a filter, and one statement that
/// assigns `z` or `[z, w]`.
Graph load(const std::string& statement, const LoadOptions& options = {}) {
  const std::string text =
      "version 1.0;\ngraph G(x, y, v) -> (z)\n{\n"
      "x = external<scalar>(shape = [1,2,5,4]);\n"
      "y = external<scalar>(shape = [1,4,3,2]);\n"
      "v = external<scalar>(shape = [6]);\n"
      "f = variable<scalar>(shape = [4,2,3,3], label = 'f');\n"
      "g = variable<scalar>(shape = [4,1,2,3], label = 'g');\n" +
      statement + "\n}\n";
  Diagnostics diagnostics;
  auto graph = load_text(std::make_shared<Source>("test", text), nullptr, options, diagnostics);
  EXPECT_TRUE(graph.has_value()) << format(diagnostics);
  return graph ? std::move(*graph) : Graph{};
}

OpView last(const Graph& graph) { return {graph, graph.operations.back()}; }

TEST(Resolved, AutomaticPaddingPutsTheOddItemAfter) {
  const Graph graph = load("z = conv(x, f, stride = [2,2]);");
  // ceil(5/2) = 3, (3-1)*2+3-5 = 2; ceil(4/2) = 2, (2-1)*2+3-4 = 1
  EXPECT_EQ(last(graph).resolved_pairs("padding"), (Pairs{{1, 1}, {0, 1}}));
  EXPECT_EQ(last(graph).resolved_integers("stride"), (Integers{2, 2}));
  EXPECT_EQ(last(graph).resolved_integers("dilation"), (Integers{1, 1}));
  EXPECT_EQ(last(graph).resolved_integer("groups"), 1);
}

TEST(Resolved, AutomaticPaddingIsNeverNegative) {
  const Graph graph = load("z = max_pool(x, size = [1,1,2,1], stride = [1,1,3,3]);");
  // ceil(5/3) = 2, (2-1)*3+2-5 = 0; ceil(4/3) = 2, (2-1)*3+1-4 = 0
  EXPECT_EQ(last(graph).resolved_pairs("padding"), (Pairs{{0, 0}, {0, 0}, {0, 0}, {0, 0}}));
}

TEST(Resolved, ExplicitPaddingStays) {
  const Graph graph = load("z = box(x, size = [1,1,2,2], padding = [(0,0),(0,0),(-1,2),(1,0)]);");
  EXPECT_EQ(last(graph).resolved_pairs("padding"), (Pairs{{0, 0}, {0, 0}, {-1, 2}, {1, 0}}));
  EXPECT_EQ(last(graph).resolved_integers("stride"), (Integers{1, 1, 1, 1}));
}

TEST(Resolved, GroupsOfZeroAreTheChannels) {
  const Graph graph = load("z = conv(x, g, groups = 0);");
  EXPECT_EQ(last(graph).resolved_integer("groups"), 2);
  // fd 2 and 3: 1 and 2 items
  EXPECT_EQ(last(graph).resolved_pairs("padding"), (Pairs{{0, 1}, {1, 1}}));
}

TEST(Resolved, ReversePaddingIsThatOfTheOutputExtents) {
  const Graph graph = load("z = deconv(y, f, stride = [2,2], output_shape = [1,2,5,4]);");
  // (3-1)*2+3-5 = 2; (2-1)*2+3-4 = 1
  EXPECT_EQ(last(graph).resolved_pairs("padding"), (Pairs{{1, 1}, {0, 1}}));
  const Graph computed = load("z = debox(y, size = [1,1,3,2], stride = [1,1,2,3]);");
  // 3*2 = 6: (3-1)*2+3-6 = 1; 2*3 = 6: (2-1)*3+2-6 < 0
  EXPECT_EQ(last(computed).resolved_pairs("padding"), (Pairs{{0, 0}, {0, 0}, {0, 1}, {0, 0}}));
}

TEST(Resolved, DepthwiseDeconvolutionTakesItsGroupsFromTheOutput) {
  const Graph graph = load("z = deconv(y, g, groups = 0, output_shape = [1,2,3,2]);");
  EXPECT_EQ(last(graph).resolved_integer("groups"), 2);
  const Graph without = load("z = deconv(y, g, groups = 0);");
  EXPECT_EQ(last(without).resolved_integer("groups"), 4);
}

TEST(Resolved, NeighbourhoodsHavePadding) {
  const Graph graph = load("z = local_response_normalization(x, size = [1,2,1,3]);");
  EXPECT_EQ(last(graph).resolved_pairs("padding"), (Pairs{{0, 0}, {0, 1}, {0, 0}, {1, 1}}));
}

TEST(Resolved, ReshapeAndTransposeAreFull) {
  const Graph reshape = load("z = reshape(x, shape = [0,-1], axis_start = 1);");
  EXPECT_EQ(last(reshape).resolved_integers("shape"), (Integers{1, 2, 20}));
  const Graph transpose = load("z = transpose(x, axes = [1,0]);");
  EXPECT_EQ(last(transpose).resolved_integers("axes"), (Integers{1, 0, 2, 3}));
}

TEST(Resolved, SliceIsARange) {
  const Graph open = load("z = slice(x, axes = [3,2], begin = [-3,1], end = [0,-1]);");
  EXPECT_EQ(last(open).resolved_integers("begin"), (Integers{1, 1}));
  EXPECT_EQ(last(open).resolved_integers("end"), (Integers{4, 4}));
  EXPECT_EQ(last(open).resolved_integers("stride"), (Integers{1, 1}));
  const Graph reversed =
      load("z = slice(x, axes = [3,2], begin = [-1,4], end = [-5,0], stride = [-1,-3]);");
  EXPECT_EQ(last(reversed).resolved_integers("begin"), (Integers{3, 4}));
  EXPECT_EQ(last(reversed).resolved_integers("end"), (Integers{-1, 0}));
  EXPECT_EQ(last(reversed).resolved_integers("stride"), (Integers{-1, -3}));
}

TEST(Resolved, SplitAndPad) {
  const Graph split = load("[z, w] = split(v, axis = 0, ratios = [1,2]);");
  EXPECT_EQ(last(split).resolved_integers("sizes"), (Integers{2, 4}));
  const Graph pad = load("z = pad(v, padding = [(1,-2)]);");
  EXPECT_EQ(last(pad).resolved_pairs("padding"), (Pairs{{1, -2}}));
}

TEST(Infer, InputShapesReplaceThoseOfExternals) {
  LoadOptions options;
  options.input_shapes["v"] = {8};
  const Graph graph = load("z = relu(v);", options);
  EXPECT_EQ(to_string(*graph[last(graph).result("y")].shape), "[8]");
  EXPECT_EQ(OpView(graph, graph.operations[2]).integers("shape"), (Integers{8}));
}

/// Replaces an attribute of the last operation, as a host may, and infers again.
std::string ids_after(const std::string& statement, const std::string& attribute, Value value) {
  Graph graph = load(statement);
  auto& attributes = graph.operations.back().attributes;
  std::ranges::find(attributes, attribute, &Argument::name)->value = std::move(value);
  Diagnostics diagnostics;
  infer(graph, {}, diagnostics);
  std::string ids;
  for (const Diagnostic& item : diagnostics.items()) ids += item.id + ";";
  return ids;
}

TEST(Infer, RefusesNumbersOfResultsThatDoNotMatch) {
  EXPECT_EQ(ids_after("[z, w] = copy_n(v, times = 2);", "times", int64_t{3}), "copy_n/results;");
  EXPECT_EQ(ids_after("[z, w] = copy_n(v, times = 2);", "times", int64_t{0}),
            "copy_n/times-positive;");
  EXPECT_EQ(ids_after("[z, w] = split(v, axis = 0, ratios = [1,1]);", "ratios",
                      Array{{int64_t{1}, int64_t{1}, int64_t{1}}}),
            "split/results;");
}

TEST(Infer, RefusesConstantsOfAnotherType) {
  EXPECT_EQ(ids_after("z = constant<integer>(shape = [1], value = [1]);", "value", Array{{1.0}}),
            "constant/value-type;");
}

}  // namespace
}  // namespace nnef
