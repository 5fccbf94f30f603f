#include "compile/schedule/cpu/nest.h"

#include <gtest/gtest.h>

namespace nnef_tvm {
namespace {

constexpr CpuTraits kOneCore{.cores = 1, .l1_bytes = 48 << 10, .l2_bytes = 1 << 20};
constexpr CpuTraits kTwoCores{.cores = 2, .l1_bytes = 48 << 10, .l2_bytes = 1 << 20};
constexpr CpuTraits kEightCores{.cores = 8, .l1_bytes = 32 << 10, .l2_bytes = 512 << 10};

/// A 1 x 1 convolution of float32, tiles of one row of the image, pieces of 32 results.
NestProblem pointwise(int64_t size, int64_t inputs, int64_t outputs) {
  NestProblem problem;
  problem.tiles = {1, size, 1};
  problem.pieces = outputs / 32;
  problem.tile_bytes = 4.0 * static_cast<double>(size * size * inputs);
  problem.piece_bytes = 4.0 * static_cast<double>(inputs * outputs);
  problem.weights = true;
  problem.result_bytes = 4.0 * static_cast<double>(size * size * outputs);
  problem.reduction = inputs;
  problem.tile_items = size * 32;
  return problem;
}

TEST(Nest, CoresShareImagesThatAreLargerThanTheWeights) {
  const Nest nest = choose_nest(pointwise(56, 256, 64), kTwoCores);
  ASSERT_TRUE(nest.chunks);
  EXPECT_EQ(nest.chunks->axis, 1u);
  EXPECT_EQ(56 % nest.chunks->count, 0);
  EXPECT_EQ(nest.chunks->count % 2, 0);
  EXPECT_LE(4.0 * 56 * 56 * 256 / static_cast<double>(nest.chunks->count), 1 << 20);
  EXPECT_EQ(nest.reduction_block, 0);
}

TEST(Nest, CoresShareWeightsThatAreLargerThanTheImage) {
  const Nest nest = choose_nest(pointwise(7, 2048, 512), kTwoCores);
  EXPECT_FALSE(nest.chunks);
  ASSERT_GT(nest.reduction_block, 0);
  EXPECT_EQ(2048 % nest.reduction_block, 0);
  EXPECT_LE(nest.reduction_block * 32 * 4, 24 << 10);  // the weights of a block, and of the next
}

TEST(Nest, ResultsOfABlockMayBeInTheSecondCache) {
  NestProblem problem = pointwise(14, 3072, 768);
  problem.tiles = {22};
  problem.tile_items = 9 * 48;
  problem.pieces = 16;
  const Nest nest = choose_nest(problem, kTwoCores);
  ASSERT_GT(nest.reduction_block, 0);
  EXPECT_EQ(3072 % nest.reduction_block, 0);
  EXPECT_LE(nest.reduction_block * 48 * 4, 24 << 10);
}

TEST(Nest, WeightsThatNoCacheKeepsAreReadByOneCore) {
  NestProblem problem = pointwise(18, 512, 256);
  EXPECT_FALSE(choose_nest(problem, kTwoCores).chunks);
  problem.weights = false;  // of a product of two matrices: what was computed just before
  EXPECT_TRUE(choose_nest(problem, kTwoCores).chunks);
}

TEST(Nest, LongPiecesAreFetchedAhead) {
  EXPECT_TRUE(choose_nest(pointwise(7, 2048, 512), kTwoCores).prefetches);
  EXPECT_FALSE(choose_nest(pointwise(1, 2048, 512), kTwoCores).prefetches);  // each is read once
  EXPECT_FALSE(choose_nest(pointwise(56, 256, 64), kTwoCores).prefetches);   // they stay
}

TEST(Nest, NoBlocksOfWeightsThatFitTheFirstCache) {
  EXPECT_EQ(choose_nest(pointwise(7, 160, 960), kTwoCores).reduction_block, 0);
}

TEST(Nest, EachCoreGetsAChunk) {
  for (int64_t size : {112, 56, 28, 16}) {
    const Nest nest = choose_nest(pointwise(size, 64, 32), kEightCores);
    ASSERT_TRUE(nest.chunks);
    EXPECT_GE(nest.chunks->count, 8);
  }
}

TEST(Nest, ImagesOfABatchAreChunks) {
  NestProblem problem = pointwise(28, 128, 128);
  problem.tiles[0] = 8;
  for (double* bytes : {&problem.tile_bytes, &problem.result_bytes}) *bytes *= 8;
  const Nest nest = choose_nest(problem, kTwoCores);
  ASSERT_TRUE(nest.chunks);
  EXPECT_EQ(nest.chunks->axis, 0u);
}

TEST(Nest, OneCoreReadsWeightsOnce) {
  EXPECT_FALSE(choose_nest(pointwise(14, 256, 256), kOneCore).chunks);
}

}  // namespace
}  // namespace nnef_tvm
