// Relax to machine code: passes, legalisation, schedules, build. Knows no NNEF: any Relax module
// will do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nnef_runtime/session.h"
#include "tvm/object.h"

namespace nnef_tvm {

struct CompileOptions {
  std::string target = "llvm";  ///< llvm (this machine's CPU) or TVM's JSON target
};

/// The result: an executable whose "main" takes the inputs, then `parameters` (already packed for
/// the kernels).
struct Compiled {
  ffi::Module executable;
  std::vector<ffi::Tensor> parameters;
  std::vector<std::string> parameter_names;  ///< of the Relax variables
  std::vector<nnef_runtime::TensorSpec> inputs;
  std::vector<nnef_runtime::TensorSpec> outputs;
  std::string target_json;
  std::vector<std::string>
      cpu_features;  ///< features that the code uses, by GCC's names ("avx512f")
};

/// `module` has a function "main" with attribute num_input = number of inputs; `params` are the
/// values of the other parameters. What depends on parameters alone is computed now (constant
/// folding of whole weight chains). `inputs` and `outputs` name the tensors for the metadata.
/// Reports "compile/..." diagnostics.
std::optional<Compiled> compile(IRModule module, std::vector<ffi::Tensor> params,
                                std::vector<nnef_runtime::TensorSpec> inputs,
                                std::vector<nnef_runtime::TensorSpec> outputs,
                                const CompileOptions& options, nnef::Diagnostics& diagnostics);

/// Writes the artefact (src/runtime/artefact_format.h) by way of a temporary file beside it, so
/// that nothing partial is left behind.
bool write_artefact(const Compiled& compiled, const std::string& path,
                    nnef::Diagnostics& diagnostics);

}  // namespace nnef_tvm
