#include "relax/weights.h"

#include <fmt/format.h>

#include <tvm/ffi/dtype.h>

#include <algorithm>
#include <cstring>

#include "nnef/quantization.h"
#include "relax/lowering.h"

namespace nnef_tvm {
namespace {

using nnef::ItemCode;

/// TVM's kernels may use aligned vector loads.
constexpr uintptr_t view_alignment = 64;

bool stored_as(const nnef::TensorData& data, DLDataType dtype) {
  if (data.type.vendor != 0 || data.type.bits != dtype.bits) return false;
  if (dtype.code == kDLFloat) return data.type.code == ItemCode::float_;
  if (dtype.code == kDLInt) return data.type.code == ItemCode::int_;
  if (dtype.code == kDLUInt) return data.type.code == ItemCode::uint_;
  // Any bit pattern but 0 and 1 would be undefined as bool.
  return data.type.code == ItemCode::bool_ &&
         std::all_of(data.bytes.begin(), data.bytes.end(),
                     [](std::byte b) { return b <= std::byte{1}; });
}

bool is_integer(DLDataType dtype) { return dtype.code == kDLInt || dtype.code == kDLUInt; }

bool fits(int64_t value, DLDataType dtype) {
  if (dtype.bits == 64) return true;
  const int64_t range = int64_t{1} << (dtype.code == kDLInt ? dtype.bits - 1 : dtype.bits);
  return value < range && value >= (dtype.code == kDLInt ? -range : 0);
}

/// Calls `visit` with a null pointer to the type of the tensor's items; false for items that
/// weights never have.
template <typename Visit>
bool with_item_type(DLDataType dtype, const Visit& visit) {
  if (dtype == float32) return visit(static_cast<float*>(nullptr)), true;
  if (dtype.code == kDLFloat && dtype.bits == 64) return visit(static_cast<double*>(nullptr)), true;
  if (dtype == boolean) return visit(static_cast<bool*>(nullptr)), true;
  if (!is_integer(dtype)) return false;
  // Two's complement: the narrowing of an int64 that fits is the same for both signs.
  if (dtype.bits == 8) return visit(static_cast<uint8_t*>(nullptr)), true;
  if (dtype.bits == 16) return visit(static_cast<uint16_t*>(nullptr)), true;
  if (dtype.bits == 32) return visit(static_cast<uint32_t*>(nullptr)), true;
  if (dtype.bits == 64) return visit(static_cast<uint64_t*>(nullptr)), true;
  return false;
}

template <typename From>
bool store(const std::vector<From>& values, ffi::Tensor& tensor) {
  return with_item_type(tensor.dtype(), [&]<typename To>(To*) {
    std::transform(values.begin(), values.end(), static_cast<To*>(tensor.data_ptr()),
                   [](From value) { return static_cast<To>(value); });
  });
}

std::optional<ffi::Tensor> not_numbers(const nnef::Tensor& variable,
                                       nnef::Diagnostics& diagnostics) {
  diagnostics
      .error("import/item-type", variable.where,
             fmt::format("the data of variable '{}' has items of type {}, which cannot be "
                         "converted to numbers",
                         variable.name, nnef::to_string(variable.data->type)))
      .help(
          "quantised items need an entry of graph.quant, such as linear_quantize(min = -1.0, max = "
          "1.0, bits = 8)");
  return std::nullopt;
}

/// Integers and logicals, which never pass through floating point.
std::optional<ffi::Tensor> integer_tensor(const nnef::Tensor& variable, const Ints& shape,
                                          DLDataType dtype, nnef::Diagnostics& diagnostics) {
  const auto values = nnef::to_integers(*variable.data);
  if (!values) return not_numbers(variable, diagnostics);
  const auto bad = std::ranges::find_if_not(
      *values, [&](int64_t value) { return dtype == boolean || fits(value, dtype); });
  if (bad != values->end()) {
    diagnostics.error(
        "import/integer-range", variable.where,
        fmt::format("item {} of variable '{}' is {}, which does not fit in items of type {}",
                    bad - values->begin(), variable.name, *bad,
                    std::string(ffi::DLDataTypeToString(dtype))));
    return std::nullopt;
  }
  ffi::Tensor tensor = empty_tensor(shape, dtype);
  return store(*values, tensor) ? std::optional(tensor) : not_numbers(variable, diagnostics);
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
  const DLDataType dtype = relax_dtype(variable);
  const Ints shape = to_extents(data.shape);
  if (stored_as(data, dtype)) {
    const bool aligned = reinterpret_cast<uintptr_t>(data.bytes.data()) % view_alignment == 0;
    if (aligned) return view_tensor(data.bytes.data(), shape, dtype, variable.data);
    ffi::Tensor copy = empty_tensor(shape, dtype);
    if (!data.bytes.empty()) std::memcpy(copy.data_ptr(), data.bytes.data(), data.bytes.size());
    return copy;
  }

  if (dtype.code != kDLFloat) return integer_tensor(variable, shape, dtype, diagnostics);
  const auto values = nnef::real_values(variable);
  ffi::Tensor tensor = empty_tensor(shape, dtype);
  return values && store(*values, tensor) ? std::optional(tensor)
                                          : not_numbers(variable, diagnostics);
}

}  // namespace nnef_tvm
