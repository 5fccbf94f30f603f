#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compile/cpu_target.h"
#include "compile/kernels/winograd.h"
#include "compile/passes/layout.h"
#include "compile/pipeline.h"
#include "compile/schedule/cpu/winograd_plan.h"
#include "runtime/vm.h"
#include "small_model.h"
#include "tvm/ir_module.h"
#include "tvm/target.h"

namespace nnef_tvm {
namespace {

constexpr CpuTraits kAvx2{.vector_bytes = 32, .vector_registers = 16, .cores = 2};
constexpr CpuTraits kAvx512{.vector_bytes = 64,
                            .vector_registers = 32,
                            .cores = 2,
                            .l1_bytes = 48 << 10,
                            .l2_bytes = 1 << 20};
constexpr CpuTraits kNeon{.vector_bytes = 16, .vector_registers = 32, .cores = 2};

WinogradProblem square(int64_t size, int64_t channels, int64_t outputs) {
  return {1, size, size, channels, outputs};
}

/// 2 or 4; 0 for direct convolution.
int64_t chosen_tile(const WinogradProblem& problem, const CpuTraits& traits) {
  const auto plan = choose_winograd(problem, traits, WinogradUse::kWherePays);
  return plan ? plan->tile : 0;
}

TEST(WinogradPlan, IsChosenWhereItPays) {
  for (const CpuTraits& traits : {kAvx2, kAvx512, kNeon}) {
    EXPECT_EQ(chosen_tile(square(56, 64, 64), traits), 4);
    EXPECT_EQ(chosen_tile(square(28, 128, 128), traits), 4);
    EXPECT_EQ(chosen_tile(square(112, 32, 64), traits), 4);
    EXPECT_GT(chosen_tile(square(14, 256, 256), traits), 0);
    // Too few channels, or too few tiles to make up for larger weights.
    EXPECT_EQ(chosen_tile(square(224, 3, 64), traits), 0);
    EXPECT_EQ(chosen_tile(square(3, 512, 512), traits), 0);
    EXPECT_EQ(chosen_tile(square(1, 64, 64), traits), 0);
  }
  // The wider the vectors, the more the weights' way from memory costs.
  EXPECT_EQ(chosen_tile(square(14, 256, 256), kAvx2), 4);
  EXPECT_EQ(chosen_tile(square(14, 256, 256), kAvx512), 2);
  EXPECT_EQ(chosen_tile(square(7, 512, 512), kAvx512), 0);
}

TEST(WinogradPlan, FitsTheMachine) {
  for (const CpuTraits& traits : {kAvx2, kAvx512, kNeon}) {
    for (int64_t size : {7, 13, 14, 27, 35, 56, 112}) {
      for (int64_t tile : {2, 4}) {
        const WinogradPlan plan = plan_winograd(square(size, 64, 96), tile, traits);
        EXPECT_LE(plan.rows * plan.vectors + plan.vectors + 1, traits.vector_registers);
        EXPECT_EQ(plan.lanes * 4, traits.vector_bytes);
        EXPECT_EQ(plan.block_tiles % plan.rows, 0);
        EXPECT_GE(plan.block_tiles, plan.used_tiles());
        EXPECT_GE(plan.blocks * plan.used_tiles() * tile * tile, size * size);
      }
    }
  }
}

TEST(WinogradPlan, CutsIntoBlocksWhatDoesNotFitIntoTheCaches) {
  for (const CpuTraits& traits : {kAvx2, kAvx512}) {
    EXPECT_GT(plan_winograd(square(112, 32, 64), 4, traits).blocks, traits.cores);
    // Each block would read all of the weights.
    EXPECT_EQ(plan_winograd(square(28, 512, 512), 4, traits).blocks, 1);
  }
}

/// y = relu(conv(x, w) + bias + r), 3 x 3 with stride 1; r, of y's shape, is a second input.
struct Case {
  std::string name;
  relax::Ints input;  ///< NCHW
  int64_t outputs;
  int64_t padding = 1;

  int64_t height() const { return input[2] + 2 * padding - 2; }
  int64_t width() const { return input[3] + 2 * padding - 2; }
  relax::Ints result() const { return {input[0], outputs, height(), width()}; }
  relax::Ints weight() const { return {outputs, input[1], 3, 3}; }
};

void PrintTo(const Case& item, std::ostream* out) { *out << item.name; }

IRModule module_of(const Case& item) {
  const Var x = small_model::variable("x", item.input);
  const Var r = small_model::variable("r", item.result());
  const Var w = small_model::variable("w", item.weight());
  const Var bias = small_model::variable("bias", {1, item.outputs, 1, 1});
  BlockBuilder builder({x, r, w, bias});
  const relax::Ints one{1, 1};
  const Var y = builder.emit(relax::conv(x, w, one, relax::Ints(4, item.padding), one, 1));
  const Var sum = builder.emit(relax::add(y, bias));
  const Var with_residual = builder.emit(relax::add(sum, r));
  const Var result = builder.emit_output(relax::relu(with_residual));
  return builder.finish("main", result, {{"num_input", int64_t{2}}});
}

/// The formula, in double precision.
std::vector<double> expected(const Case& item, const ffi::Tensor& x, const ffi::Tensor& r,
                             const ffi::Tensor& w, const ffi::Tensor& bias) {
  const auto data = small_model::values(x), residual = small_model::values(r),
             weight = small_model::values(w), offset = small_model::values(bias);
  const int64_t channels = item.input[1], rows = item.input[2], columns = item.input[3];
  std::vector<double> out;
  for (int64_t n = 0; n < item.input[0]; ++n) {
    for (int64_t o = 0; o < item.outputs; ++o) {
      for (int64_t place = 0; place < item.height() * item.width(); ++place) {
        double sum = offset[static_cast<size_t>(o)] + residual[out.size()];
        for (int64_t tap = 0; tap < channels * 9; ++tap) {
          const int64_t y = place / item.width() + tap % 9 / 3 - item.padding;
          const int64_t z = place % item.width() + tap % 3 - item.padding;
          if (y < 0 || y >= rows || z < 0 || z >= columns) continue;
          const int64_t source = ((n * channels + tap / 9) * rows + y) * columns + z;
          sum += double{data[static_cast<size_t>(source)]} *
                 weight[static_cast<size_t>(o * channels * 9 + tap)];
        }
        out.push_back(std::max(sum, 0.0));
      }
    }
  }
  return out;
}

class Winograd : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { ASSERT_TRUE(load_compiler(diagnostics_)) << nnef::format(diagnostics_); }
  nnef::Diagnostics diagnostics_;
};

TEST_P(Winograd, ComputesConvolutions) {
  const Case& item = GetParam();
  const auto x = small_model::numbers(item.input, 0), r = small_model::numbers(item.result(), 1),
             w = small_model::numbers(item.weight(), 2),
             bias = small_model::numbers({1, item.outputs, 1, 1}, 3);
  const auto want = expected(item, x, r, w, bias);
  for (const WinogradUse use : {WinogradUse::kSmallTiles, WinogradUse::kLargeTiles}) {
    const auto compiled =
        compile(module_of(item), {w, bias},
                {{"x", small_model::f32, item.input}, {"r", small_model::f32, item.result()}},
                {{"y", small_model::f32, item.result()}}, {.winograd = use}, diagnostics_);
    ASSERT_TRUE(compiled) << nnef::format(diagnostics_);
    const ffi::Module machine =
        nnef_runtime::start_vm(compiled->executable, nnef_runtime::VmAllocator::naive);
    std::vector<ffi::AnyView> args{x, r};
    for (const ffi::Tensor& parameter : compiled->parameters) args.emplace_back(parameter);
    ffi::Any result;
    nnef_runtime::module_function(machine, "main")
        .CallPacked(args.data(), static_cast<int32_t>(args.size()), &result);
    const auto got = small_model::values(result.cast<ffi::Tensor>());
    ASSERT_EQ(got.size(), want.size());
    // Factors are spread evenly over [-1, 1], so that this is the sums' standard deviation.
    const double deviation = std::sqrt(9.0 * static_cast<double>(item.input[1])) / 3;
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-4 * std::max(deviation, 1.0) + 1e-4 * want[i])
          << "item " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, Winograd,
                         ::testing::Values(Case{"even", {1, 16, 8, 8}, 32},
                                           Case{"odd_extents", {1, 16, 13, 11}, 16},
                                           Case{"odd_channels", {1, 5, 9, 9}, 7},
                                           Case{"no_padding", {1, 8, 10, 10}, 8, 0},
                                           Case{"wide_padding", {1, 8, 6, 6}, 8, 2},
                                           Case{"one_item", {1, 4, 1, 1}, 4},
                                           Case{"batch", {3, 16, 7, 7}, 24},
                                           Case{"batch_of_blocks", {2, 16, 56, 56}, 16},
                                           Case{"blocks", {1, 32, 54, 57}, 64},
                                           Case{"many_channels", {1, 512, 7, 7}, 32}),
                         [](const auto& info) { return info.param.name; });

TEST_F(Winograd, TakesTheEpilogueIntoTheResultsNest) {
  TargetScope scope(host_target());
  const CpuTraits traits = cpu_traits(host_target());
  const auto scheduled = [&](const Case& item) {
    IRModule module = tidy(convert_layout(tidy(module_of(item)), host_target()));
    module = use_winograd(module, "main", winograd_choice(traits, WinogradUse::kLargeTiles));
    module = lower_operators(module, "main", traits, diagnostics_);
    for (const NamedFunction& item : functions_of(schedule_cpu(module, host_target()))) {
      if (item.name.find("winograd_conv2d") != std::string::npos) return script(item.function);
    }
    return std::string();
  };
  const auto count = [](const std::string& text, const std::string& part) {
    int found = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++found;
    return found;
  };
  // Input, product and results each have a nest; blocks have one for all of them.
  EXPECT_EQ(count(scheduled({"", {1, 128, 28, 28}, 128}), "T.parallel("), 3);
  const std::string blocks = scheduled({"", {1, 32, 112, 112}, 64});
  EXPECT_EQ(count(blocks, "T.parallel("), 1);
  EXPECT_EQ(count(blocks, "conv2d"), 0) << blocks;
  EXPECT_GT(count(blocks, "T.max("), 0);
}

TEST_F(Winograd, LeavesConvolutionsThatItCannotDo) {
  TargetScope scope(host_target());
  const relax::Ints one{1, 1}, around{1, 1, 1, 1};
  const auto kernels = [&](relax::Ints weight, relax::Ints strides, relax::Ints dilation,
                           int64_t groups, int64_t inputs) {
    const Var x = small_model::variable("x", {1, 16, 20, 20});
    const Var w = small_model::variable("w", weight);
    BlockBuilder builder({x, w});
    const Var y = builder.emit_output(relax::conv(x, w, strides, around, dilation, groups));
    IRModule module = builder.finish("main", y, {{"num_input", inputs}});
    module = tidy(convert_layout(tidy(module), host_target()));
    module = use_winograd(module, "main",
                          winograd_choice(cpu_traits(host_target()), WinogradUse::kLargeTiles));
    const auto calls = called_operators(find_function(module, "main"));
    return std::count(calls.begin(), calls.end(), "relax.call_tir");
  };
  EXPECT_EQ(kernels({16, 16, 3, 3}, one, one, 1, 1), 2);
  EXPECT_EQ(kernels({16, 16, 3, 3}, {2, 2}, one, 1, 1), 0);
  EXPECT_EQ(kernels({16, 16, 3, 3}, one, {2, 2}, 1, 1), 0);
  EXPECT_EQ(kernels({16, 8, 3, 3}, one, one, 2, 1), 0);
  EXPECT_EQ(kernels({16, 16, 5, 5}, one, one, 1, 1), 0);
  EXPECT_EQ(kernels({16, 16, 3, 3}, one, one, 1, 2), 0);  // the weight is an input
}

}  // namespace
}  // namespace nnef_tvm
