// NumPy's .npy files (format versions 1.0 to 3.0) as nnef::TensorData.
#pragma once

#include <optional>
#include <string>

#include "nnef/diagnostic.h"
#include "nnef/tensor_file.h"

namespace nnefc {

/// Reads bool, int8 to int64, uint8 to uint64, float16 to float64; items in C or Fortran order come
/// out in row-major order, big-endian ones in this machine's. Reports "npy/...".
std::optional<nnef::TensorData> read_npy(const std::string& path, nnef::Diagnostics& diagnostics);

/// Writes items of whole 8, 16, 32 or 64 bits; one-bit logicals become bool. Leaves no partial file
/// behind.
bool write_npy(const std::string& path, const nnef::TensorData& data,
               nnef::Diagnostics& diagnostics);

/// A .npy or an NNEF .dat file, told apart by content.
std::optional<nnef::TensorData> read_tensor_any(const std::string& path,
                                                nnef::Diagnostics& diagnostics);

}  // namespace nnefc
