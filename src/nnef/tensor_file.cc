#include "nnef/tensor_file.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <limits>
#include <string_view>

#include "nnef/file.h"
#include "tensor_items.h"
#include "tensor_tract.h"

namespace nnef {
namespace {

constexpr uint64_t kHeaderSize = 128;
/// Converters of 2018 wrote four bytes too many (NNEF-Tools issue 48).
constexpr uint64_t kOldHeaderSize = 132;
constexpr uint32_t kMaxRank = 8;
constexpr uint32_t kMagic[] = {0x4e, 0xef};
constexpr std::string_view kGitLfsPointer = "version https://git-lfs";

/// Offsets of the header's fields; all are little endian.
enum Field : uint32_t {
  kMagicAt = 0,
  kVersionAt = 2,
  kLengthAt = 4,
  kRankAt = 8,
  kExtentsAt = 12,
  kBitsAt = 44,
  kCodeAt = 48,
  kVendorAt = 50,
  kParametersAt = 52,
};

uint32_t load(std::span<const std::byte> bytes, uint32_t at, uint32_t count) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < count; ++i) {
    value |= std::to_integer<uint32_t>(bytes[at + i]) << (8 * i);
  }
  return value;
}

void store(std::string& bytes, uint32_t at, uint32_t count, uint32_t value) {
  for (uint32_t i = 0; i < count; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i) & 0xff);
}

/// Reads one header; every field is checked before it is used.
class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& name, Diagnostics& diagnostics)
      : bytes_(bytes), name_(name), diagnostics_(diagnostics) {}

  /// Fills all of `data` but the bytes; false when something is wrong.
  bool read(TensorData& data) {
    if (!check_magic() || !check_version() || !read_extents(data.shape) ||
        !read_item_type(data.type) || !check_length(data.type) || !check_size(data.type)) {
      return false;
    }
    read_parameters(data);
    return true;
  }
  uint64_t data_offset() const { return data_offset_; }
  uint64_t data_size() const { return data_size_; }

 private:
  Diagnostic& report(std::string_view id, std::optional<uint64_t> offset, std::string message) {
    return diagnostics_.file_error(std::string(id), name_, offset, std::move(message));
  }

  bool check_magic() {
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
    if (bytes_.empty()) {
      report("dat/truncated", 0,
             fmt::format("the file is empty, expected a header of {} bytes", kHeaderSize));
      return false;
    }
    if (bytes_.size() >= 2 &&
        (load(bytes_, kMagicAt, 1) != kMagic[0] || load(bytes_, kMagicAt + 1, 1) != kMagic[1])) {
      Diagnostic& error = report("dat/magic", kMagicAt,
                                 fmt::format("not an NNEF tensor file: it begins with the bytes "
                                             "{:02x} {:02x}, expected {:02x} {:02x}",
                                             load(bytes_, kMagicAt, 1),
                                             load(bytes_, kMagicAt + 1, 1), kMagic[0], kMagic[1]));
      if (text.substr(0, kGitLfsPointer.size()) == kGitLfsPointer) {
        error.help("this is a Git LFS pointer, not the data: fetch it with 'git lfs pull'");
      }
      return false;
    }
    if (bytes_.size() >= kHeaderSize) return true;
    report("dat/truncated", bytes_.size(),
           fmt::format("the file ends after {} bytes, within its header of {} bytes", bytes_.size(),
                       kHeaderSize));
    return false;
  }

  bool check_version() {
    const uint32_t major = load(bytes_, kVersionAt, 1);
    const uint32_t minor = load(bytes_, kVersionAt + 1, 1);
    if (major == 1 && minor == 0) return true;
    report("dat/version", kVersionAt,
           fmt::format("tensor file of version {}.{}, expected 1.0", major, minor));
    return false;
  }

  bool read_extents(Shape& shape) {
    const uint32_t rank = load(bytes_, kRankAt, 4);
    if (rank > kMaxRank) {
      report("dat/rank", kRankAt, fmt::format("rank {}, expected at most {}", rank, kMaxRank));
      return false;
    }
    for (uint32_t i = 0; i < rank; ++i) {
      shape.push_back(int64_t{load(bytes_, kExtentsAt + 4 * i, 4)});
    }
    if (const Dim items = volume(shape); items.valid()) {
      items_ = static_cast<uint64_t>(items.value());
      return true;
    }
    report("dat/extents", kExtentsAt,
           fmt::format("shape {} has more items than 64 bits can count", to_string(shape)));
    return false;
  }

  bool read_item_type(ItemType& type) {
    type.bits = load(bytes_, kBitsAt, 4);
    type.code = static_cast<ItemCode>(load(bytes_, kCodeAt, 2));
    type.vendor = static_cast<uint16_t>(load(bytes_, kVendorAt, 2));
    const auto code = static_cast<unsigned>(type.code);
    if (type.vendor != 0) {
      report("dat/vendor", kVendorAt,
             fmt::format("items are of a vendor's own type: vendor 0x{:04x}, code 0x{:04x}, {} "
                         "bits; expected vendor 0x0000 (Khronos) or 0x5452 ('TR', tract)",
                         type.vendor, code, type.bits));
      return false;
    }
    const CodeInfo* info = find_code(type.code);
    if (info == nullptr) {
      std::string known;
      for (const CodeInfo& entry : item_codes()) {
        known += fmt::format("{}{} ({})", known.empty() ? "" : ", ",
                             static_cast<unsigned>(entry.code), entry.name);
      }
      report("dat/item-type", kCodeAt,
             fmt::format("item type code {}, expected one of {}", code, known));
      return false;
    }
    if (valid_width(type)) return true;
    report("dat/bits", kBitsAt,
           fmt::format("{} bits for each item of type '{}', expected {}", type.bits, info->name,
                       info->widths));
    return false;
  }

  bool check_length(const ItemType& type) {
    const uint64_t length = load(bytes_, kLengthAt, 4);
    const std::optional<uint64_t> needed = byte_size(type, items_);
    if (needed && *needed == length) {
      data_size_ = length;
      return true;
    }
    report(
        "dat/length", kLengthAt,
        fmt::format("data length {} bytes, but {} items of type {} take {} bytes", length, items_,
                    to_string(type), needed ? fmt::format("{}", *needed) : "more than 2^64"));
    return false;
  }

  bool check_size(const ItemType& type) {
    const uint64_t size = bytes_.size();
    data_offset_ = kHeaderSize;
    if (size == kHeaderSize + data_size_) return true;
    if (size == kOldHeaderSize + data_size_) {
      data_offset_ = kOldHeaderSize;
      Diagnostic& warning = diagnostics_.warning(
          "dat/old-header", {},
          fmt::format("the header has {} bytes, expected {}; the sizes agree otherwise",
                      kOldHeaderSize, kHeaderSize));
      warning.path = name_;
      warning.offset = kHeaderSize;
      warning.help("converters of 2018 wrote such files; writing the model again mends them");
      return true;
    }
    const bool shorter = size < kHeaderSize + data_size_;
    report(shorter ? "dat/truncated" : "dat/trailing", shorter ? size : kHeaderSize + data_size_,
           fmt::format("the file has {} bytes, expected {}: a header of {} and {} of data ({} "
                       "items of type {})",
                       size, kHeaderSize + data_size_, kHeaderSize, data_size_, items_,
                       to_string(type)));
    return false;
  }

  /// Files of before 2019 say "signed" by a parameter of code 1, which has its own code since.
  void read_parameters(TensorData& data) {
    for (uint32_t i = 0; i < std::size(data.parameters); ++i) {
      data.parameters[i] = load(bytes_, kParametersAt + 4 * i, 4);
    }
    if (data.type.code == ItemCode::uint_ && data.parameters[0] != 0) {
      data.type.code = ItemCode::int_;
      data.parameters[0] = 0;
    }
  }

  std::span<const std::byte> bytes_;
  const std::string& name_;
  Diagnostics& diagnostics_;
  uint64_t items_ = 0;
  uint64_t data_size_ = 0;
  uint64_t data_offset_ = 0;
};

bool aligned(const std::byte* address) {
  return reinterpret_cast<uintptr_t>(address) % kByteAlignment == 0;
}

}  // namespace

TensorDataPtr read_tensor(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name, Diagnostics& diagnostics) {
  if (is_tract_tensor(bytes)) return read_tract_tensor(bytes, name, diagnostics);
  auto data = std::make_shared<TensorData>();
  HeaderReader header(bytes, name, diagnostics);
  if (!header.read(*data)) return nullptr;
  data->bytes = bytes.subspan(header.data_offset(), header.data_size());
  data->owner = std::move(owner);
  if (!data->bytes.empty() && !aligned(data->bytes.data())) {
    const Buffer copy = allocate_buffer(data->bytes.size());
    if (copy.data == nullptr) {
      diagnostics.file_error("dat/memory", name, std::nullopt,
                             fmt::format("no memory for {} bytes", data->bytes.size()));
      return nullptr;
    }
    std::memcpy(copy.data, data->bytes.data(), data->bytes.size());
    data->bytes = {copy.data, data->bytes.size()};
    data->owner = copy.owner;
  }
  return data;
}

TensorDataPtr read_tensor_file(const std::string& path, Diagnostics& diagnostics) {
  auto file = read_file(path, diagnostics);
  if (!file) return nullptr;
  return read_tensor(file->bytes, std::move(file->owner), path, diagnostics);
}

namespace {

/// Whether the format can express the data; the sizes agree then.
bool check_writable(const TensorData& data, const std::string& name, Diagnostics& diagnostics) {
  const auto fail = [&](std::string_view id, std::string message) {
    diagnostics.file_error(std::string(id), name, std::nullopt, std::move(message));
    return false;
  };
  if (data.type.vendor != 0 || find_code(data.type.code) == nullptr || !valid_width(data.type)) {
    return fail("dat/item-type",
                fmt::format("cannot be written: items are of type {}", to_string(data.type)));
  }
  if (data.shape.size() > kMaxRank) {
    return fail("dat/rank", fmt::format("cannot be written: rank {}, the format allows at most {}",
                                        data.shape.size(), kMaxRank));
  }
  constexpr int64_t kMaxExtent = std::numeric_limits<uint32_t>::max();
  for (const Dim& extent : data.shape) {
    if (extent.valid() && extent.value() >= 0 && extent.value() <= kMaxExtent) continue;
    return fail("dat/extents",
                fmt::format("cannot be written: shape {}, the format allows extents from 0 to {}",
                            to_string(data.shape), kMaxExtent));
  }
  const Dim items = volume(data.shape);
  const auto size =
      items.valid() ? byte_size(data.type, static_cast<uint64_t>(items.value())) : std::nullopt;
  if (!size || *size > std::numeric_limits<uint32_t>::max()) {
    return fail(
        "dat/length",
        fmt::format("cannot be written: shape {} of type {} takes more than the format's 4 GiB",
                    to_string(data.shape), to_string(data.type)));
  }
  if (*size != data.bytes.size()) {
    return fail("dat/length",
                fmt::format("cannot be written: {} bytes of data, but shape {} of type {} takes {}",
                            data.bytes.size(), to_string(data.shape), to_string(data.type), *size));
  }
  return true;
}

}  // namespace

std::optional<std::string> tensor_header(const TensorData& data, const std::string& name,
                                         Diagnostics& diagnostics) {
  if (!check_writable(data, name, diagnostics)) return std::nullopt;
  std::string header(kHeaderSize, '\0');
  store(header, kMagicAt, 1, kMagic[0]);
  store(header, kMagicAt + 1, 1, kMagic[1]);
  store(header, kVersionAt, 1, 1);
  store(header, kLengthAt, 4, static_cast<uint32_t>(data.bytes.size()));
  store(header, kRankAt, 4, static_cast<uint32_t>(data.shape.size()));
  for (uint32_t i = 0; i < data.shape.size(); ++i) {
    store(header, kExtentsAt + 4 * i, 4, static_cast<uint32_t>(data.shape[i].value()));
  }
  store(header, kBitsAt, 4, data.type.bits);
  store(header, kCodeAt, 2, static_cast<uint32_t>(data.type.code));
  if (data.type.code == ItemCode::quantized_uint || data.type.code == ItemCode::quantized_int) {
    for (uint32_t i = 0; i < std::size(data.parameters); ++i) {
      store(header, kParametersAt + 4 * i, 4, data.parameters[i]);
    }
  }
  return header;
}

bool write_tensor_file(const std::string& path, const TensorData& data, Diagnostics& diagnostics) {
  const auto header = tensor_header(data, path, diagnostics);
  if (!header) return false;
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(*header)), data.bytes};
  return write_file(path, parts, diagnostics);
}

}  // namespace nnef
