// A small convolution model for tests of the compiler and the runtime.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "tvm/ir.h"
#include "tvm/relax.h"

namespace small_model {

using tvm::ffi::Tensor;

inline constexpr DLDataType f32{kDLFloat, 32, 1};

/// A tensor of small numbers that follow a pattern.
inline Tensor numbers(const std::vector<int64_t>& shape, int seed) {
  Tensor tensor = nnef_runtime::allocate(f32, shape);
  auto* items = static_cast<float*>(tensor.data_ptr());
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    items[i] = static_cast<float>((i * 37 + seed * 11) % 101 - 50) / 50.0f;
  }
  return tensor;
}

inline std::vector<float> values(const Tensor& tensor) {
  const auto* items = static_cast<const float*>(tensor.data_ptr());
  return {items, items + tensor.numel()};
}

inline nnef_tvm::Var variable(const std::string& name, const std::vector<int64_t>& shape) {
  return nnef_tvm::var(name, nnef_tvm::tensor_type(shape, f32));
}

inline nnef_tvm::Map<nnef_tvm::String, nnef_tvm::Any> one_input() {
  return {{"num_input", int64_t{1}}};
}

/// What y is, of x and weights.
using Body = std::function<nnef_tvm::Expr(nnef_tvm::BlockBuilder&, nnef_tvm::Expr,
                                          const std::vector<nnef_tvm::Expr>&)>;

/// y of one input and some weights, all float32.
inline nnef_tvm::IRModule module_of(const std::vector<int64_t>& input,
                                    const std::vector<std::vector<int64_t>>& weight_shapes,
                                    const Body& body) {
  nnef_tvm::Array<nnef_tvm::Var> params{variable("x", input)};
  std::vector<nnef_tvm::Expr> weights;
  for (const auto& shape : weight_shapes) {
    params.push_back(variable("w" + std::to_string(weights.size()), shape));
    weights.push_back(params.back());
  }
  nnef_tvm::BlockBuilder builder(params);
  const nnef_tvm::Var y = builder.emit_output(body(builder, params[0], weights));
  return builder.finish("main", y, one_input());
}

/// y = relu(conv(x, w) + bias), 3 to 4 channels, 3 x 3, padded.
struct ConvModel {
  nnef_tvm::IRModule module;
  std::vector<Tensor> params;  ///< w [4,3,3,3], bias [4]
  std::vector<nnef_runtime::TensorSpec> inputs{{"x", f32, {1, 3, 8, 8}}};
  std::vector<nnef_runtime::TensorSpec> outputs{{"y", f32, {1, 4, 8, 8}}};
};

inline ConvModel conv_model() {
  namespace relax = nnef_tvm::relax;
  nnef::Diagnostics diagnostics;
  EXPECT_TRUE(nnef_tvm::load_compiler(diagnostics)) << nnef::format(diagnostics);
  auto x = variable("x", {1, 3, 8, 8});
  auto w = variable("w", {4, 3, 3, 3});
  auto bias = variable("bias", {4});
  nnef_tvm::BlockBuilder builder({x, w, bias});
  auto conv = builder.emit(relax::conv(x, w, {1, 1}, {1, 1, 1, 1}, {1, 1}, 1));
  auto shaped = builder.emit(relax::reshape(bias, {1, 4, 1, 1}));
  auto sum = builder.emit(relax::add(conv, shaped));
  auto y = builder.emit_output(relax::relu(sum));
  ConvModel model;
  model.module = builder.finish("main", y, one_input());
  model.params = {numbers({4, 3, 3, 3}, 1), numbers({4}, 2)};
  return model;
}

/// What the model makes of `x`, computed here.
inline std::vector<float> expected(const ConvModel& model, const Tensor& x) {
  const auto input = values(x), weights = values(model.params[0]), bias = values(model.params[1]);
  std::vector<float> out;
  for (int oc = 0; oc < 4; ++oc) {
    for (int oy = 0; oy < 8; ++oy) {
      for (int ox = 0; ox < 8; ++ox) {
        float sum = bias[oc];
        for (int ic = 0; ic < 3; ++ic) {
          for (int ky = 0; ky < 3; ++ky) {
            for (int kx = 0; kx < 3; ++kx) {
              int iy = oy + ky - 1, ix = ox + kx - 1;
              if (iy < 0 || iy >= 8 || ix < 0 || ix >= 8) continue;
              sum += input[(ic * 8 + iy) * 8 + ix] * weights[((oc * 3 + ic) * 3 + ky) * 3 + kx];
            }
          }
        }
        out.push_back(sum > 0 ? sum : 0);
      }
    }
  }
  return out;
}

inline void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << "item " << i;
}

inline std::optional<nnef_tvm::Compiled> compiled(const ConvModel& model,
                                                  nnef::Diagnostics& diagnostics,
                                                  const std::string& target = "llvm") {
  return nnef_tvm::compile(model.module, model.params, model.inputs, model.outputs, {target},
                           diagnostics);
}

/// The id of the only diagnostic; "" when there is none, all of them when there are several.
inline std::string only_id(const nnef::Diagnostics& diagnostics) {
  std::string ids;
  for (const auto& item : diagnostics.items()) ids += (ids.empty() ? "" : " ") + item.id;
  return ids;
}

}  // namespace small_model
