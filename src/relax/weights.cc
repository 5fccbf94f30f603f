#include "relax/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "relax/lowering.h"

namespace nnef_tvm {
namespace {

using nnef::ItemCode;

/// TVM's kernels may use aligned vector loads.
constexpr uintptr_t view_alignment = 64;

bool stored_as(const nnef::TensorData& data, DLDataType dtype) {
  const auto bytes = std::as_bytes(data.bytes);
  const bool aligned = reinterpret_cast<uintptr_t>(bytes.data()) % view_alignment == 0;
  if (data.type.vendor != 0 || data.type.bits != dtype.bits || !aligned) return false;
  if (dtype == float32) return data.type.code == ItemCode::float_;
  if (dtype == int32) return data.type.code == ItemCode::int_;
  // Any bit pattern but 0 and 1 would be undefined as bool.
  return data.type.code == ItemCode::bool_ &&
         std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b <= std::byte{1}; });
}

/// What the items of quantised data stand for: (q + offset) * scale + base.
struct Dequantization {
  double offset = 0;
  double scale = 1;
  double base = 0;
};

/// The value of a scalar or integer argument, if it is one number.
std::optional<double> number(const nnef::Quantization& quantization, std::string_view name) {
  for (const nnef::Argument& argument : quantization.attributes) {
    if (argument.name != name) continue;
    if (const double* scalar = argument.value.get<double>()) return *scalar;
    if (const int64_t* integer = argument.value.get<int64_t>()) {
      return static_cast<double>(*integer);
    }
    if (const bool* logical = argument.value.get<bool>()) return *logical ? 1 : 0;
  }
  return std::nullopt;
}

std::optional<Dequantization> from_range(double low, double high, const nnef::ItemType& type,
                                         bool symmetric) {
  const bool is_signed = type.code == ItemCode::quantized_int;
  const double narrowed = symmetric && is_signed ? 1 : 0;
  const double steps = std::exp2(type.bits) - 1 - narrowed;
  const double zero = is_signed ? std::exp2(type.bits - 1) - narrowed : 0;
  return Dequantization{zero, (high - low) / steps, low};
}

/// By the entry of graph.quant, else by the parameters of old files.
std::optional<Dequantization> dequantization(const nnef::Tensor& variable) {
  const nnef::TensorData& data = *variable.data;
  if (variable.quantization) {
    const nnef::Quantization& entry = *variable.quantization;
    const auto scale = number(entry, "scale");
    const auto zero_point = number(entry, "zero_point");
    if (scale && zero_point) return Dequantization{-*zero_point, *scale, 0};
    const auto low = number(entry, "min");
    const auto high = number(entry, "max");
    const bool symmetric = number(entry, "symmetric").value_or(0) != 0;
    if (low && high) return from_range(*low, *high, data.type, symmetric);
    return std::nullopt;
  }
  float range[2];
  std::memcpy(range, data.parameters, sizeof range);
  if (data.type.code != ItemCode::quantized_uint || !(range[0] < range[1])) return std::nullopt;
  return from_range(range[0], range[1], data.type, false);
}

std::optional<std::vector<double>> real_values(const nnef::Tensor& variable) {
  const nnef::TensorData& data = *variable.data;
  const bool quantized =
      data.type.code == ItemCode::quantized_uint || data.type.code == ItemCode::quantized_int;
  if (!quantized) return nnef::to_doubles(data);
  const auto map = dequantization(variable);
  if (!map) return std::nullopt;
  nnef::TensorData items = data;
  items.type.code = data.type.code == ItemCode::quantized_uint ? ItemCode::uint_ : ItemCode::int_;
  auto values = nnef::to_doubles(items);
  if (!values) return std::nullopt;
  for (double& value : *values) value = (value + map->offset) * map->scale + map->base;
  return values;
}

bool fit_int32(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) {
    return value >= std::numeric_limits<int32_t>::min() &&
           value <= std::numeric_limits<int32_t>::max();
  });
}

template <typename T>
void store(const std::vector<double>& values, ffi::Tensor& tensor) {
  std::transform(values.begin(), values.end(), static_cast<T*>(tensor.data_ptr()),
                 [](double value) { return static_cast<T>(value); });
}

}  // namespace

std::optional<ffi::Tensor> weight_tensor(const nnef::Tensor& variable,
                                         nnef::Diagnostics& diagnostics) {
  if (variable.data == nullptr) {
    diagnostics
        .error("import/no-data", variable.where,
               fmt::format("the data of variable '{}' was not read", variable.name))
        .help("import a model folder or archive, which holds a .dat file for each variable");
    return std::nullopt;
  }
  const nnef::TensorData& data = *variable.data;
  const DLDataType dtype = relax_dtype(variable.item);
  const Ints shape = to_extents(data.shape);
  if (stored_as(data, dtype)) return view_tensor(data.bytes.data(), shape, dtype, variable.data);

  const auto values = real_values(variable);
  if (!values) {
    diagnostics
        .error("import/item-type", variable.where,
               fmt::format("the data of variable '{}' has items of type {}, which cannot be "
                           "converted to numbers",
                           variable.name, nnef::to_string(data.type)))
        .help(
            "quantised items need an entry of graph.quant with one 'zero_point' and 'scale', or "
            "one "
            "'min' and 'max'");
    return std::nullopt;
  }
  if (dtype == int32 && !fit_int32(*values)) {
    diagnostics.error(
        "import/integer-range", variable.where,
        fmt::format("the data of variable '{}' does not fit in 32-bit integers", variable.name));
    return std::nullopt;
  }
  ffi::Tensor tensor = empty_tensor(shape, dtype);
  if (dtype == float32) store<float>(*values, tensor);
  if (dtype == int32) store<int32_t>(*values, tensor);
  if (dtype == boolean) store<bool>(*values, tensor);
  return tensor;
}

}  // namespace nnef_tvm
