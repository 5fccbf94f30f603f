#include "compile/schedule/cpu/tile.h"

#include <gtest/gtest.h>

namespace nnef_tvm {
namespace {

constexpr CpuTraits kAvx2{.vector_bytes = 32, .vector_registers = 16, .cores = 2};
constexpr CpuTraits kAvx512{
    .vector_bytes = 64, .vector_registers = 32, .cores = 2, .l1_bytes = 48 << 10};
constexpr CpuTraits kNeon{.vector_bytes = 16, .vector_registers = 32, .cores = 2};

Step linear(int64_t stride) { return {Step::Kind::kLinear, stride}; }
Step none() { return {}; }

/// Channels last: axes h, w, o, kh, kw, c.
TileProblem convolution(int64_t size, int64_t channels, int64_t outputs) {
  const int64_t row = size * channels;
  TileProblem problem;
  problem.extents = {size, size, outputs, 3, 3, channels};
  problem.reduces = {false, false, false, true, true, true};
  problem.scalar.assign(6, false);
  TileOperand data, weight;
  data.steps = {linear(row), linear(channels), none(), linear(row), linear(channels), linear(1)};
  data.packable.assign(6, false);
  data.items = size * row;
  weight.steps = {
      none(),         none(), linear(1), linear(3 * channels * outputs), linear(channels * outputs),
      linear(outputs)};
  weight.packable = {false, false, true, false, false, false};
  weight.weight = true;
  problem.operands = {data, weight};
  problem.result_steps = {linear(size * outputs), linear(outputs), linear(1)};
  problem.result_steps.resize(6);
  return problem;
}

/// a [m, k] times b [k, n] or its transposed; axes m, n, k.
TileProblem product(int64_t m, int64_t n, int64_t k, bool transposed) {
  TileProblem problem;
  problem.extents = {m, n, k};
  problem.reduces = {false, false, true};
  problem.scalar.assign(3, false);
  TileOperand a{{linear(k), none(), linear(1)}, {true, false, false}, false, m * k};
  TileOperand b{{none(), linear(1), linear(n)}, {false, true, false}, false, n * k};
  if (transposed) b.steps = {none(), linear(k), linear(1)};
  problem.operands = {a, b};
  problem.result_steps = {linear(n), linear(1), none()};
  return problem;
}

void expect_fits(const Tile& tile, const CpuTraits& traits, int64_t lanes) {
  EXPECT_EQ(tile.vector_axis, 2u);
  EXPECT_EQ(tile.lanes, lanes);
  EXPECT_LE(tile.accumulators() + tile.vectors + 1, traits.vector_registers);
  EXPECT_GE(tile.accumulators(), 8);  // fewer cannot hide the latency of a multiply-add
}

TEST(Tile, FillsTheRegistersOfEachCpu) {
  for (int64_t size : {56, 28, 14}) {
    const TileProblem problem = convolution(size, 128, 128);
    const auto avx2 = choose_tile(problem, kAvx2);
    const auto avx512 = choose_tile(problem, kAvx512);
    const auto neon = choose_tile(problem, kNeon);
    ASSERT_TRUE(avx2 && avx512 && neon);
    expect_fits(*avx2, kAvx2, 8);
    expect_fits(*avx512, kAvx512, 16);
    expect_fits(*neon, kNeon, 4);
    EXPECT_GE(avx512->accumulators(), 24);
    EXPECT_GE(neon->accumulators(), 16);
    for (const Tile& tile : {*avx2, *avx512, *neon}) {
      for (const TilePart& part : tile.parts) {
        EXPECT_TRUE(part.clamped || problem.extents[part.axis] % part.extent == 0);
      }
    }
  }
}

TEST(Tile, PacksWeights) {
  const auto tile = choose_tile(convolution(28, 64, 256), kAvx2);
  ASSERT_TRUE(tile);
  ASSERT_EQ(tile->packings.size(), 1u);
  EXPECT_EQ(tile->packings[0].operand, 1u);
  EXPECT_EQ(tile->packings[0].width, tile->width());
  EXPECT_FALSE(tile->beyond);
}

TEST(Tile, PadsOddChannelsInPackedWeights) {
  const auto tile = choose_tile(convolution(28, 64, 21), kAvx512);
  ASSERT_TRUE(tile);
  EXPECT_TRUE(tile->beyond);
  EXPECT_GE(tile->width(), 21);
}

TEST(Tile, NeverReachesBeyondWhatCannotBePadded) {
  TileProblem problem = convolution(28, 64, 21);
  problem.operands[1].packable[2] = false;
  const auto tile = choose_tile(problem, kAvx512);
  ASSERT_TRUE(tile);
  EXPECT_FALSE(tile->beyond);
  EXPECT_EQ(problem.extents[tile->vector_axis] % tile->width(), 0);
}

TEST(Tile, ReadsLastRowsAgainInsteadOfCopyingFew) {
  TileProblem problem = product(197, 64, 197, false);
  const auto tile = choose_tile(problem, kAvx2);
  ASSERT_TRUE(tile);
  ASSERT_FALSE(tile->parts.empty());
  EXPECT_TRUE(tile->packings.empty());
  EXPECT_TRUE(tile->parts[0].clamped);
  EXPECT_GE(tile->accumulators(), 8);
}

TEST(Tile, PacksRowsThatTheTileDoesNotDivide) {
  const auto tile = choose_tile(product(197, 3072, 768, false), kAvx512);
  ASSERT_TRUE(tile);
  EXPECT_GE(tile->accumulators(), 16);
  for (const TilePart& part : tile->parts) {
    EXPECT_TRUE(part.beyond || 197 % part.extent == 0);
  }
}

TEST(Tile, CopiesATransposedOperandOnlyWhenItIsUsedOften) {
  const auto often = choose_tile(product(256, 256, 256, true), kAvx2);
  ASSERT_TRUE(often);
  EXPECT_FALSE(often->packings.empty());
  const auto once = choose_tile(product(1, 256, 256, true), kAvx2);
  ASSERT_TRUE(once);
  EXPECT_LE(once->cycles, 256 * 256 * 4.0);
}

TEST(Tile, TakesNoVectorsWhereConditionsDiffer) {
  TileProblem problem = convolution(28, 64, 64);
  problem.scalar[2] = true;
  const auto tile = choose_tile(problem, kAvx2);
  ASSERT_TRUE(tile);
  EXPECT_TRUE(tile->vector_axis != 2 || tile->lanes == 1);
}

TEST(Tile, HandlesSingleItems) {
  TileProblem problem = product(1, 1, 1, false);
  const auto tile = choose_tile(problem, kAvx512);
  ASSERT_TRUE(tile);
  EXPECT_EQ(tile->accumulators(), 1);
}

/// Channels last, 3 x 3 with padding inside: axes h, w, c, kh, kw.
TileProblem depthwise(int64_t size, int64_t channels) {
  const int64_t row = size * channels;
  TileProblem problem;
  problem.extents = {size, size, channels, 3, 3};
  problem.reduces = {false, false, false, true, true};
  problem.scalar = {true, true, false, true, true};
  TileOperand data, weight;
  data.steps = {linear(row), linear(channels), linear(1), linear(row), linear(channels)};
  data.packable.assign(5, false);
  data.items = size * row;
  weight.steps = {none(), none(), linear(1), linear(3 * channels), linear(channels)};
  weight.packable = {false, false, true, false, false};
  weight.weight = true;
  problem.operands = {data, weight};
  problem.result_steps = {linear(row), linear(channels), linear(1)};
  problem.result_steps.resize(5);
  return problem;
}

TEST(Tile, UnrollsWindowsWithPaddingWithinRegisters) {
  for (const CpuTraits& traits : {kAvx2, kAvx512, kNeon}) {
    const auto tile = choose_tile(depthwise(14, 384), traits);
    ASSERT_TRUE(tile);
    EXPECT_TRUE(tile->unrolled);
    EXPECT_EQ(tile->vector_axis, 2u);
    EXPECT_LE(3 * tile->accumulators(), traits.vector_registers);
    EXPECT_GE(tile->accumulators(), 4);
  }
}

}  // namespace
}  // namespace nnef_tvm
