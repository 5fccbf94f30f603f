#include "reference/value.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tensor_items.h"

namespace nnef {
namespace reference {
namespace {

/// The number of the low bits of `value` that the item type reads from them.
int64_t wrapped(const ItemType& item, Integer value) {
  if (item.code == ItemCode::bool_) return value != 0 ? 1 : 0;
  const uint32_t unused = 64 - item.bits;
  const auto bits = static_cast<uint64_t>(value) << unused;
  return item.code == ItemCode::int_ ? static_cast<int64_t>(bits) >> unused
                                     : static_cast<int64_t>(bits >> unused);
}

Integer truncated(const ItemType& item, double value) {
  if (item.code == ItemCode::bool_) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  const bool is_signed = item.code == ItemCode::int_;
  const Integer beyond = Integer{1} << (is_signed ? item.bits - 1 : item.bits);
  const Integer lowest = is_signed ? -beyond : Integer{0};
  if (value >= static_cast<double>(beyond)) return beyond - 1;
  if (value <= static_cast<double>(lowest)) return lowest;
  return static_cast<Integer>(value);
}

template <typename T>
TensorValue to_numbers(DType dtype, const ItemType& item, Index shape,
                       const std::vector<T>& items) {
  TensorValue result{dtype, item, std::move(shape), {}};
  if (dtype == DType::scalar) {
    auto& reals = result.items.emplace<TensorValue::Reals>();
    for (const T value : items) reals.push_back(rounded(item, static_cast<double>(value)));
    return result;
  }
  auto& integers = result.items.emplace<TensorValue::Integers>();
  for (const T value : items) {
    if constexpr (std::is_same_v<T, double>) {
      integers.push_back(static_cast<int64_t>(truncated(item, value)));
    } else {
      integers.push_back(wrapped(item, value));
    }
  }
  return result;
}

}  // namespace

double rounded(const ItemType& item, double value) {
  if (item.code != ItemCode::float_ || item.bits == 64) return value;
  return item.bits == 16 ? half_to_float(double_to_half(value)) : static_cast<float>(value);
}

TensorValue make_value(DType dtype, const ItemType& item, Index shape,
                       const std::vector<double>& items) {
  return to_numbers(dtype, item, std::move(shape), items);
}

TensorValue make_value(DType dtype, const ItemType& item, Index shape,
                       const std::vector<Integer>& items) {
  return to_numbers(dtype, item, std::move(shape), items);
}

std::vector<Integer> wide_items(const TensorValue& value) {
  const auto& items = std::get<TensorValue::Integers>(value.items);
  if (value.item.code != ItemCode::uint_) return {items.begin(), items.end()};
  std::vector<Integer> wide(items.size());
  std::ranges::transform(items, wide.begin(),
                         [](int64_t item) { return static_cast<uint64_t>(item); });
  return wide;
}

std::vector<double> real_items(const TensorValue& value) {
  if (const auto* reals = std::get_if<TensorValue::Reals>(&value.items)) return *reals;
  const std::vector<Integer> wide = wide_items(value);
  return {wide.begin(), wide.end()};
}

Index to_extents(const Shape& shape) {
  Index extents;
  for (const Dim& extent : shape) extents.push_back(extent.value());
  return extents;
}

}  // namespace reference

std::optional<TensorValue> to_value(const TensorData& data, DType dtype, const ItemType& item) {
  const reference::Index shape = reference::to_extents(data.shape);
  if (const auto integers = to_integers(data)) {
    const TensorValue stored{DType::integer, data.type, shape, *integers};
    return reference::make_value(dtype, item, shape, reference::wide_items(stored));
  }
  const auto reals = to_doubles(data);
  if (!reals) return std::nullopt;
  return reference::make_value(dtype, item, shape, *reals);
}

TensorData to_data(const TensorValue& value) {
  TensorData data;
  data.type = value.item;
  data.type.bits = std::bit_ceil(std::max<uint32_t>(value.item.bits, 8));
  data.shape = Shape(value.shape.begin(), value.shape.end());
  const size_t width = data.type.bits / 8;
  auto bytes = std::make_shared<std::vector<std::byte>>();
  const auto append = [&](uint64_t bits) {
    const size_t end = bytes->size();
    bytes->resize(end + width);
    std::memcpy(bytes->data() + end, &bits, width);
  };
  if (const auto* integers = std::get_if<TensorValue::Integers>(&value.items)) {
    for (const int64_t item : *integers) append(static_cast<uint64_t>(item));
  } else {
    for (const double item : std::get<TensorValue::Reals>(value.items)) {
      if (width == 2) append(double_to_half(item));
      if (width == 4) append(std::bit_cast<uint32_t>(static_cast<float>(item)));
      if (width == 8) append(std::bit_cast<uint64_t>(item));
    }
  }
  data.bytes = *bytes;
  data.owner = std::move(bytes);
  return data;
}

}  // namespace nnef
