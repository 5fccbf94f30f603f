#include "tensor_tract.h"

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "nnef/file.h"
#include "tensor_items.h"

namespace nnef {
namespace {

constexpr size_t kHeaderSize = 128;
constexpr uint32_t kMaxRank = 8;
constexpr uint32_t kVendor = 0x5452;  // "TR"
constexpr size_t kBlock = 32;         // items

// Offsets in the header.
constexpr uint32_t kLengthAt = 4;
constexpr uint32_t kRankAt = 8;
constexpr uint32_t kExtentsAt = 12;
constexpr uint32_t kCodeAt = 48;
constexpr uint32_t kVendorAt = 50;

uint32_t load(std::span<const std::byte> bytes, size_t at, uint32_t count) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < count; ++i) value |= std::to_integer<uint32_t>(bytes[at + i]) << (8 * i);
  return value;
}

float half_at(std::span<const std::byte> bytes, size_t at) {
  return half_to_float(static_cast<uint16_t>(load(bytes, at, 2)));
}

/// The items of one block.
using Decode = void (*)(std::span<const std::byte> block, float* items);

/// A scale, then 4-bit codes less 8: the first half of the block in low nibbles, the second in high
/// ones.
void decode_q4_0(std::span<const std::byte> block, float* items) {
  const float scale = half_at(block, 0);
  for (size_t i = 0; i < kBlock / 2; ++i) {
    const uint32_t code = load(block, 2 + i, 1);
    items[i] = scale * (static_cast<float>(code & 15) - 8);
    items[i + kBlock / 2] = scale * (static_cast<float>(code >> 4) - 8);
  }
}

/// The same with neighbours in one byte.
void decode_old_q4_0(std::span<const std::byte> block, float* items) {
  const float scale = half_at(block, 0);
  for (size_t i = 0; i < kBlock / 2; ++i) {
    const uint32_t code = load(block, 2 + i, 1);
    items[2 * i] = scale * (static_cast<float>(code & 15) - 8);
    items[2 * i + 1] = scale * (static_cast<float>(code >> 4) - 8);
  }
}

/// A scale, the scaled sum of the codes (which only products need), then 8-bit codes.
void decode_q8_1(std::span<const std::byte> block, float* items) {
  const float scale = half_at(block, 0);
  for (size_t i = 0; i < kBlock; ++i) {
    items[i] = scale * static_cast<float>(static_cast<int8_t>(load(block, 4 + i, 1)));
  }
}

struct BlockFormat {
  uint32_t code;
  std::string_view name;
  size_t bytes;  ///< of one block
  Decode decode;
};
constexpr std::array kBlockFormats{
    BlockFormat{0x2040, "Q4_0", 18, decode_old_q4_0},
    BlockFormat{0x3040, "Q4_0", 18, decode_q4_0},
    BlockFormat{0x3080, "Q8_1", 36, decode_q8_1},
    BlockFormat{0x3081, "Q8_1", 36, decode_q8_1},
};

constexpr uint32_t kStrings = 0x1000;

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::string& name, Diagnostics& diagnostics)
      : bytes_(bytes), name_(name), diagnostics_(diagnostics) {}

  TensorDataPtr read() {
    const uint32_t code = load(bytes_, kCodeAt, 2);
    for (const BlockFormat& format : kBlockFormats) {
      if (format.code == code) return read_blocks(format);
    }
    fail("dat/vendor", kCodeAt,
         fmt::format("items of tract's type 0x{:04x} ({}) are not supported", code,
                     code == kStrings ? "strings" : "complex numbers, or unknown"))
        .help("of tract's own types, blocks of Q4_0 and Q8_1 are read");
    return nullptr;
  }

 private:
  Diagnostic& fail(std::string id, uint64_t at, std::string message) {
    return diagnostics_.file_error(std::move(id), name_, at, std::move(message));
  }

  bool read_shape(Shape& shape) {
    const uint32_t rank = load(bytes_, kRankAt, 4);
    if (rank == 0 || rank > kMaxRank) {
      fail("dat/rank", kRankAt, fmt::format("rank {}, expected 1 to {}", rank, kMaxRank));
      return false;
    }
    for (uint32_t i = 0; i < rank; ++i) {
      shape.emplace_back(int64_t{load(bytes_, kExtentsAt + 4 * i, 4)});
    }
    return true;
  }

  /// Blocks go along the rows: all axes but the first, taken as one. The sizes are those of the
  /// file, so that no more is allocated than a few times its bytes.
  TensorDataPtr read_blocks(const BlockFormat& format) {
    auto data = std::make_shared<TensorData>();
    if (!read_shape(data->shape)) return nullptr;
    const Dim items = volume(data->shape);
    const Dim rows = data->shape.size() == 1 ? Dim(1) : data->shape[0];
    const Dim blocks = floor_div(items, kBlock);
    const Dim row = rows.value() > 0 ? floor_div(items, rows) : Dim();
    if (!items.valid() || !row.valid() || row.value() % kBlock != 0) {
      fail("dat/blocks", kExtentsAt,
           fmt::format("shape {} has rows of {} items, which are no blocks of {}",
                       to_string(data->shape), to_string(row), kBlock));
      return nullptr;
    }
    const Dim expected = blocks * static_cast<int64_t>(format.bytes);
    const uint32_t length = load(bytes_, kLengthAt, 4);
    if (!(expected == static_cast<int64_t>(length))) {
      fail("dat/length", kLengthAt,
           fmt::format("data length {} bytes, but shape {} of {} takes {}", length,
                       to_string(data->shape), format.name, to_string(expected)));
      return nullptr;
    }
    if (bytes_.size() != kHeaderSize + length) {
      const bool shorter = bytes_.size() < kHeaderSize + length;
      fail(shorter ? "dat/truncated" : "dat/trailing", bytes_.size(),
           fmt::format("the file has {} bytes, expected {}", bytes_.size(), kHeaderSize + length));
      return nullptr;
    }
    const Buffer buffer = allocate_buffer(static_cast<uint64_t>(items.value()) * sizeof(float));
    if (buffer.data == nullptr) {
      diagnostics_.file_error("dat/memory", name_, std::nullopt,
                              fmt::format("no memory for {} items", items.value()));
      return nullptr;
    }
    std::array<float, kBlock> decoded;
    for (size_t i = 0; i < static_cast<size_t>(blocks.value()); ++i) {
      format.decode(bytes_.subspan(kHeaderSize + i * format.bytes, format.bytes), decoded.data());
      std::memcpy(buffer.data + i * sizeof(decoded), decoded.data(), sizeof(decoded));
    }
    data->bytes = {buffer.data, static_cast<size_t>(items.value()) * sizeof(float)};
    data->owner = buffer.owner;
    return data;
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  Diagnostics& diagnostics_;
};

}  // namespace

bool is_tract_tensor(std::span<const std::byte> bytes) {
  return bytes.size() >= kHeaderSize && load(bytes, 0, 2) == 0xef4e && load(bytes, 2, 2) == 1 &&
         load(bytes, kVendorAt, 2) == kVendor;
}

TensorDataPtr read_tract_tensor(std::span<const std::byte> bytes, const std::string& name,
                                Diagnostics& diagnostics) {
  return Reader(bytes, name, diagnostics).read();
}

}  // namespace nnef
