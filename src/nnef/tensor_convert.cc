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

/// A whole number (uint64 as the int64 of the same bits) in another type; nothing when it has no
/// place there.
std::optional<uint64_t> whole_item(const ItemType& from, int64_t value, const ItemType& to) {
  const bool negative = from.code == ItemCode::int_ && value < 0;
  const uint32_t value_bits = to.code == ItemCode::bool_  ? 1
                              : to.code == ItemCode::int_ ? to.bits - 1
                                                          : to.bits;
  if (negative && (to.code != ItemCode::int_ || value >> value_bits != -1)) return std::nullopt;
  const auto bits = static_cast<uint64_t>(value);
  if (!negative && value_bits < 64 && bits >> value_bits != 0) return std::nullopt;
  return bits;
}

/// A number in a floating-point type, rounded; nothing when a finite one becomes infinite.
std::optional<uint64_t> real_item(double value, const ItemType& to) {
  if (to.bits == 64) return std::bit_cast<uint64_t>(value);
  const auto narrow = static_cast<float>(value);
  const uint16_t half = double_to_half(value);
  const float stored = to.bits == 16 ? half_to_float(half) : narrow;
  if (std::isfinite(value) && !std::isfinite(stored)) return std::nullopt;
  return to.bits == 16 ? half : std::bit_cast<uint32_t>(narrow);
}

}  // namespace

std::optional<TensorData> convert(const TensorData& data, const ItemType& to, std::string& fault) {
  if (data.type == to && to.code != ItemCode::bool_) return data;
  const auto reals = to_doubles(data);
  const auto integers = to_integers(data);
  if (!reals || !storable(to) || (!integers && !is_real(to))) {
    fault =
        fmt::format("items of type {} cannot be taken as {}", to_string(data.type), to_string(to));
    return std::nullopt;
  }
  const size_t width = to.bits / 8;
  auto bytes = std::make_shared<std::vector<std::byte>>(reals->size() * width);
  for (size_t i = 0; i < reals->size(); ++i) {
    const auto item =
        is_real(to) ? real_item((*reals)[i], to) : whole_item(data.type, (*integers)[i], to);
    if (!item) {
      fault = fmt::format("item {} is {}, which {} cannot hold", i, (*reals)[i], to_string(to));
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
