// Machine code for NVIDIA's GPUs by the CUDA toolkit's nvcc, which needs no GPU.
#pragma once

#include <optional>
#include <string>

#include "nnef/diagnostic.h"
#include "tvm/object.h"

namespace nnef_tvm::cuda {

/// What kernels are compiled for when no architecture is named and no device is there.
inline constexpr const char* kCommonArchitecture = "sm_80";

/// "sm_90" of a target for CUDA.
std::string architecture(const Target& target);

/// A target for an architecture, with its devices' limits.
Target target_for(const std::string& architecture);

/// nvcc's path: in $CUDA_HOME/bin; without CUDA_HOME, in $PATH or /usr/local/cuda/bin. Nullopt when
/// there is none.
std::optional<std::string> find_nvcc();

/// Whether the toolkit is there; reports "compile/cuda-toolkit".
bool check_toolkit(nnef::Diagnostics& diagnostics);

/// Throws tvm::ffi::Error with nvcc's first message when it refuses the code.
std::string compile_to_cubin(const std::string& source, const std::string& architecture);

}  // namespace nnef_tvm::cuda
