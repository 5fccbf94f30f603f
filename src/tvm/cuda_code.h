// What TVM's code generator for CUDA asks of functions that only Python registers.
#pragma once

namespace nnef_tvm {

/// Registers these functions, unless they are there (in a Python process that imported tvm).
void register_cuda_code();

}  // namespace nnef_tvm
