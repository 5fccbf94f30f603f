// What a compiled model does, for those who look at its speed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nnef_runtime {

/// An operation of the model as it came to the compiler.
struct OperationSpec {
  std::string name;    ///< "conv"
  std::string tensor;  ///< the one that it computes, or the first of them
  std::string source;  ///< "graph.nnef:12", where the frontend knew
};

/// One call of a kernel.
struct KernelSpec {
  std::string name;
  double flops = 0;  ///< of its operations: 2 for a multiplication with an addition, 1 for an item
                     ///< of another result, none for items that only move
  uint64_t bytes = 0;                ///< of its arguments and results
  std::vector<uint32_t> operations;  ///< places in Program::operations, in their order
};

/// A run of main: calls of kernels, in order.
struct Program {
  std::vector<OperationSpec> operations;
  std::vector<KernelSpec> kernels;
};

}  // namespace nnef_runtime
