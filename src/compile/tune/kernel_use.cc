#include "compile/tune/kernel_use.h"

#include <fmt/format.h>

#include "compile/kernels/winograd.h"
#include "compile/schedule/cpu/plan.h"
#include "compile/schedule/cpu/weights.h"
#include "tvm/bindings.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/relax.h"
#include "tvm/te.h"

namespace nnef_tvm {
namespace {

/// Of a kernel's parameter. Throws tvm::ffi::Error when an extent is not known.
Type parameter_type(const Var& param) {
  const auto type = field<ObjectRef>(param, "ty");
  std::vector<int64_t> shape;
  for (const PrimExpr& extent : field<Array<PrimExpr>>(type, "shape")) {
    const auto known = known_int(extent);
    if (!known) TVM_FFI_THROW(ValueError) << "an extent of a kernel's parameter is not known";
    shape.push_back(*known);
  }
  return tensor_type(shape, field<DLDataType>(field<ObjectRef>(type, "dtype"), "dtype"));
}

}  // namespace

std::vector<KernelUse> kernel_uses(const IRModule& module) {
  const auto weights = weight_arguments(module);
  std::vector<KernelUse> uses;
  std::map<std::string, size_t> by_key;
  for (const Binding& binding : bindings_of(find_function(module, "main"))) {
    if (operator_name(binding.value) != "relax.call_tir") continue;
    const std::string name = field<String>(args_of(binding.value)[0], "name_hint");
    KernelUse use{name, "", as<PrimFunc>(find_function(module, name)), weights.at(name), 0};
    use.key = kernel_key(use.function, use.weights);
    const auto [found, is_new] = by_key.try_emplace(use.key, uses.size());
    if (is_new) uses.push_back(std::move(use));
    ++uses[found->second].calls;
  }
  return uses;
}

IRModule kernel_module(const KernelUse& use) {
  const auto params = field<Array<Var>>(use.function, "params");
  Array<Expr> arguments;
  Array<Var> inputs, weights;
  for (size_t i = 0; i < use.weights.size(); ++i) {
    const Var argument = var(fmt::format("p{}", i), parameter_type(params[i]));
    (use.weights[i] ? weights : inputs).push_back(argument);
    arguments.push_back(argument);
  }
  const auto count = static_cast<int64_t>(inputs.size());
  for (const Var& weight : weights) inputs.push_back(weight);
  Array<Type> results;
  for (size_t i = use.weights.size(); i < params.size(); ++i) {
    results.push_back(parameter_type(params[i]));
  }
  BlockBuilder builder(inputs);
  const Var result = builder.emit_output(
      te::call_kernel(builder.handle(), use.function, use.name, arguments, results));
  return builder.finish("main", result, {{"num_input", count}});
}

int64_t weight_bytes(const IRModule& module) {
  const Expr main = find_function(module, "main");
  const auto params = field<Array<Var>>(main, "params");
  const auto inputs = function_attr(main, "num_input");
  int64_t bytes = 0;
  for (size_t i = inputs ? inputs->cast<size_t>() : params.size(); i < params.size(); ++i) {
    const auto shape = known_shape(params[i]);
    if (!shape) continue;
    int64_t items = 1;
    for (const int64_t extent : *shape) items *= extent;
    bytes += items * dtype_of(params[i]).bits / 8;
  }
  return bytes;
}

std::map<WinogradProblem, int> winograd_problems(const IRModule& module) {
  std::map<WinogradProblem, int> problems;
  use_winograd(module, "main", [&](const WinogradProblem& problem) {
    ++problems[problem];
    return std::nullopt;
  });
  return problems;
}

std::string problem_name(const WinogradProblem& problem) {
  return fmt::format("conv3x3 {}x{}x{}x{}x{}", problem.batch, problem.height, problem.width,
                     problem.channels, problem.outputs);
}

IRModule convolution_module(const WinogradProblem& problem) {
  const std::vector<int64_t> input{problem.batch, problem.height, problem.width, problem.channels};
  const std::vector<int64_t> weight{3, 3, problem.channels, problem.outputs};
  const Var x = var("x", tensor_type(input, float32));
  const Var w = var("w", tensor_type(weight, float32));
  BlockBuilder builder({x, w});
  const Var result = builder.emit_output(relax::conv2d_channels_last(x, w, {1, 1}, {1, 1, 1, 1}));
  return builder.finish("main", result, {{"num_input", int64_t{1}}});
}

}  // namespace nnef_tvm
