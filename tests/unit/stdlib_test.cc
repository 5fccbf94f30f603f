#include <gtest/gtest.h>

#include <algorithm>

#include "ast.h"
#include "stages.h"

namespace nnef {

extern const char stdlib_text[];
extern const char tract_text[];

namespace {

TEST(Stdlib, ParsesWithoutComplaint) {
  Diagnostics diagnostics;
  parse_library(std::make_shared<Source>("stdlib.nnef", stdlib_text), diagnostics);
  EXPECT_EQ(format(diagnostics), "");
}

TEST(Stdlib, PassesTheChecks) {
  Diagnostics diagnostics;
  const auto document =
      parse_library(std::make_shared<Source>("stdlib.nnef", stdlib_text), diagnostics);
  check(document, Declarations::standard(), diagnostics);
  EXPECT_EQ(format(diagnostics), "");
}

TEST(Stdlib, TractParsesWithoutComplaint) {
  Diagnostics diagnostics;
  const auto document = parse_library(std::make_shared<Source>("tract.nnef", tract_text),
                                      diagnostics, Dialect::tract);
  check(document, Declarations::tract(), diagnostics);
  EXPECT_EQ(format(diagnostics), "");
}

// The specification 1.0.5 declares 118 operations: 73 without and 45 with a body. 'softabs' is
// Khronos' addition.
TEST(Stdlib, HasAllOperations) {
  const Declarations& standard = Declarations::standard();
  const auto names = standard.names();
  const auto has_body = [&](const std::string& name) { return standard.find(name)->has_body; };
  EXPECT_EQ(names.size(), 119u);
  EXPECT_EQ(std::count_if(names.begin(), names.end(), has_body), 46);
  EXPECT_NE(standard.find("softabs"), nullptr);
  EXPECT_TRUE(standard.is_standard("conv"));
  EXPECT_FALSE(standard.is_standard("convolution"));
  EXPECT_EQ(standard.find("convolution"), nullptr);
}

// NNEF 1.0.5, section 3.3.2, "Declarations".
TEST(Stdlib, DeclarationsAreValid) {
  const Declarations& standard = Declarations::standard();
  const auto holds_tensor = [](ast::Type type) {
    while (type.kind == ast::Type::Kind::array) type = ast::Type(type.items[0]);
    return type.kind == ast::Type::Kind::tensor;
  };
  for (const auto& name : standard.names()) {
    const ast::Fragment& fragment = *standard.find(name);
    bool attribute = false;
    for (const auto& parameter : fragment.parameters) {
      EXPECT_FALSE(attribute && holds_tensor(parameter.type)) << name << ": " << parameter.name;
      attribute = attribute || !holds_tensor(parameter.type);
    }
    for (const auto& result : fragment.results)
      EXPECT_TRUE(holds_tensor(result.type)) << name << ": " << result.name;
  }
}

}  // namespace
}  // namespace nnef
