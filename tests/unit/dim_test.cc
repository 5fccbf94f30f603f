// Extents with symbols. What they must be equal to is worked out by hand.
#include <gtest/gtest.h>

#include "nnef/model.h"
#include "nnef/reference.h"
#include "nnef/shape.h"

namespace nnef {
namespace {

Dim symbol(const char* name) { return Dim::symbol(name); }

TEST(SymbolicDim, SumsAndProductsHaveOneForm) {
  const Dim s = symbol("S");
  const Dim b = symbol("B");
  EXPECT_EQ(s + b + s, b + s * 2);
  EXPECT_EQ((s + 1) * (s - 1), s * s - 1);
  EXPECT_EQ(s - s, Dim(0));
  EXPECT_TRUE((s - s).known());
  EXPECT_FALSE(s == b);
  EXPECT_FALSE(s == Dim(1));
  EXPECT_EQ(volume({b, s, 64}), s * 64 * b);
}

TEST(SymbolicDim, QuotientsKeepWhatDoesNotDivide) {
  const Dim s = symbol("S");
  const Dim b = symbol("B");
  EXPECT_EQ(floor_div(s * 64, 64), s);
  EXPECT_EQ(floor_div(b * s * 64, b * 64), s);
  EXPECT_EQ(floor_div((s + b) * 3, s + b), Dim(3));
  EXPECT_EQ(floor_div(s * 3, 2), s + floor_div(s, 2));
  EXPECT_EQ(floor_div(s * 4 + 3, 2), s * 2 + 1);
  EXPECT_EQ(floor_div(floor_div(s, 2), 3), floor_div(s, 6));
  EXPECT_EQ(ceil_div(s, 2), floor_div(s + 1, 2));
  EXPECT_FALSE(floor_div(s, 0).valid());
  EXPECT_FALSE(floor_div(1, s - s).valid());
}

TEST(SymbolicDim, BoundsDecideExtremes) {
  const Dim s = Dim::symbol("S", 4, 16);
  EXPECT_EQ(max(s, 3), s);
  EXPECT_EQ(min(s, 20), s);
  EXPECT_EQ(max(s, 16), Dim(16));
  EXPECT_EQ((s * 2 - 1).least(), 7);
  EXPECT_EQ((s * 2 - 1).most(), 31);
  EXPECT_EQ(floor_div(s, 3).least(), 1);
  EXPECT_EQ(floor_div(s, 3).most(), 5);
  EXPECT_EQ(floor_div(s, 32), Dim(0));
  EXPECT_EQ(symbol("N").most(), Dim::kUnbounded);
  EXPECT_EQ((Dim(0) - symbol("N") * symbol("N")).most(), -1);
}

TEST(SymbolicDim, OverflowIsInvalid) {
  const Dim s = symbol("S");
  const Dim large = s * (int64_t{1} << 62);
  EXPECT_TRUE(large.valid());
  EXPECT_FALSE((large * 4).valid());
  EXPECT_FALSE((large + large + large).valid());
}

TEST(SymbolicDim, TextReadsBack) {
  const Dim s = symbol("S");
  const Dim b = symbol("B");
  for (const Dim& dim : {s, s * 2 + 1, Dim(4) - s, floor_div(s + 1, 2) * 64, b * floor_div(s, 2),
                         floor_div(s, b * 2), max(s, 4) + min(s, b), floor_div(s, b + 1), s * s - b,
                         floor_div(Dim(7) - s, 2)}) {
    EXPECT_EQ(parse_dim(to_string(dim)), dim) << to_string(dim);
  }
  EXPECT_EQ(to_string(Shape{1, s * 2 + 1, floor_div(s + 1, 2)}), "[1,2*S+1,(S+1)/2]");
  for (const char* text :
       {"", "S+", "(S", "S S", "1a", "max(S)", "S/0", "*S", "2147483648*4294967296*8"})
    EXPECT_FALSE(parse_dim(text).valid()) << text;
}

TEST(SymbolicDim, SubstitutionComputes) {
  const Dim s = symbol("S");
  const Dim b = symbol("B");
  EXPECT_EQ(substitute(floor_div(s + 1, 2) * b, {{"S", 7}}), b * 4);
  EXPECT_EQ(substitute(max(s, b) - min(s, b), {{"S", 7}, {"B", 3}}), Dim(4));
}

TEST(Reference, NeedsNumbers) {
  const auto text = std::make_shared<Source>(
      "graph.nnef",
      "version 1.0;\ngraph G(x) -> (y)\n{\n    x = external(shape = [1,2]);\n"
      "    y = abs(x);\n}\n");
  Diagnostics diagnostics;
  LoadOptions options;
  options.input_shapes["x"] = {symbol("B"), 2};
  const auto graph = load_text(text, nullptr, options, diagnostics);
  ASSERT_TRUE(graph);
  EXPECT_EQ(Reference::create(*graph, diagnostics), nullptr);
  ASSERT_EQ(diagnostics.error_count(), size_t{1});
  EXPECT_EQ(diagnostics.items().front().id, "reference/symbol");
}

}  // namespace
}  // namespace nnef
