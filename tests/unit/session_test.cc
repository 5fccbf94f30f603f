#include "nnef_runtime/session.h"

#include <gtest/gtest.h>

#include <cstring>

#include "small_model.h"

namespace nnef_runtime {
namespace {

using small_model::f32;
using small_model::numbers;
using small_model::only_id;
using small_model::values;
using Tensors = std::vector<tvm::ffi::Tensor>;

class SessionTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    nnef::Diagnostics problems;
    compiled = small_model::compiled(small_model::conv_model(), problems);
    ASSERT_TRUE(compiled) << nnef::format(problems);
  }
  static void TearDownTestSuite() { compiled.reset(); }

  std::unique_ptr<Session> start(int threads = 0) {
    return Session::create(compiled->executable, compiled->parameters, compiled->inputs,
                           compiled->outputs, {threads}, diagnostics);
  }

  /// The id that running with these inputs reports.
  std::string refused(const Tensors& inputs) {
    auto session = start();
    EXPECT_TRUE(session->run(inputs, diagnostics).empty());
    return only_id(diagnostics);
  }

  static inline std::optional<nnef_tvm::Compiled> compiled;
  nnef::Diagnostics diagnostics;
};

TEST_F(SessionTest, RefusesWrongShapes) {
  EXPECT_EQ(refused({numbers({1, 3, 8, 9}, 1)}), "run/input-shape");
  EXPECT_EQ(diagnostics.items()[0].message,
            "input 'x' is float32[1,3,8,9], expected float32[1,3,8,8]");
}

TEST_F(SessionTest, RefusesWrongRanks) {
  EXPECT_EQ(refused({numbers({3, 8, 8}, 1)}), "run/input-shape");
}

TEST_F(SessionTest, RefusesWrongTypes) {
  EXPECT_EQ(refused({allocate({kDLInt, 32, 1}, {1, 3, 8, 8})}), "run/input-dtype");
  EXPECT_EQ(diagnostics.items()[0].message,
            "input 'x' is int32[1,3,8,8], expected float32[1,3,8,8]");
}

TEST_F(SessionTest, RefusesWrongCounts) {
  EXPECT_EQ(refused({}), "run/input-count");
  diagnostics = {};
  EXPECT_EQ(refused({numbers({1, 3, 8, 8}, 1), numbers({1}, 1)}), "run/input-count");
}

TEST_F(SessionTest, RefusesMissingTensors) {
  EXPECT_EQ(refused({tvm::ffi::Tensor()}), "run/input-missing");
}

TEST_F(SessionTest, RefusesStridedTensors) {
  int64_t shape[] = {1, 3, 8, 8}, strides[] = {192, 1, 24, 3};
  auto strided = numbers({1, 3, 8, 8}, 1)
                     .as_strided(tvm::ffi::ShapeView(shape, 4), tvm::ffi::ShapeView(strides, 4));
  EXPECT_EQ(refused({strided}), "run/input-layout");
}

TEST_F(SessionTest, RunsAgainAfterARefusal) {
  auto session = start();
  session->run({}, diagnostics);
  diagnostics = {};
  auto x = numbers({1, 3, 8, 8}, 1);
  auto results = session->run({x}, diagnostics);
  ASSERT_EQ(results.size(), 1u);
  small_model::expect_near(values(results[0]), small_model::expected(small_model::conv_model(), x));
}

TEST_F(SessionTest, TakesTensorsThatAreNotAligned) {
  auto x = numbers({1, 3, 8, 8}, 1);
  auto large = allocate(f32, {3 * 8 * 8 + 1});
  std::memcpy(static_cast<float*>(large.data_ptr()) + 1, x.data_ptr(), 3 * 8 * 8 * sizeof(float));
  int64_t shape[] = {1, 3, 8, 8}, strides[] = {192, 64, 8, 1};
  auto shifted =
      large.as_strided(tvm::ffi::ShapeView(shape, 4), tvm::ffi::ShapeView(strides, 4), 1);
  auto session = start();
  auto a = session->run({x}, diagnostics), b = session->run({shifted}, diagnostics);
  ASSERT_EQ(b.size(), 1u) << nnef::format(diagnostics);
  EXPECT_EQ(values(a[0]), values(b[0]));
}

TEST_F(SessionTest, ResultsOutliveLaterRuns) {
  auto session = start();
  auto x = numbers({1, 3, 8, 8}, 1);
  auto first = session->run({x}, diagnostics);
  const auto before = values(first[0]);
  session->run({numbers({1, 3, 8, 8}, 9)}, diagnostics);
  session.reset();
  EXPECT_EQ(values(first[0]), before);
}

TEST_F(SessionTest, TheNumberOfThreadsDoesNotMatter) {
  auto x = numbers({1, 3, 8, 8}, 1);
  const auto want = small_model::expected(small_model::conv_model(), x);
  for (int threads : {1, 2, 5, 0}) {
    auto results = start(threads)->run({x}, diagnostics);
    ASSERT_EQ(results.size(), 1u) << nnef::format(diagnostics);
    small_model::expect_near(values(results[0]), want);
  }
}

TEST_F(SessionTest, PinnedThreadsComputeTheSame) {
  auto x = numbers({1, 3, 8, 8}, 1);
  auto session = Session::create(compiled->executable, compiled->parameters, compiled->inputs,
                                 compiled->outputs, {.threads = 2, .pin = true}, diagnostics);
  const auto results = session->run({x}, diagnostics);
  ASSERT_EQ(results.size(), 1u) << nnef::format(diagnostics);
  small_model::expect_near(values(results[0]), small_model::expected(small_model::conv_model(), x));
}

TEST_F(SessionTest, EachKernelIsTimed) {
  auto session = Session::create(compiled->executable, compiled->parameters, compiled->inputs,
                                 compiled->outputs, {1}, diagnostics, {}, compiled->program);
  auto x = numbers({1, 3, 8, 8}, 1);
  std::vector<double> times;
  const auto results = session->run_timed({x}, times, diagnostics);
  ASSERT_EQ(results.size(), 1u) << nnef::format(diagnostics);
  small_model::expect_near(values(results[0]), small_model::expected(small_model::conv_model(), x));
  ASSERT_EQ(times.size(), session->program().kernels.size());
  for (double time : times) EXPECT_GT(time, 0);
  // The convolution, the sum and relu came together.
  double flops = 0;
  for (const KernelSpec& kernel : session->program().kernels) flops += kernel.flops;
  EXPECT_EQ(flops, 4 * 64 * (2 * 27 + 2));
}

TEST_F(SessionTest, TimingNeedsToKnowTheKernels) {
  std::vector<double> times;
  EXPECT_TRUE(start()->run_timed({numbers({1, 3, 8, 8}, 1)}, times, diagnostics).empty());
  EXPECT_EQ(only_id(diagnostics), "run/no-program");
}

TEST_F(SessionTest, StartingWithoutMainIsReported) {
  nnef::Diagnostics problems;
  EXPECT_EQ(Session::create(compiled->executable->imports()[0].cast<tvm::ffi::Module>(), {}, {}, {},
                            {}, problems),
            nullptr);
  EXPECT_EQ(only_id(problems), "run/start");
}

TEST(Tensors, AreAligned) {
  for (std::vector<int64_t> shape : {std::vector<int64_t>{}, {0}, {1}, {3, 5}, {1000, 7}}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(allocate(f32, shape).data_ptr()) % 64, 0u);
  }
}

TEST(Tensors, ViewsShareMemoryAndKeepItsOwner) {
  alignas(64) static float memory[4] = {1, 2, 3, 4};
  bool released = false;
  {
    std::shared_ptr<const void> owner(memory, [&](const void*) { released = true; });
    auto tensor = view(memory, f32, {4}, std::move(owner));
    EXPECT_EQ(tensor.data_ptr(), memory);
    EXPECT_FALSE(released);
  }
  EXPECT_TRUE(released);
}

TEST(Tensors, ViewsOfUnalignedMemoryAreCopies) {
  alignas(64) static float memory[4] = {1, 2, 3, 4};
  auto tensor = view(memory + 1, f32, {3}, nullptr);
  EXPECT_NE(tensor.data_ptr(), memory + 1);
  EXPECT_EQ(values(tensor), (std::vector<float>{2, 3, 4}));
}

}  // namespace
}  // namespace nnef_runtime
