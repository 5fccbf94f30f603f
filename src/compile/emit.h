// A model as files for applications without TVM: each kernel in OpenCL C, SPIR-V and CUDA C++, the
// weights, and a manifest that says which kernels run on which buffers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef_runtime/session.h"
#include "tvm/object.h"

namespace nnef_tvm {

struct EmittedBuffer {
  nnef_runtime::TensorSpec tensor;
  std::optional<size_t> shares;  ///< another buffer, whose memory it is
};

/// A kernel in one language.
struct EmittedCode {
  std::string language;  ///< "opencl", "vulkan", "cuda"
  std::string code;
  std::string problem;  ///< why there is no code
};

struct EmittedKernel {
  std::string name;
  std::vector<DLDataType> arguments;  ///< of items of buffers, and of numbers
  std::vector<bool> is_buffer;        ///< one for each argument
  std::vector<EmittedCode> code;
};

struct EmittedArgument {
  std::optional<size_t> buffer;
  double number = 0;
};

struct EmittedStep {
  size_t kernel = 0;
  std::vector<EmittedArgument> arguments;
  int64_t groups[3] = {1, 1, 1};
  int64_t threads[3] = {1, 1, 1};
};

struct EmittedProgram {
  std::vector<EmittedBuffer> buffers;
  std::vector<size_t> inputs, outputs, weights;  ///< buffers
  std::vector<ffi::Tensor> weight_values;
  std::vector<EmittedKernel> kernels;
  std::vector<EmittedStep> steps;
};

/// What the scheduled module's "main", whose parameters are `inputs` and then weights, does on a
/// device. Reports "emit/..." when it cannot be said without TVM.
std::optional<EmittedProgram> emit(const IRModule& scheduled,
                                   const std::vector<nnef_runtime::TensorSpec>& inputs,
                                   const std::vector<nnef_runtime::TensorSpec>& outputs,
                                   const std::vector<ffi::Tensor>& weights,
                                   nnef::Diagnostics& diagnostics);

/// Writes the files. Reports "emit/write".
bool write_program(const EmittedProgram& program, const std::string& folder,
                   nnef::Diagnostics& diagnostics);

}  // namespace nnef_tvm
