#include "compile/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "compile/cpu_target.h"
#include "compile/passes/hoist_constants.h"
#include "small_model.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

using small_model::f32;
using small_model::numbers;
using small_model::only_id;
using small_model::values;
using small_model::variable;

class Pipeline : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(load_compiler(diagnostics)) << nnef::format(diagnostics); }

  /// Compiles a model of one input `x` and one output of the same shape.
  std::optional<Compiled> compile_like(IRModule module, std::vector<ffi::Tensor> params,
                                       std::vector<int64_t> shape) {
    return compile(std::move(module), std::move(params), {{"x", f32, shape}}, {{"y", f32, shape}},
                   {}, diagnostics);
  }

  nnef::Diagnostics diagnostics;
};

int64_t kernel_calls(const IRModule& module) {
  auto calls = called_operators(find_function(module, "main"));
  return std::count(calls.begin(), calls.end(), "relax.call_tir");
}

TEST_F(Pipeline, FoldsConstants) {
  auto x = variable("x", {2, 3});
  BlockBuilder builder({x});
  auto product =
      builder.emit(relax::multiply(constant(numbers({2, 3}, 1)), constant(numbers({2, 3}, 2))));
  auto y = builder.emit_output(relax::add(x, product));
  IRModule module = builder.finish("main", y, small_model::one_input());

  IRModule lowered = lower_operators(tidy(module), "main", cpu_traits(host_target()), diagnostics);
  EXPECT_EQ(kernel_calls(lowered), 1);  // the sum; the product is a constant
  HoistedConstants hoisted = hoist_constants(lowered, "main");
  ASSERT_EQ(hoisted.values.size(), 1u);
  const auto a = values(numbers({2, 3}, 1)), b = values(numbers({2, 3}, 2));
  const auto folded = values(hoisted.values[0]);
  for (size_t i = 0; i < folded.size(); ++i) EXPECT_FLOAT_EQ(folded[i], a[i] * b[i]);
  EXPECT_FALSE(diagnostics.has_errors());
}

TEST_F(Pipeline, ComputesWhatDependsOnWeightsAlone) {
  auto x = variable("x", {4}), a = variable("a", {4}), b = variable("b", {4});
  BlockBuilder builder({x, a, b});
  auto sum = builder.emit(relax::add(a, b));
  auto y = builder.emit_output(relax::multiply(x, sum));
  auto compiled = compile_like(builder.finish("main", y, small_model::one_input()),
                               {numbers({4}, 1), numbers({4}, 2)}, {4});
  ASSERT_TRUE(compiled) << nnef::format(diagnostics);
  ASSERT_EQ(compiled->parameters.size(), 1u);
  const auto made = values(compiled->parameters[0]);
  const auto first = values(numbers({4}, 1)), second = values(numbers({4}, 2));
  for (size_t i = 0; i < made.size(); ++i) EXPECT_FLOAT_EQ(made[i], first[i] + second[i]);
}

TEST_F(Pipeline, PassesWeightsThroughWithoutCopies) {
  auto x = variable("x", {4}), w = variable("w", {4}), unused = variable("unused", {7});
  BlockBuilder builder({x, w, unused});
  auto y = builder.emit_output(relax::add(x, w));
  ffi::Tensor weight = numbers({4}, 1);
  auto compiled = compile_like(builder.finish("main", y, small_model::one_input()),
                               {weight, numbers({7}, 2)}, {4});
  ASSERT_TRUE(compiled) << nnef::format(diagnostics);
  ASSERT_EQ(compiled->parameters.size(), 1u);
  EXPECT_EQ(compiled->parameters[0].data_ptr(), weight.data_ptr());
  EXPECT_EQ(compiled->parameter_names, std::vector<std::string>{"w"});
}

TEST_F(Pipeline, CompilesEqualKernelsOnce) {
  auto x = variable("x", {1, 3, 8, 8}), v = variable("v", {3, 3, 3, 3}),
       w = variable("w", {3, 3, 3, 3});
  BlockBuilder builder({x, v, w});
  auto first = builder.emit(relax::conv(x, v, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1));
  auto y = builder.emit_output(relax::conv(first, w, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1));
  IRModule module = builder.finish("main", y, small_model::one_input());
  IRModule lowered = lower_operators(tidy(module), "main", cpu_traits(host_target()), diagnostics);
  EXPECT_EQ(kernel_calls(lowered), 2);
  auto functions = functions_of(lowered);
  EXPECT_EQ(std::count_if(functions.begin(), functions.end(),
                          [](const auto& item) { return is_prim_func(item.function); }),
            1);
}

TEST_F(Pipeline, ComputesTheConvolution) {
  auto model = small_model::conv_model();
  auto compiled = small_model::compiled(model, diagnostics);
  ASSERT_TRUE(compiled) << nnef::format(diagnostics);
  auto session =
      nnef_runtime::Session::create(compiled->executable, compiled->parameters, compiled->inputs,
                                    compiled->outputs, {}, diagnostics);
  ASSERT_NE(session, nullptr) << nnef::format(diagnostics);
  ffi::Tensor x = numbers({1, 3, 8, 8}, 3);
  auto results = session->run({x}, diagnostics);
  ASSERT_EQ(results.size(), 1u) << nnef::format(diagnostics);
  small_model::expect_near(values(results[0]), small_model::expected(model, x));
}

TEST_F(Pipeline, CompilesWithoutWeightsOrKernels) {
  auto x = variable("x", {4});
  BlockBuilder builder({x});
  auto y = builder.emit_output(x);
  auto compiled = compile_like(builder.finish("main", y, small_model::one_input()), {}, {4});
  ASSERT_TRUE(compiled) << nnef::format(diagnostics);
  auto session =
      nnef_runtime::Session::create(compiled->executable, compiled->parameters, compiled->inputs,
                                    compiled->outputs, {}, diagnostics);
  ASSERT_NE(session, nullptr);
  ffi::Tensor input = numbers({4}, 1);
  auto results = session->run({input}, diagnostics);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(values(results[0]), values(input));
  EXPECT_NE(results[0].data_ptr(), input.data_ptr());
}

TEST_F(Pipeline, NamesOperatorsWithoutKernel) {
  auto x = variable("x", {4});
  BlockBuilder builder({x});
  auto y = builder.emit_output(call<Expr>("relax.op.bucketize", x, x, true, false));
  auto compiled = compile_like(builder.finish("main", y, small_model::one_input()), {}, {4});
  EXPECT_FALSE(compiled);
  ASSERT_EQ(only_id(diagnostics), "compile/unsupported");
  EXPECT_EQ(diagnostics.items()[0].message,
            "no kernel for the Relax operator 'relax.bucketize' (1 call)");
}

TEST_F(Pipeline, ReportsTvmErrors) {
  auto model = small_model::conv_model();
  model.params.pop_back();
  EXPECT_FALSE(small_model::compiled(model, diagnostics));
  EXPECT_EQ(only_id(diagnostics), "compile/internal");
}

struct BadTarget {
  const char* text;
  const char* message;
  const char* hint;  ///< a part of it
};

class BadTargets : public ::testing::TestWithParam<BadTarget> {};

TEST_P(BadTargets, AreRefused) {
  nnef::Diagnostics diagnostics;
  ASSERT_TRUE(load_compiler(diagnostics));
  EXPECT_FALSE(small_model::compiled(small_model::conv_model(), diagnostics, GetParam().text));
  ASSERT_EQ(only_id(diagnostics), "compile/target");
  EXPECT_NE(diagnostics.items()[0].message.find(GetParam().message), std::string::npos)
      << diagnostics.items()[0].message;
  EXPECT_NE(diagnostics.items()[0].hint.find(GetParam().hint), std::string::npos)
      << diagnostics.items()[0].hint;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadTargets,
    ::testing::Values(
        BadTarget{"hexagon", "cannot compile for the target 'hexagon'", "usable: llvm"},
        BadTarget{"", "cannot compile for the target ''", "usable: llvm"},
        BadTarget{"{\"kind\": \"metal\"}", "of kind 'metal'", "usable: llvm"},
        BadTarget{"{\"kind\": ", "not a JSON object", "usable: llvm"},
        BadTarget{"{\"kind\": \"llvm\", \"mcpu\": \"hasswell\"}", "no CPU 'hasswell'",
                  "did you mean 'haswell'?"},
        BadTarget{"{\"kind\": \"llvm\", \"colour\": 3}", "TVM refuses the target", "usable: llvm"},
        BadTarget{"{\"kind\": \"llvm\", \"mtriple\": \"riscv64-linux-gnu\"}", "riscv64-linux-gnu",
                  ""}));

TEST_F(Pipeline, CompilesForAnOlderCpu) {
  auto compiled = small_model::compiled(small_model::conv_model(), diagnostics,
                                        R"({"kind": "llvm", "mcpu": "haswell"})");
  ASSERT_TRUE(compiled) << nnef::format(diagnostics);
  const auto& features = compiled->cpu_features;
  EXPECT_NE(std::find(features.begin(), features.end(), "avx2"), features.end());
  EXPECT_EQ(std::find(features.begin(), features.end(), "avx512f"), features.end());
}

}  // namespace
}  // namespace nnef_tvm
