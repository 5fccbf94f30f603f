// The kernels of a model, each by itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compile/schedule/cpu/winograd_plan.h"
#include "tvm/object.h"

namespace nnef_tvm {

struct KernelUse {
  std::string name;
  std::string key;  ///< kernel_key()
  PrimFunc function;
  std::vector<bool> weights;  ///< which of its arguments are
  int calls = 0;              ///< in the model
};

/// The kernels that "main" calls, before they are scheduled, each key once.
std::vector<KernelUse> kernel_uses(const IRModule& module);

/// A module whose "main" calls the kernel: parameters are its inputs, then its weights. Throws
/// tvm::ffi::Error when shapes are not known.
IRModule kernel_module(const KernelUse& use);

/// Of all weights of "main" whose shapes are known.
int64_t weight_bytes(const IRModule& module);

/// The convolutions that Winograd's method could do, and how many of each.
std::map<WinogradProblem, int> winograd_problems(const IRModule& module);
/// "conv3x3 1x56x56x64x64"
std::string problem_name(const WinogradProblem& problem);
/// A module whose "main" is such a convolution, padded to the input's extents; the weight is known.
IRModule convolution_module(const WinogradProblem& problem);

}  // namespace nnef_tvm
