#include "compile/schedule/cpu/schedule.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "compile/cpu_target.h"
#include "compile/passes/layout.h"
#include "compile/pipeline.h"
#include "runtime/vm.h"
#include "small_model.h"
#include "tvm/ir_module.h"
#include "tvm/prefetch.h"
#include "tvm/target.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

using relax::Ints;
using small_model::numbers;
using small_model::values;
using small_model::variable;

/// y of one input and some weights, all float32.
struct Case {
  std::string name;
  Ints input;
  std::vector<Ints> weights;
  small_model::Body body;
};

void PrintTo(const Case& item, std::ostream* out) { *out << item.name; }

IRModule module_of(const Case& item) {
  return small_model::module_of(item.input, item.weights, item.body);
}

/// The tensor in memory that ends (up to alignment) where nothing may be read.
ffi::Tensor guarded(const ffi::Tensor& tensor) {
  constexpr size_t kAlignment = 64;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t bytes = ffi::GetDataSize(*tensor.GetDLTensorPtr());
  const size_t room = (bytes / page + 1) * page;
  void* memory =
      mmap(nullptr, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  auto* begin = static_cast<char*>(memory);
  EXPECT_EQ(mprotect(begin + room, page, PROT_NONE), 0);
  char* data = begin + (room - bytes) / kAlignment * kAlignment;
  std::memcpy(data, tensor.data_ptr(), bytes);
  std::shared_ptr<const void> owner(memory, [=](void* p) { munmap(p, room + page); });
  const auto shape = tensor.shape();
  return view_tensor(data, std::vector<int64_t>(shape.begin(), shape.end()), tensor.dtype(), owner);
}

class CpuSchedule : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { ASSERT_TRUE(load_compiler(diagnostics_)) << nnef::format(diagnostics_); }

  IRModule lowered(const Case& item, bool channels_last) {
    IRModule module = tidy(module_of(item));
    if (channels_last) module = tidy(convert_layout(module, host_target()));
    return lower_operators(module, "main", cpu_traits(host_target()), diagnostics_);
  }

  std::vector<float> run(const IRModule& module, const Case& item) {
    const ffi::Module executable = build_executable(module, host_target());
    const ffi::Module machine =
        nnef_runtime::start_vm(executable, nnef_runtime::VmAllocator::naive);
    std::vector<ffi::Any> args{guarded(numbers(item.input, 0))};
    for (const Ints& shape : item.weights) {
      args.push_back(guarded(numbers(shape, static_cast<int>(args.size()))));
    }
    std::vector<ffi::AnyView> views(args.begin(), args.end());
    ffi::Any result;
    nnef_runtime::module_function(machine, "main")
        .CallPacked(views.data(), static_cast<int32_t>(views.size()), &result);
    return values(result.cast<ffi::Tensor>());
  }

  void expect_same(const std::vector<float>& got, const std::vector<float>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], want[i], 1e-4 * (1 + std::abs(want[i]))) << "item " << i;
    }
  }

  nnef::Diagnostics diagnostics_;
};

TEST_P(CpuSchedule, KeepsNumbers) {
  const Case& item = GetParam();
  TargetScope scope(host_target());
  const IRModule plain = lowered(item, false);
  ASSERT_FALSE(diagnostics_.has_errors()) << nnef::format(diagnostics_);
  const auto want = run(plain, item);
  // As the pipeline has them: weights stay where they are in the function that prepares them, and
  // are packed in the other.
  expect_same(run(schedule_cpu(plain, host_target(), WeightLayout::kKeep), item), want);
  const IRModule laid_out = item.input.size() == 4 ? lowered(item, true) : plain;
  SCOPED_TRACE("channels last where there are channels, packed weights");
  expect_same(run(schedule_cpu(laid_out, host_target(), WeightLayout::kPack), item), want);
}

Case conv(const std::string& name, Ints input, Ints weight, int64_t stride, int64_t padding,
          int64_t groups = 1, int64_t dilation = 1) {
  const size_t rank = input.size() - 2;
  const Ints strides(rank, stride), pads(2 * rank, padding), dilations(rank, dilation);
  Ints bias(input.size(), 1);
  bias[1] = weight[0];
  return {name, input, {weight, bias}, [=](BlockBuilder& builder, Expr x, const auto& w) {
            const Var y = builder.emit(relax::conv(x, w[0], strides, pads, dilations, groups));
            const Var sum = builder.emit(relax::add(y, w[1]));
            return relax::relu(sum);
          }};
}

Case deconv(const std::string& name, Ints input, Ints weight, int64_t stride, int64_t groups = 1) {
  const size_t rank = input.size() - 2;
  return {name, input, {weight}, [=](BlockBuilder&, Expr x, const auto& w) {
            return relax::conv_transpose(x, w[0], Ints(rank, stride), Ints(2 * rank, 1),
                                         Ints(rank, 0), Ints(rank, 1), groups);
          }};
}

Case unary(const std::string& name, Ints input, std::function<Expr(Expr)> body) {
  return {name, input, {}, [=](BlockBuilder&, Expr x, const auto&) { return body(x); }};
}

Case binary(const std::string& name, Ints input, Ints weight,
            std::function<Expr(Expr, Expr)> body) {
  return {
      name, input, {weight}, [=](BlockBuilder&, Expr x, const auto& w) { return body(x, w[0]); }};
}

INSTANTIATE_TEST_SUITE_P(
    Convolutions, CpuSchedule,
    ::testing::Values(conv("even", {1, 16, 14, 14}, {32, 16, 3, 3}, 1, 1),
                      conv("primes", {1, 5, 13, 17}, {7, 5, 3, 3}, 1, 1),
                      conv("many_odd_pixels", {1, 4, 3, 71}, {16, 4, 3, 3}, 1, 1),
                      conv("odd_channels", {1, 16, 9, 9}, {21, 16, 1, 1}, 1, 0),
                      conv("stride", {1, 8, 15, 15}, {37, 8, 3, 3}, 2, 1),
                      conv("dilation", {1, 8, 15, 15}, {16, 8, 3, 3}, 1, 2, 1, 2),
                      conv("blocked", {1, 512, 7, 7}, {64, 512, 3, 3}, 1, 1),
                      conv("blocked_odd", {1, 256, 5, 5}, {37, 256, 3, 3}, 1, 1),
                      conv("chunks", {1, 256, 28, 28}, {64, 256, 1, 1}, 1, 0),
                      conv("odd_chunks", {1, 128, 27, 27}, {48, 128, 1, 1}, 1, 0),
                      conv("chunks_of_a_batch", {4, 64, 14, 14}, {64, 64, 1, 1}, 1, 0),
                      conv("first", {1, 3, 33, 33}, {64, 3, 7, 7}, 2, 3),
                      conv("three_channels", {1, 3, 7, 7}, {3, 3, 3, 3}, 2, 1),
                      conv("one_pixel", {1, 8, 1, 1}, {10, 8, 1, 1}, 1, 0),
                      conv("one_channel", {1, 8, 5, 5}, {1, 8, 3, 3}, 1, 1),
                      conv("batch", {3, 8, 6, 6}, {16, 8, 3, 3}, 1, 1),
                      conv("depthwise", {1, 32, 14, 14}, {32, 1, 3, 3}, 1, 1, 32),
                      conv("depthwise_odd", {1, 3, 13, 11}, {3, 1, 3, 3}, 2, 1, 3),
                      conv("depthwise_multiplier", {1, 8, 9, 9}, {16, 1, 3, 3}, 1, 1, 8),
                      conv("groups", {1, 32, 9, 9}, {32, 8, 3, 3}, 1, 1, 4),
                      conv("groups_odd", {1, 12, 9, 9}, {18, 4, 3, 3}, 1, 1, 3),
                      conv("one_dimension", {1, 16, 50}, {24, 16, 3}, 1, 1),
                      conv("three_dimensions", {1, 4, 5, 6, 7}, {8, 4, 3, 3, 3}, 1, 1),
                      deconv("transposed", {1, 16, 7, 7}, {16, 8, 4, 4}, 2),
                      deconv("transposed_groups", {1, 8, 7, 7}, {8, 4, 4, 4}, 2, 4),
                      deconv("transposed_1d", {1, 8, 9}, {8, 5, 4}, 2)),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Products, CpuSchedule,
    ::testing::Values(binary("even", {64, 64}, {64, 64}, relax::matmul),
                      binary("tokens", {197, 48}, {48, 96}, relax::matmul),
                      binary("attention", {3, 37, 16}, {3, 16, 37}, relax::matmul),
                      binary("primes", {7, 13}, {13, 11}, relax::matmul),
                      binary("vector", {1, 100}, {100, 1000}, relax::matmul),
                      binary("column", {50, 64}, {64, 1}, relax::matmul),
                      binary("transposed", {20, 64}, {96, 64},
                             [](Expr x, Expr w) {
                               return relax::matmul(x, relax::permute_dims(w, {1, 0}));
                             })),
    [](const auto& info) { return info.param.name; });

Case concat(const std::string& name, Ints input, std::vector<int64_t> channels) {
  std::vector<Ints> weights;
  for (int64_t count : channels) weights.push_back({input[0], input[1], input[2], count});
  return {name, input, weights, [](BlockBuilder& builder, Expr x, const auto& w) {
            Array<Expr> parts = {x};
            for (const auto& part : w) parts.push_back(part);
            const Var all = builder.emit(relax::concat(parts, 3));
            return relax::relu(all);
          }};
}

INSTANTIATE_TEST_SUITE_P(Concatenations, CpuSchedule,
                         ::testing::Values(concat("whole_vectors", {1, 20, 20, 64}, {32, 64, 96}),
                                           concat("short_parts", {1, 20, 20, 4}, {8, 20, 4}),
                                           concat("odd_parts", {1, 20, 20, 3}, {16, 5})),
                         [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Others, CpuSchedule,
    ::testing::Values(
        unary("sum_rows", {64, 1024}, [](Expr x) { return relax::sum(x, {1}); }),
        unary("sum_odd_rows", {3, 197}, [](Expr x) { return relax::sum(x, {1}); }),
        unary("sum_columns", {100, 33}, [](Expr x) { return relax::sum(x, {0}); }),
        unary("sum_all", {3, 32, 32},
              [](Expr x) {
                return relax::sum(x, {0, 1, 2});
              }),
        unary("max_rows", {64, 1000}, [](Expr x) { return relax::max(x, {1}); }),
        unary("min_rows", {64, 1000}, [](Expr x) { return relax::min(x, {1}); }),
        unary("mean_pixels", {1, 64, 7, 7},
              [](Expr x) {
                return relax::mean(x, {2, 3});
              }),
        unary("softmax", {4, 1000}, [](Expr x) { return relax::softmax(x, 1); }),
        unary("softmax_rest", {12, 67, 197}, [](Expr x) { return relax::softmax(x, 2); }),
        unary("softmax_short", {3, 40, 20}, [](Expr x) { return relax::softmax(x, 2); }),
        unary("softmax_columns_of_one", {2, 100, 1}, [](Expr x) { return relax::softmax(x, 1); }),
        unary("softmax_channels", {1, 21, 9, 9}, [](Expr x) { return relax::softmax(x, 1); }),
        unary("relu", {3, 7, 113, 11}, relax::relu),
        unary("clip", {1, 8, 32, 32}, [](Expr x) { return relax::clip(x, -0.25, 0.5, float32); }),
        unary("leaky_relu", {1, 8, 9, 9}, [](Expr x) { return relax::leaky_relu(x, 0.1); }),
        unary("one_item", {1}, relax::exp),
        unary("transpose", {1, 64, 28, 28},
              [](Expr x) {
                return relax::permute_dims(x, {0, 2, 3, 1});
              }),
        unary("pad", {1, 8, 28, 28},
              [](Expr x) {
                return relax::pad(x, {0, 0, 0, 0, 1, 2, 3, 4}, 1.5);
              }),
        binary("broadcast_rows", {8, 64, 33}, {64, 1}, relax::add),
        binary("broadcast_columns", {8, 64, 32}, {32}, relax::multiply)),
    [](const auto& info) { return info.param.name; });

class CpuScheduleText : public CpuSchedule {};

TEST_P(CpuScheduleText, IsParallelVectorisedAndFused) {
  TargetScope scope(host_target());
  const IRModule module = lowered(GetParam(), true);
  const std::string text = script(schedule_cpu(module, host_target(), WeightLayout::kPack));
  EXPECT_NE(text.find("T.parallel("), std::string::npos) << text;
  EXPECT_NE(text.find("T.vectorized("), std::string::npos) << text;
  EXPECT_NE(text.find("T.unroll("), std::string::npos) << text;
  EXPECT_NE(text.find("scope=\"local\""), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Heavy, CpuScheduleText,
    ::testing::Values(conv("conv", {1, 64, 28, 28}, {64, 64, 3, 3}, 1, 1),
                      conv("pointwise", {1, 64, 14, 14}, {256, 64, 1, 1}, 1, 0),
                      conv("depthwise", {1, 96, 28, 28}, {96, 1, 3, 3}, 1, 1, 96),
                      binary("matmul", {64, 128}, {128, 512}, relax::matmul)),
    [](const auto& info) { return info.param.name; });

class CpuScheduleOfManyWeights : public CpuSchedule {};

TEST_P(CpuScheduleOfManyWeights, FetchesAhead) {
  TargetScope scope(host_target());
  const IRModule module = lowered(GetParam(), true);
  const std::string text = script(schedule_cpu(module, host_target(), WeightLayout::kPack));
  EXPECT_NE(text.find(kPrefetchItems), std::string::npos) << text;
}

/// The scheduled kernels of a module, as loops over vectors.
IRModule loops_of(const IRModule& module) {
  std::vector<NamedFunction> kernels =
      functions_of(schedule_cpu(module, host_target(), WeightLayout::kPack));
  std::erase_if(kernels, [](const NamedFunction& item) { return !is_prim_func(item.function); });
  IRModule code = run_pass(tir_pass::bind_target(host_target()), make_module(kernels));
  for (const Pass& pass : tir_pass::loops_for_cpu()) code = run_pass(pass, code);
  return code;
}

TEST_P(CpuScheduleOfManyWeights, HaveInstructionsForThat) {
  TargetScope scope(host_target());
  const IRModule code = loops_of(lowered(GetParam(), true));
  EXPECT_EQ(script(code).find("T.prefetch("), std::string::npos);
  const std::string text = script(insert_prefetches(code));
  EXPECT_NE(text.find("T.prefetch("), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Convolutions, CpuScheduleOfManyWeights,
                         ::testing::Values(conv("blocked", {1, 512, 7, 7}, {512, 512, 3, 3}, 1, 1),
                                           conv("whole", {1, 512, 7, 7}, {512, 512, 1, 1}, 1, 0)),
                         [](const auto& info) { return info.param.name; });

class CpuScheduleOfOddChannels : public CpuSchedule {};

TEST_P(CpuScheduleOfOddChannels, MasksTheLastVector) {
  TargetScope scope(host_target());
  const std::string text = script(loops_of(lowered(GetParam(), true)));
  EXPECT_NE(text.find("T.masked_store("), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(
    Convolutions, CpuScheduleOfOddChannels,
    ::testing::Values(conv("even_rest", {1, 64, 14, 14}, {116, 64, 1, 1}, 1, 0),
                      conv("odd_rest", {1, 64, 14, 14}, {121, 64, 1, 1}, 1, 0)),
    [](const auto& info) { return info.param.name; });

class CpuScheduleOfParts : public CpuSchedule {};

TEST_P(CpuScheduleOfParts, IsVectorised) {
  TargetScope scope(host_target());
  const IRModule module = lowered(GetParam(), true);
  const std::string text = script(schedule_cpu(module, host_target()));
  EXPECT_NE(text.find("T.parallel("), std::string::npos) << text;
  EXPECT_NE(text.find("T.vectorized("), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Concatenations, CpuScheduleOfParts,
                         ::testing::Values(concat("four", {1, 32, 32, 64}, {32, 64, 96})),
                         [](const auto& info) { return info.param.name; });

class CpuTarget : public ::testing::Test {
 protected:
  void SetUp() override {
    nnef::Diagnostics diagnostics;
    ASSERT_TRUE(load_compiler(diagnostics)) << nnef::format(diagnostics);
  }
};

TEST_F(CpuTarget, GivesTraits) {
  const auto traits = [](const Map<String, Any>& description) {
    return cpu_traits(make_target(description));
  };
  const auto avx2 = traits({{"kind", "llvm"}, {"mcpu", "haswell"}, {"num-cores", 8}});
  EXPECT_EQ(avx2.vector_bytes, 32);
  EXPECT_EQ(avx2.vector_registers, 16);
  EXPECT_EQ(avx2.cores, 8);
  const auto avx512 = traits({{"kind", "llvm"}, {"mcpu", "skylake-avx512"}});
  EXPECT_EQ(avx512.vector_bytes, 64);
  EXPECT_EQ(avx512.vector_registers, 32);
  const auto neon = traits({{"kind", "llvm"}, {"mtriple", "aarch64-linux-gnu"}});
  EXPECT_EQ(neon.vector_bytes, 16);
  EXPECT_EQ(neon.vector_registers, 32);
  const auto sse = traits({{"kind", "llvm"}, {"mcpu", "x86-64"}});
  EXPECT_EQ(sse.vector_bytes, 16);
  EXPECT_EQ(sse.vector_registers, 16);
}

TEST_F(CpuTarget, KeepsConvolutionsChannelsLast) {
  // What TVM's pass itself would put changes of layout around.
  const Case item{"chain",
                  {1, 3, 8, 8},
                  {{8, 3, 3, 3}, {8, 8, 3, 3}},
                  [](BlockBuilder& builder, Expr x, const auto& w) {
                    const Ints one{1, 1}, around{1, 1, 1, 1};
                    const Var a = builder.emit(relax::conv(x, w[0], one, around, one, 1));
                    const Var b = builder.emit(relax::clip(a, 0, 6, float32));
                    const Var c = builder.emit(relax::leaky_relu(b, 0.1));
                    return relax::conv(c, w[1], one, around, one, 1);
                  }};
  const IRModule module = tidy(convert_layout(tidy(module_of(item)), host_target()));
  const auto calls = called_operators(find_function(module, "main"));
  // Of x, of both weights, and of the result.
  EXPECT_EQ(std::count(calls.begin(), calls.end(), "relax.permute_dims"), 4);
}

}  // namespace
}  // namespace nnef_tvm
