#include "tensors.h"

#include <fmt/format.h>
#include <tvm/ffi/dtype.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>

namespace nnefc {
namespace {

using nnef::ItemCode;

constexpr std::array<std::pair<ItemCode, uint8_t>, 4> kCodes{{
    {ItemCode::float_, kDLFloat},
    {ItemCode::uint_, kDLUInt},
    {ItemCode::int_, kDLInt},
    {ItemCode::bool_, kDLBool},
}};

nnef::ItemType item_type(DLDataType type) {
  for (const auto& [code, dl_code] : kCodes) {
    if (dl_code == type.code) return {code, 0, type.bits};
  }
  return {ItemCode::uint_, 0xffff, type.bits};
}

size_t byte_count(const tvm::ffi::Tensor& tensor) {
  return tvm::ffi::GetDataSize(*tensor.GetDLTensorPtr());
}

std::byte* bytes(const tvm::ffi::Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data_ptr());
}

template <typename T, typename Draw>
void fill(const tvm::ffi::Tensor& tensor, Draw draw) {
  T* items = reinterpret_cast<T*>(bytes(tensor));
  std::generate_n(items, byte_count(tensor) / sizeof(T), [&] { return static_cast<T>(draw()); });
}

}  // namespace

std::optional<nnef::TensorData> converted_input(const nnef::TensorData& data,
                                                const nnef::ItemType& to, const std::string& name,
                                                const std::string& path,
                                                nnef::Diagnostics& diagnostics) {
  std::string fault;
  auto converted = nnef::convert(data, to, fault);
  if (!converted) {
    diagnostics.file_error("run/input-items", path, std::nullopt,
                           fmt::format("input '{}': {}", name, fault));
  }
  return converted;
}

std::optional<tvm::ffi::Tensor> to_tensor(const nnef::TensorData& data,
                                          const nnef_runtime::TensorSpec& spec,
                                          const std::string& path, nnef::Diagnostics& diagnostics) {
  const auto converted = converted_input(data, item_type(spec.dtype), spec.name, path, diagnostics);
  if (!converted) return std::nullopt;
  std::vector<int64_t> shape;
  for (const nnef::Dim& extent : data.shape) shape.push_back(extent.value());
  tvm::ffi::Tensor tensor = nnef_runtime::allocate(spec.dtype, shape);
  if (!converted->bytes.empty()) {
    std::memcpy(tensor.data_ptr(), converted->bytes.data(), converted->bytes.size());
  }
  return tensor;
}

nnef::TensorData tensor_data(const tvm::ffi::Tensor& tensor) {
  nnef::TensorData data;
  data.type = item_type(tensor.dtype());
  for (int i = 0; i < tensor.ndim(); ++i) data.shape.emplace_back(tensor.size(i));
  data.bytes = {bytes(tensor), byte_count(tensor)};
  data.owner = std::make_shared<tvm::ffi::Tensor>(tensor);
  return data;
}

tvm::ffi::Tensor random_tensor(const nnef_runtime::TensorSpec& spec, uint64_t seed) {
  tvm::ffi::Tensor tensor = nnef_runtime::allocate(spec.dtype, spec.shape);
  std::mt19937_64 engine(seed);
  std::normal_distribution<float> normal;
  if (spec.dtype.code == kDLFloat && spec.dtype.bits == 32) {
    fill<float>(tensor, [&] { return normal(engine); });
  } else if (spec.dtype.code == kDLFloat && spec.dtype.bits == 64) {
    fill<double>(tensor, [&] { return normal(engine); });
  } else if (spec.dtype.code == kDLInt && spec.dtype.bits == 32) {
    fill<int32_t>(tensor, [&] { return engine() % 4; });
  } else if (spec.dtype.code == kDLInt && spec.dtype.bits == 64) {
    fill<int64_t>(tensor, [&] { return engine() % 4; });
  } else {
    // Bytes 0 and 1: fair logicals, and harmless small items of every other type.
    fill<uint8_t>(tensor, [&] { return engine() % 2; });
  }
  return tensor;
}

std::string summary(const nnef::TensorData& data) {
  std::string text = fmt::format("{} {}", nnef::to_string(data.type), nnef::to_string(data.shape));
  const auto items = nnef::to_doubles(data);
  if (!items || items->empty()) return text;
  const auto [least, greatest] = std::ranges::minmax(*items);
  const double mean =
      std::accumulate(items->begin(), items->end(), 0.0) / static_cast<double>(items->size());
  return text + fmt::format(", min {:.6g}, max {:.6g}, mean {:.6g}", least, greatest, mean);
}

}  // namespace nnefc
