// Items of one type as items of another, as long as no number changes into a different one.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "tensor_items.h"

namespace nnef {
namespace {

bool is_real(const ItemType& type) { return type.code == ItemCode::float_; }

/// A type that memory can hold without packing.
bool storable(const ItemType& type) {
  const bool number = is_real(type) || type.code == ItemCode::int_ ||
                      type.code == ItemCode::uint_ || type.code == ItemCode::bool_;
  return number && type.vendor == 0 && valid_width(type) && std::has_single_bit(type.bits) &&
         type.bits >= 8;
}

int64_t sign_extended(uint64_t raw, uint32_t bits) {
  return static_cast<int64_t>(raw << (64 - bits)) >> (64 - bits);
}

/// A whole number's bits in another type; nothing when it has no place there.
std::optional<uint64_t> whole_item(const ItemType& from, uint64_t raw, const ItemType& to) {
  if (from.code == ItemCode::bool_) return raw != 0 ? 1 : 0;
  const int64_t value =
      from.code == ItemCode::int_ ? sign_extended(raw, from.bits) : static_cast<int64_t>(raw);
  const bool negative = from.code == ItemCode::int_ && value < 0;
  const uint32_t value_bits = to.code == ItemCode::bool_  ? 1
                              : to.code == ItemCode::int_ ? to.bits - 1
                                                          : to.bits;
  if (negative && (to.code != ItemCode::int_ || value >> value_bits != -1)) return std::nullopt;
  if (!negative && value_bits < 64 && static_cast<uint64_t>(value) >> value_bits != 0) {
    return std::nullopt;
  }
  return static_cast<uint64_t>(value);
}

/// A number's bits in a floating-point type, rounded; nothing when a finite one becomes infinite.
std::optional<uint64_t> real_item(double value, const ItemType& to) {
  uint64_t raw = std::bit_cast<uint64_t>(value);
  if (to.bits == 32) raw = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (to.bits == 16) raw = half_from_double(value);
  if (std::isfinite(value) && !std::isfinite(item_value(to, raw))) return std::nullopt;
  return raw;
}

}  // namespace

std::optional<TensorData> convert(const TensorData& data, const ItemType& to, std::string& fault) {
  if (data.type == to && to.code != ItemCode::bool_) return data;
  const auto raw = raw_items(data);
  if (!raw || !storable(to) || (is_real(data.type) && !is_real(to))) {
    fault =
        fmt::format("items of type {} cannot be taken as {}", to_string(data.type), to_string(to));
    return std::nullopt;
  }
  const size_t width = to.bits / 8;
  auto bytes = std::make_shared<std::vector<std::byte>>(raw->size() * width);
  for (size_t i = 0; i < raw->size(); ++i) {
    const double value = item_value(data.type, (*raw)[i]);
    const auto item = is_real(to) ? real_item(value, to) : whole_item(data.type, (*raw)[i], to);
    if (!item) {
      fault = fmt::format("item {} is {}, which {} cannot hold", i, value, to_string(to));
      return std::nullopt;
    }
    std::memcpy(bytes->data() + i * width, &*item, width);
  }
  TensorData result;
  result.type = to;
  result.shape = data.shape;
  result.bytes = *bytes;
  result.owner = bytes;
  return result;
}

}  // namespace nnef
