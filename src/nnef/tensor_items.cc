// Item types and the values of items.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "tensor_items.h"

namespace nnef {
namespace {

constexpr CodeInfo kCodes[] = {
    {ItemCode::float_, "float", "16, 32 or 64"},
    {ItemCode::uint_, "uint", "1 to 64"},
    {ItemCode::quantized_uint, "quint", "1 to 64"},
    {ItemCode::quantized_int, "qint", "1 to 64"},
    {ItemCode::int_, "int", "1 to 64"},
    {ItemCode::bool_, "bool", "1 or 8"},
};

/// An item of `bits` bits (at most 64) at bit `position` of a stream, most significant bit first.
uint64_t packed_bits(std::span<const std::byte> bytes, uint64_t position, uint32_t bits) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < bits; ++i, ++position) {
    const auto byte = std::to_integer<uint32_t>(bytes[position / 8]);
    value = value << 1 | (byte >> (7 - position % 8) & 1);
  }
  return value;
}

uint64_t whole_bytes(std::span<const std::byte> bytes, uint64_t offset, uint32_t count) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < count; ++i) {
    value |= std::to_integer<uint64_t>(bytes[offset + i]) << (8 * i);
  }
  return value;
}

int64_t to_integer(const ItemType& type, uint64_t raw) {
  if (type.code == ItemCode::bool_) return raw != 0 ? 1 : 0;
  if (type.code != ItemCode::int_) return static_cast<int64_t>(raw);
  const uint32_t unused = 64 - type.bits;
  return static_cast<int64_t>(raw << unused) >> unused;
}

double to_double(const ItemType& type, uint64_t raw) {
  switch (type.code) {
    case ItemCode::float_:
      if (type.bits == 16) return half_to_float(static_cast<uint16_t>(raw));
      if (type.bits == 32) return std::bit_cast<float>(static_cast<uint32_t>(raw));
      return std::bit_cast<double>(raw);
    case ItemCode::uint_:
      return static_cast<double>(raw);
    default:
      return static_cast<double>(to_integer(type, raw));
  }
}

/// Items that stand for themselves: not quantised, of no vendor.
bool is_plain(const ItemType& type) {
  return type.vendor == 0 && !is_quantized(type) && find_code(type.code) != nullptr &&
         valid_width(type);
}

/// Every item, as `convert` makes it of its bits.
template <typename T>
std::optional<std::vector<T>> read_items(const TensorData& data,
                                         T (*convert)(const ItemType&, uint64_t)) {
  const ItemType& type = data.type;
  if (!is_plain(type)) return std::nullopt;
  const Dim items = volume(data.shape);
  if (!items.valid() || items.value() < 0) return std::nullopt;
  const auto count = static_cast<uint64_t>(items.value());
  const std::optional<uint64_t> needed = byte_size(type, count);
  if (!needed || *needed > data.bytes.size()) return std::nullopt;

  std::vector<T> values(count);
  const uint32_t item_bytes = type.bits / 8;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t raw = type.bits % 8 == 0 ? whole_bytes(data.bytes, i * item_bytes, item_bytes)
                                            : packed_bits(data.bytes, i * type.bits, type.bits);
    values[i] = convert(type, raw);
  }
  return values;
}

}  // namespace

bool is_quantized(const ItemType& type) {
  return type.vendor == 0 &&
         (type.code == ItemCode::quantized_uint || type.code == ItemCode::quantized_int);
}

std::span<const CodeInfo> item_codes() { return kCodes; }

const CodeInfo* find_code(ItemCode code) {
  for (const CodeInfo& info : kCodes) {
    if (info.code == code) return &info;
  }
  return nullptr;
}

bool valid_width(const ItemType& type) {
  switch (type.code) {
    case ItemCode::float_:
      return type.bits == 16 || type.bits == 32 || type.bits == 64;
    case ItemCode::bool_:
      return type.bits == 1 || type.bits == 8;
    default:
      return type.bits >= 1 && type.bits <= 64;
  }
}

float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 0x1fu;
  const uint32_t mantissa = half & 0x3ffu;
  if (exponent == 0) {  // zero and subnormal: mantissa * 2^-24
    const float magnitude = std::ldexp(static_cast<float>(mantissa), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1f ? 0xffu : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

uint16_t double_to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000u : 0;
  if (std::isnan(value)) return sign | 0x7e00u;
  constexpr int kLeastExponent = -14;
  constexpr double kBeyond = 65536;  // rounds to infinity, as the largest exponent would not
  const double magnitude = std::min(std::abs(value), kBeyond);
  const int exponent =
      magnitude == 0 ? kLeastExponent : std::max(std::ilogb(magnitude), kLeastExponent);
  // Normal items have the bit 1024 here, which adds 1 to the exponent's field.
  const auto mantissa = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  const uint32_t field = static_cast<uint32_t>(exponent - kLeastExponent) << 10;
  return static_cast<uint16_t>(sign | std::min<uint32_t>(field + mantissa, 0x7c00u));
}

std::string to_string(const ItemType& type) {
  const CodeInfo* info = find_code(type.code);
  if (type.vendor != 0 || info == nullptr) {
    return fmt::format("vendor 0x{:04x} code 0x{:04x} of {} bits", type.vendor,
                       static_cast<unsigned>(type.code), type.bits);
  }
  return fmt::format("{}{}", info->name, type.bits);
}

std::optional<ItemType> parse_item_type(std::string_view name) {
  if (name == "bool") return ItemType{ItemCode::bool_, 0, 8};
  for (const CodeInfo& info : kCodes) {
    for (const uint32_t bits : {8u, 16u, 32u, 64u}) {
      const ItemType type{info.code, 0, bits};
      if (valid_width(type) && to_string(type) == name) return type;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> byte_size(const ItemType& type, uint64_t items) {
  uint64_t bits = 0;
  if (__builtin_mul_overflow(items, uint64_t{type.bits}, &bits)) return std::nullopt;
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

std::optional<std::vector<double>> to_doubles(const TensorData& data) {
  return read_items<double>(data, to_double);
}

std::optional<std::vector<int64_t>> to_integers(const TensorData& data) {
  if (data.type.code == ItemCode::float_) return std::nullopt;
  return read_items<int64_t>(data, to_integer);
}

}  // namespace nnef
