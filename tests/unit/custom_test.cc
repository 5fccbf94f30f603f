#include "custom.h"

#include <gtest/gtest.h>

#include "stages.h"

namespace nnef {
namespace {

bool same_shape(RuleContext& c) {
  c.set("y", c.shape("x"));
  return true;
}

std::string fault(const std::string& declaration, ShapeRule rule) {
  Diagnostics diagnostics;
  EXPECT_FALSE(register_operation({declaration, rule, nullptr}, diagnostics));
  return format(diagnostics);
}

TEST(Custom, DeclarationsAreChecked) {
  const std::string good = "fragment odd(x: tensor<scalar>) -> (y: tensor<scalar>);";
  EXPECT_NE(fault(good, nullptr).find("custom/declaration"), std::string::npos);
  EXPECT_NE(fault("fragment odd(x: tensor<scalar>) -> (y: tensor<scalar>) { y = x; }", same_shape)
                .find("custom/declaration"),
            std::string::npos);
  EXPECT_NE(fault(good + good, same_shape).find("custom/declaration"), std::string::npos);
  EXPECT_NE(fault("fragment relu(x: tensor<scalar>) -> (y: tensor<scalar>);", same_shape)
                .find("custom/name"),
            std::string::npos);
  EXPECT_NE(fault("odd(x)", same_shape).find("syntax/"), std::string::npos);
}

TEST(Custom, DocumentsOfBothDialectsFindThem) {
  Diagnostics diagnostics;
  ASSERT_TRUE(register_operation(
      {"fragment test_twin(x: tensor<scalar>) -> (y: tensor<scalar>);", same_shape, nullptr},
      diagnostics));
  for (const char* extension : {"", "extension tract_registry tract_core;\n"}) {
    const std::string text = std::string("version 1.0;\n") + extension +
                             "graph g(x) -> (y) { x = external(shape = [2,3]); y = test_twin(x); }";
    const auto graph =
        load_text(std::make_shared<Source>("graph.nnef", text), nullptr, {}, diagnostics);
    ASSERT_TRUE(graph) << format(diagnostics);
    EXPECT_EQ(to_string(*(*graph)[graph->outputs[0]].shape), "[2,3]");
  }
}

}  // namespace
}  // namespace nnef
