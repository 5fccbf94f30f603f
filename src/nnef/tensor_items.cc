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

}  // namespace

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

uint16_t half_from_double(double value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::abs(value);
  if (std::isnan(value)) return 0x7e00;
  constexpr double limit = 65520;  // from here on the nearest half is infinity
  if (magnitude >= limit) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude == 0) return sign;
  // In units of the last place; a carry into the exponent gives the right bits.
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const auto units = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<uint16_t>(sign | ((exponent + 14) * 1024 + units));
}

double item_value(const ItemType& type, uint64_t raw) {
  switch (type.code) {
    case ItemCode::float_:
      if (type.bits == 16) return half_to_float(static_cast<uint16_t>(raw));
      if (type.bits == 32) return std::bit_cast<float>(static_cast<uint32_t>(raw));
      return std::bit_cast<double>(raw);
    case ItemCode::int_: {
      const uint32_t unused = 64 - type.bits;
      return static_cast<double>(static_cast<int64_t>(raw << unused) >> unused);
    }
    case ItemCode::bool_:
      return raw != 0 ? 1.0 : 0.0;
    default:
      return static_cast<double>(raw);
  }
}

std::string to_string(const ItemType& type) {
  const CodeInfo* info = find_code(type.code);
  if (type.vendor != 0 || info == nullptr) {
    return fmt::format("vendor 0x{:04x} code 0x{:04x} of {} bits", type.vendor,
                       static_cast<unsigned>(type.code), type.bits);
  }
  return fmt::format("{}{}", info->name, type.bits);
}

std::optional<uint64_t> byte_size(const ItemType& type, uint64_t items) {
  uint64_t bits = 0;
  if (__builtin_mul_overflow(items, uint64_t{type.bits}, &bits)) return std::nullopt;
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

std::optional<std::vector<uint64_t>> raw_items(const TensorData& data) {
  const ItemType& type = data.type;
  const bool quantized =
      type.code == ItemCode::quantized_uint || type.code == ItemCode::quantized_int;
  if (quantized || type.vendor != 0 || find_code(type.code) == nullptr || !valid_width(type)) {
    return std::nullopt;
  }
  const Dim items = volume(data.shape);
  if (!items.valid() || items.value() < 0) return std::nullopt;
  const auto count = static_cast<uint64_t>(items.value());
  const std::optional<uint64_t> needed = byte_size(type, count);
  if (!needed || *needed > data.bytes.size()) return std::nullopt;

  std::vector<uint64_t> raw(count);
  const uint32_t item_bytes = type.bits / 8;
  for (uint64_t i = 0; i < count; ++i) {
    raw[i] = type.bits % 8 == 0 ? whole_bytes(data.bytes, i * item_bytes, item_bytes)
                                : packed_bits(data.bytes, i * type.bits, type.bits);
  }
  return raw;
}

std::optional<std::vector<double>> to_doubles(const TensorData& data) {
  const auto raw = raw_items(data);
  if (!raw) return std::nullopt;
  std::vector<double> values;
  values.reserve(raw->size());
  for (const uint64_t item : *raw) values.push_back(item_value(data.type, item));
  return values;
}

}  // namespace nnef
