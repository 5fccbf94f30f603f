// The generator of random cases: nothing of the standard is left out, and cases come back from what
// is recorded.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "graph_case.h"
#include "nnef/operations.h"
#include "recipes.h"

namespace generator {
namespace {

TEST(Generator, EveryStandardOperationHasARecipe) {
  for (const nnef::OperationInfo& operation : nnef::standard_operations()) {
    EXPECT_NE(find_recipe(operation.name), nullptr) << operation.name;
  }
}

TEST(Generator, RecipesAreOfStandardOperationsAndStandOnce) {
  std::set<std::string_view> standard, seen;
  const auto operations = nnef::standard_operations();
  for (const nnef::OperationInfo& operation : operations) standard.insert(operation.name);
  for (const Recipe& recipe : recipes()) {
    EXPECT_TRUE(standard.contains(recipe.operation)) << recipe.operation;
    EXPECT_TRUE(seen.insert(recipe.operation).second) << recipe.operation << " stands twice";
  }
}

TEST(Generator, AtLeastHalfOfTheDrawnInvocationsAreValid) {
  for (const Recipe& recipe : recipes()) {
    Attempts attempts;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      Choices choices(seed);
      const auto all = draw_case(choices, recipe.operation).attempts;
      const auto& drawn = all.at(std::string(recipe.operation));
      attempts.valid += drawn.valid;
      attempts.invalid += drawn.invalid;
    }
    EXPECT_GE(attempts.valid, attempts.invalid) << recipe.operation;
  }
}

TEST(Generator, RecordedChoicesMakeTheSameCase) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Choices drawn(seed);
    const GraphCase first = draw_case(drawn, "add");
    Choices recorded(drawn.recorded());
    const GraphCase second = draw_case(recorded, "add");
    EXPECT_EQ(first.text, second.text);
    EXPECT_EQ(drawn.recorded(), recorded.recorded());
  }
}

TEST(Generator, WithoutChoicesTheCaseIsTheSimplest) {
  Choices none(std::vector<uint32_t>{});
  const GraphCase simplest = draw_case(none, "exp");
  EXPECT_EQ(simplest.statements.size(), 1u);
  EXPECT_NE(simplest.text.find("x0 = external<scalar>(shape = [1]);\n    r1 = exp(x0);"),
            std::string::npos)
      << simplest.text;
}

TEST(Choices, IntegersGoThroughTheWholeRangeFromTheSimplest) {
  std::set<int64_t> seen;
  for (uint32_t choice = 0; choice < 6; ++choice) {
    Choices choices(std::vector<uint32_t>{choice});
    seen.insert(choices.integer(-2, 3));
  }
  EXPECT_EQ(seen, (std::set<int64_t>{-2, -1, 0, 1, 2, 3}));
  EXPECT_EQ(Choices(std::vector<uint32_t>{}).integer(-2, 3), 0);
  EXPECT_EQ(Choices(std::vector<uint32_t>{}).integer(1, 3), 1);
  EXPECT_EQ(Choices(std::vector<uint32_t>{}).integer(-3, -2), -2);
}

}  // namespace
}  // namespace generator
