// The tables of shape rules and of the evaluator against the declarations of the standard.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ops/rule.h"
#include "reference/evaluation.h"
#include "stages.h"

namespace nnef {
namespace {

TEST(ShapeRules, EveryStandardOperationHasOne) {
  for (const std::string& name : Declarations::standard().names()) {
    EXPECT_NE(find_shape_rule(name), nullptr) << name;
  }
}

TEST(ShapeRules, EachIsOfABuiltInOperationAndStandsOnce) {
  std::set<std::string_view> seen;
  for (const auto table :
       {elementwise_rules(), reduce_rules(), window_rules(), resample_rules(), movement_rules(),
        linear_rules(), tract_rules(), tract_movement_rules()}) {
    for (const ShapeRuleRow& row : table) {
      EXPECT_NE(Declarations::find_built_in(row.name), nullptr) << row.name;
      EXPECT_TRUE(seen.insert(row.name).second) << row.name << " stands twice";
    }
  }
}

TEST(Evaluators, EveryPrimitiveHasOne) {
  for (const std::string& name : Declarations::standard().names()) {
    if (Declarations::standard().find(name)->has_body) continue;
    EXPECT_NE(reference::find_evaluator(name), nullptr) << name;
  }
}

TEST(Evaluators, EachIsOfABuiltInOperationAndStandsOnce) {
  using namespace reference;
  std::set<std::string_view> seen;
  for (const auto table : {elementwise_evaluators(), reduce_evaluators(), window_evaluators(),
                           resample_evaluators(), movement_evaluators(), linear_evaluators(),
                           tract_evaluators(), tract_movement_evaluators()}) {
    for (const EvaluatorRow& row : table) {
      EXPECT_NE(Declarations::find_built_in(row.name), nullptr) << row.name;
      EXPECT_TRUE(seen.insert(row.name).second) << row.name << " stands twice";
    }
  }
}

/// What the expansion does itself.
bool is_special(std::string_view name) {
  return name == "tract_core_external" || name == "tract_core_scan";
}

/// Stands only in graphs with symbols, which the evaluator refuses: with numbers a scan is
/// unrolled.
constexpr std::string_view kLoop = "tract_core_loop";

TEST(Tract, EveryPrimitiveHasARuleAndAnEvaluator) {
  for (const std::string& name : Declarations::tract().names()) {
    if (Declarations::tract().find(name)->has_body || is_special(name)) continue;
    EXPECT_NE(find_shape_rule(name), nullptr) << name;
    if (name == kLoop) continue;
    EXPECT_NE(reference::find_evaluator(name), nullptr) << name;
  }
}

TEST(Tract, ReplacesSomeOperationsOfTheStandard) {
  EXPECT_TRUE(Declarations::tract().find("round")->has_body);
  EXPECT_FALSE(Declarations::tract().is_standard("round"));
  EXPECT_TRUE(Declarations::tract().is_standard("conv"));
  EXPECT_FALSE(Declarations::standard().find("round")->has_body);
  EXPECT_EQ(Declarations::standard().find("tract_core_erf"), nullptr);
}

TEST(ShapeRules, UnknownNamesHaveNone) { EXPECT_EQ(find_shape_rule("no_such_operation"), nullptr); }

}  // namespace
}  // namespace nnef
