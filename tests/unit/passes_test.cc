// Passes over Relax modules: which operators are left, and that the numbers stay.
#include <gtest/gtest.h>

#include <functional>

#include "compile/cpu_target.h"
#include "compile/passes/fold_affine.h"
#include "compile/passes/simplify.h"
#include "compile/pipeline.h"
#include "runtime/vm.h"
#include "small_model.h"
#include "tvm/ir_module.h"
#include "tvm/target.h"

namespace nnef_tvm {
namespace {

using relax::Ints;
using small_model::numbers;
using small_model::values;
using small_model::variable;
using Operators = std::vector<std::string>;

/// y of one input and some weights, and the operators that are left of it after a pass, apart from
/// those on weights alone.
struct Case {
  std::string name;
  IRModule (*pass)(const IRModule&);
  Ints input;
  std::vector<Ints> weights;
  small_model::Body body;
  Operators left;
};

void PrintTo(const Case& item, std::ostream* out) { *out << item.name; }

class Passes : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override { ASSERT_TRUE(load_compiler(diagnostics_)) << nnef::format(diagnostics_); }

  static IRModule module_of(const Case& item) {
    return tidy(small_model::module_of(item.input, item.weights, item.body));
  }

  std::vector<float> run(const IRModule& module, const Case& item) {
    const IRModule lowered =
        lower_operators(module, "main", cpu_traits(host_target()), diagnostics_);
    const ffi::Module executable = build_executable(lowered, host_target_for_one_run());
    const ffi::Module machine =
        nnef_runtime::start_vm(executable, nnef_runtime::VmAllocator::naive);
    std::vector<ffi::Any> args{numbers(item.input, 0)};
    for (const Ints& shape : item.weights) {
      args.push_back(numbers(shape, static_cast<int>(args.size())));
    }
    std::vector<ffi::AnyView> views(args.begin(), args.end());
    ffi::Any result;
    nnef_runtime::module_function(machine, "main")
        .CallPacked(views.data(), static_cast<int32_t>(views.size()), &result);
    return values(result.cast<ffi::Tensor>());
  }

  static Operators operators_left(const IRModule& module) {
    Operators left = called_operators(find_function(split_transform(module).main, "main"));
    std::erase(left, "relax.builtin.stop_lift_params");
    for (std::string& name : left) name = name.substr(name.rfind('.') + 1);
    return left;
  }

  nnef::Diagnostics diagnostics_;
};

TEST_P(Passes, LeavesFewerOperatorsAndTheNumbers) {
  const Case& item = GetParam();
  TargetScope scope(host_target_for_one_run());
  const IRModule module = module_of(item);
  const IRModule passed = tidy(item.pass(module));
  EXPECT_EQ(operators_left(passed), item.left) << script(passed);
  const auto want = run(module, item);
  const auto got = run(passed, item);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-4 * (1 + std::abs(want[i]))) << "item " << i;
  }
}

using Weights = std::vector<Expr>;

Expr conv(const Expr& x, const Expr& w, int64_t groups = 1) {
  const size_t rank = shape_of(x).size() - 2;
  return relax::conv(x, w, Ints(rank, 1), Ints(2 * rank, 1), Ints(rank, 1), groups);
}

Expr deconv(const Expr& x, const Expr& w, int64_t groups) {
  return relax::conv_transpose(x, w, {2, 2}, {1, 1, 1, 1}, {0, 0}, {1, 1}, groups);
}

const Ints kImage{1, 4, 6, 5}, kKernel{6, 4, 3, 3}, kChannels{1, 6, 1, 1};

/// The forms in which frontends write the normalisation of a convolution's result.
INSTANTIATE_TEST_SUITE_P(
    FoldAffine, Passes,
    ::testing::Values(
        Case{"scale_and_shift",
             fold_affine,
             kImage,
             {kKernel, kChannels, {6, 1, 1}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               const Var product = b.emit(relax::multiply(w[1], b.emit(conv(x, w[0]))));
               return relax::relu(b.emit(relax::add(product, w[2])));
             },
             {"conv2d", "add", "relu"}},
        Case{"normalisation",
             fold_affine,
             kImage,
             {kKernel, kChannels, {6}, {6}, {6}, {6}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               const Var biased = b.emit(relax::add(b.emit(conv(x, w[0])), w[1]));
               std::vector<Expr> c;
               for (size_t i = 2; i < 6; ++i) {
                 c.push_back(b.emit(relax::reshape(w[i], {6, 1, 1})));
               }
               const Var deviation = b.emit(relax::exp(c[1]));
               const Var centred = b.emit(relax::subtract(biased, c[0]));
               const Var unit = b.emit(relax::divide(centred, deviation));
               return relax::add(b.emit(relax::multiply(unit, c[2])), c[3]);
             },
             {"conv2d", "add"}},
        Case{"one_number",
             fold_affine,
             kImage,
             {kKernel},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               const Var negative = b.emit(relax::negative(b.emit(conv(x, w[0]))));
               return relax::multiply(negative, constant(0.5, float32));
             },
             {"conv2d"}},
        Case{"one_axis",
             fold_affine,
             {1, 4, 9},
             {{6, 4, 3}, {6, 1}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               return relax::multiply(b.emit(conv(x, w[0])), w[1]);
             },
             {"conv1d"}},
        Case{"three_axes_depthwise",
             fold_affine,
             {1, 4, 3, 3, 3},
             {{4, 1, 3, 3, 3}, {4, 1, 1, 1}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               return relax::multiply(b.emit(conv(x, w[0], 4)), w[1]);
             },
             {"conv3d"}},
        Case{"transposed",
             fold_affine,
             kImage,
             {{4, 6, 3, 3}, {6, 1, 1}, {6, 1, 1}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               const Var product = b.emit(relax::multiply(b.emit(deconv(x, w[0], 1)), w[1]));
               return relax::add(product, w[2]);
             },
             {"conv2d_transpose", "add"}},
        Case{"transposed_in_groups",
             fold_affine,
             kImage,
             {{4, 3, 3, 3}, {6, 1, 1}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               return relax::divide(b.emit(deconv(x, w[0], 2)), w[1]);
             },
             {"conv2d_transpose"}},
        Case{"matrix",
             fold_affine,
             {2, 3, 4},
             {{4, 5}, {5}, {1, 5}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               const Var sum = b.emit(relax::add(b.emit(relax::matmul(x, w[0])), w[1]));
               return relax::multiply(sum, w[2]);
             },
             {"matmul", "add"}},
        Case{"matrix_before",
             fold_affine,
             {4, 3},
             {{5, 4}, {5, 1}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               return relax::multiply(b.emit(relax::matmul(w[0], x)), w[1]);
             },
             {"matmul"}},
        Case{"attention",
             fold_affine,
             {3, 8},
             {{8, 8}, {8, 8}, {8}},
             [](BlockBuilder& b, Expr x, const Weights& w) {
               const auto heads = [&](const Expr& y, const Ints& order) {
                 return b.emit(relax::permute_dims(b.emit(relax::reshape(y, {3, 2, 4})), order));
               };
               const Var biased = b.emit(relax::add(b.emit(relax::matmul(x, w[0])), w[2]));
               const Var q = heads(biased, {1, 0, 2});
               const Var k = heads(b.emit(relax::matmul(x, w[1])), {1, 2, 0});
               return relax::divide(b.emit(relax::matmul(q, k)), constant(2, float32));
             },
             {"matmul", "reshape", "permute_dims", "matmul", "add", "reshape", "permute_dims",
              "matmul"}}));

/// What must stay: results used twice, factors that are no weights or vary along other axes.
INSTANTIATE_TEST_SUITE_P(
    FoldAffineNot, Passes,
    ::testing::Values(Case{"used_twice",
                           fold_affine,
                           kImage,
                           {kKernel, kChannels},
                           [](BlockBuilder& b, Expr x, const Weights& w) {
                             const Var y = b.emit(conv(x, w[0]));
                             return relax::add(b.emit(relax::multiply(y, w[1])), y);
                           },
                           {"conv2d", "multiply", "add"}},
                      Case{"along_a_row",
                           fold_affine,
                           kImage,
                           {kKernel, {5}},
                           [](BlockBuilder& b, Expr x, const Weights& w) {
                             return relax::multiply(b.emit(conv(x, w[0])), w[1]);
                           },
                           {"conv2d", "multiply"}},
                      Case{"broadcasts",
                           fold_affine,
                           {3, 4},
                           {{4, 1}, {5}},
                           [](BlockBuilder& b, Expr x, const Weights& w) {
                             return relax::multiply(b.emit(relax::matmul(x, w[0])), w[1]);
                           },
                           {"matmul", "multiply"}},
                      Case{"data",
                           fold_affine,
                           {1, 4, 6, 5},
                           {{4, 4, 3, 3}},
                           [](BlockBuilder& b, Expr x, const Weights& w) {
                             return relax::multiply(b.emit(conv(x, w[0])), x);
                           },
                           {"conv2d", "multiply"}},
                      Case{"plain_sums",
                           fold_affine,
                           {5},
                           {{5}, {5}},
                           [](BlockBuilder& b, Expr x, const Weights& w) {
                             return relax::add(b.emit(relax::add(x, w[0])), w[1]);
                           },
                           {"add", "add"}}));

Expr ones(double value, const Ints& shape) {
  int64_t count = 1;
  for (int64_t extent : shape) count *= extent;
  const std::vector<double> items(static_cast<size_t>(count), value);
  return constant(items, shape, float32);
}

INSTANTIATE_TEST_SUITE_P(
    Simplify, Passes,
    ::testing::Values(
        Case{"neutral",
             simplify,
             {2, 3},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               const Var a = b.emit(relax::multiply(constant(1, float32), x));
               const Var c = b.emit(relax::divide(b.emit(relax::exp(a)), ones(1, {3})));
               const Var d = b.emit(relax::subtract(c, ones(0, {1, 1})));
               return relax::add(d, constant(0, float32));
             },
             {"exp"}},
        Case{"neutral_but_larger",
             simplify,
             {1, 3},
             {},
             [](BlockBuilder&, Expr x, const Weights&) {
               return relax::multiply(x, ones(1, {2, 1}));
             },
             {"multiply"}},
        Case{"not_neutral",
             simplify,
             {2, 3},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               return relax::divide(constant(1, float32), b.emit(relax::exp(x)));
             },
             {"exp", "divide"}},
        Case{"reshapes",
             simplify,
             {2, 3, 1},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               const Var a = b.emit(relax::reshape(b.emit(relax::squeeze(x, {2})), {3, 2}));
               const Var c = b.emit(relax::expand_dims(a, {0}));
               return relax::reshape(b.emit(relax::exp(c)), {1, 3, 2});
             },
             {"reshape", "exp"}},
        Case{"transpositions",
             simplify,
             {2, 3, 4},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               const Var a = b.emit(relax::permute_dims(x, {1, 2, 0}));
               const Var c = b.emit(relax::exp(b.emit(relax::permute_dims(a, {2, 0, 1}))));
               return relax::permute_dims(b.emit(relax::permute_dims(c, {0, 2, 1})), {2, 1, 0});
             },
             {"exp", "permute_dims"}},
        Case{"transposition_of_ones",
             simplify,
             {1, 3, 1, 4},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               return relax::exp(b.emit(relax::permute_dims(x, {1, 2, 0, 3})));
             },
             {"reshape", "exp"}},
        Case{"movements",
             simplify,
             {2, 3},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               const Var a = b.emit(relax::concat({b.emit(relax::broadcast_to(x, {2, 3}))}, 0));
               const Var c = b.emit(relax::strided_slice(a, {0, 1}, {0, 0}, {2, 3}, {1, 1}));
               return relax::exp(c);
             },
             {"exp"}},
        Case{"reversal",
             simplify,
             {2, 3},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               return relax::exp(b.emit(relax::strided_slice(x, {1}, {2}, {-4}, {-1})));
             },
             {"strided_slice", "exp"}},
        Case{"casts",
             simplify,
             {2, 3},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               const Var wide = b.emit(relax::astype(b.emit(relax::astype(x, float32)), float64));
               return relax::exp(b.emit(relax::astype(wide, float32)));
             },
             {"exp"}},
        Case{"narrowing_casts",
             simplify,
             {2, 3},
             {},
             [](BlockBuilder& b, Expr x, const Weights&) {
               return relax::astype(b.emit(relax::astype(x, int32)), float32);
             },
             {"astype", "astype"}}));

}  // namespace
}  // namespace nnef_tvm
