#include "nnef/shape.h"

#include <gtest/gtest.h>

#include <limits>

namespace nnef {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

TEST(Dim, IsInvalidByDefaultAndKeepsThat) {
  const Dim none;
  EXPECT_FALSE(none.valid());
  EXPECT_FALSE((none + 1).valid());
  EXPECT_FALSE((Dim(1) - none).valid());
  EXPECT_FALSE((none * 0).valid());
  EXPECT_FALSE(max(none, 1).valid());
  EXPECT_FALSE(min(1, none).valid());
  EXPECT_FALSE(floor_div(none, 1).valid());
  EXPECT_FALSE(ceil_div(1, none).valid());
}

TEST(Dim, InvalidEqualsNothing) {
  EXPECT_FALSE(Dim() == Dim());
  EXPECT_FALSE(Dim() == Dim(0));
  EXPECT_TRUE(Dim(3) == Dim(3));
}

TEST(Dim, OverflowIsInvalid) {
  EXPECT_FALSE((Dim(kMost) + 1).valid());
  EXPECT_FALSE((Dim(kLeast) - 1).valid());
  EXPECT_FALSE((Dim(int64_t{1} << 32) * (int64_t{1} << 31)).valid());
  EXPECT_EQ((Dim(int64_t{1} << 31) * (int64_t{1} << 31)).value(), int64_t{1} << 62);
  EXPECT_EQ((Dim(kMost) + kLeast).value(), -1);
}

TEST(Dim, DivisionRoundsTowardsMinusAndPlusInfinity) {
  EXPECT_EQ(floor_div(7, 2).value(), 3);
  EXPECT_EQ(floor_div(-7, 2).value(), -4);
  EXPECT_EQ(floor_div(-8, 2).value(), -4);
  EXPECT_EQ(ceil_div(7, 2).value(), 4);
  EXPECT_EQ(ceil_div(-7, 2).value(), -3);
  EXPECT_EQ(ceil_div(8, 2).value(), 4);
  EXPECT_EQ(floor_div(kLeast, 1).value(), kLeast);
}

TEST(Dim, DivisorsMustBePositive) {
  EXPECT_FALSE(floor_div(1, 0).valid());
  EXPECT_FALSE(ceil_div(1, 0).valid());
  EXPECT_FALSE(floor_div(kLeast, -1).valid());
  EXPECT_FALSE(ceil_div(kLeast, -1).valid());
}

TEST(Shape, VolumeIsTheProduct) {
  EXPECT_EQ(volume({}).value(), 1);
  EXPECT_EQ(volume({2, 3, 4}).value(), 24);
  EXPECT_FALSE(volume({4294967295, 4294967295, 4}).valid());
}

TEST(Shape, Prints) {
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{1, 3, 224, 224}), "[1,3,224,224]");
  EXPECT_EQ(to_string(Shape{1, Dim()}), "[1,?]");
  EXPECT_EQ(to_string(Dim(7)), "7");
}

TEST(Shape, IsValidWhenAllExtentsAre) {
  EXPECT_TRUE(valid({}));
  EXPECT_TRUE(valid({1, 2}));
  EXPECT_FALSE(valid({1, Dim()}));
}

}  // namespace
}  // namespace nnef
