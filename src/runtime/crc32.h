// zlib's CRC-32.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nnef_runtime {

inline uint32_t crc32(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = [] {
    std::array<uint32_t, 256> rows{};
    for (uint32_t row = 0; row < rows.size(); ++row) {
      uint32_t value = row;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1) != 0 ? 0xedb88320u : 0u);
      rows[row] = value;
    }
    return rows;
  }();
  uint32_t crc = 0xffffffffu;
  for (char byte : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<uint8_t>(byte)) & 0xff];
  return crc ^ 0xffffffffu;
}

}  // namespace nnef_runtime
