// Between files' tensors (nnef::TensorData) and the runtime's (tvm::ffi::Tensor).
#pragma once

#include <optional>
#include <string>

#include "nnef/tensor_file.h"
#include "nnef_runtime/session.h"

namespace nnefc {

/// The items of input `name` in another item type; reports "run/input-items" for items that it
/// cannot hold.
std::optional<nnef::TensorData> converted_input(const nnef::TensorData& data,
                                                const nnef::ItemType& to, const std::string& name,
                                                const std::string& path,
                                                nnef::Diagnostics& diagnostics);
/// A CPU tensor with the items of `data` in the item type of `spec`. The shape is that of `data`.
std::optional<tvm::ffi::Tensor> to_tensor(const nnef::TensorData& data,
                                          const nnef_runtime::TensorSpec& spec,
                                          const std::string& path, nnef::Diagnostics& diagnostics);
/// A view of a contiguous CPU tensor, which it keeps alive.
nnef::TensorData tensor_data(const tvm::ffi::Tensor& tensor);
/// Seeded by `seed`: standard normal floats, small non-negative integers, fair logicals.
tvm::ffi::Tensor random_tensor(const nnef_runtime::TensorSpec& spec, uint64_t seed);
/// "float32 [1,10], min -1.2, max 3.4, mean 0.1"
std::string summary(const nnef::TensorData& data);

}  // namespace nnefc
