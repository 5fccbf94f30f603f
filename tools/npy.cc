#include "npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "nnef/file.h"

namespace nnefc {
namespace {

using nnef::ItemCode;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kVersionAt = 6;
constexpr size_t kLengthAt = 8;
constexpr size_t kHeaderAlignment = 64;
constexpr size_t kMaxRank = 32;

/// The letters of dtype strings ("<f4") and the item codes they stand for.
struct Kind {
  char letter;
  ItemCode code;
};
constexpr Kind kKinds[] = {
    {'f', ItemCode::float_}, {'i', ItemCode::int_}, {'u', ItemCode::uint_}, {'b', ItemCode::bool_}};
constexpr std::string_view kExpectedTypes =
    "expected bool, int8 to int64, uint8 to uint64 or float16 to float64";

struct Header {
  nnef::ItemType type;
  nnef::Shape shape;
  bool big_endian = false;
  bool fortran_order = false;
};

/// Reads the dictionary of the header, a Python literal such as
/// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, Header& header) : text_(text), header_(header) {}

  /// Empty when all is well, else what is wrong.
  std::string parse() {
    if (!accept('{')) return "its header is no dictionary";
    bool has_type = false;
    bool has_shape = false;
    while (!accept('}')) {
      const auto key = string();
      if (!key || !accept(':')) return "its header is malformed";
      std::string problem;
      if (*key == "descr") {
        problem = parse_type();
        has_type = true;
      } else if (*key == "fortran_order") {
        problem = parse_order();
      } else if (*key == "shape") {
        problem = parse_shape();
        has_shape = true;
      } else {
        problem = fmt::format("its header has an unknown entry '{}'", *key);
      }
      if (!problem.empty()) return problem;
      if (!accept(',') && peek() != '}') return "its header is malformed";
    }
    return has_type && has_shape ? "" : "its header lacks 'descr' or 'shape'";
  }

 private:
  char peek() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n'))
      text_.remove_prefix(1);
    return text_.empty() ? '\0' : text_.front();
  }

  bool accept(char expected) {
    if (peek() != expected) return false;
    text_.remove_prefix(1);
    return true;
  }

  std::optional<std::string_view> string() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return std::nullopt;
    const size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value;
  }

  std::string parse_type() {
    const auto descr = string();
    if (!descr) return fmt::format("its items are structures, {}", kExpectedTypes);
    const auto fail = [&] {
      return fmt::format("its items are of type '{}', {}", *descr, kExpectedTypes);
    };
    uint32_t size = 0;
    if (descr->size() < 3) return fail();
    const char* end = descr->data() + descr->size();
    const auto [rest, error] = std::from_chars(descr->data() + 2, end, size);
    const bool known_size = size == 1 || size == 2 || size == 4 || size == 8;
    if (error != std::errc() || rest != end || !known_size) return fail();
    const char order = descr->front();
    if (order != '<' && order != '>' && order != '|' && order != '=') return fail();
    header_.big_endian = order == '>';
    for (const Kind& kind : kKinds) {
      if (kind.letter != (*descr)[1]) continue;
      const bool valid =
          kind.code == ItemCode::float_ ? size > 1 : kind.code != ItemCode::bool_ || size == 1;
      if (!valid) return fail();
      header_.type = {kind.code, 0, size * 8};
      return {};
    }
    return fail();
  }

  std::string parse_order() {
    for (const auto& [word, value] :
         {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      peek();
      if (!text_.starts_with(word)) continue;
      text_.remove_prefix(word.size());
      header_.fortran_order = value;
      return {};
    }
    return "its header's 'fortran_order' is neither True nor False";
  }

  std::string parse_shape() {
    constexpr char kMalformed[] = "its header's 'shape' is malformed";
    if (!accept('(')) return kMalformed;
    while (!accept(')')) {
      peek();
      int64_t extent = 0;
      const auto [rest, error] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (error != std::errc() || extent < 0) return kMalformed;
      text_.remove_prefix(static_cast<size_t>(rest - text_.data()));
      header_.shape.emplace_back(extent);
      if (header_.shape.size() > kMaxRank) return fmt::format("its rank is above {}", kMaxRank);
      if (!accept(',') && peek() != ')') return kMalformed;
    }
    return {};
  }

  std::string_view text_;
  Header& header_;
};

void reverse_items(std::byte* bytes, size_t size, size_t item) {
  for (size_t i = 0; i + item <= size; i += item) std::reverse(bytes + i, bytes + i + item);
}

/// From column-major to row-major order.
void reorder(const std::byte* from, std::byte* to, const nnef::Shape& shape, size_t item) {
  std::vector<size_t> index(shape.size(), 0);
  std::vector<size_t> stride(shape.size(), 1);
  for (size_t i = 1; i < shape.size(); ++i)
    stride[i] = stride[i - 1] * static_cast<size_t>(shape[i - 1].value());
  const auto count = static_cast<size_t>(nnef::volume(shape).value());
  for (size_t i = 0; i < count; ++i) {
    const size_t at = std::inner_product(index.begin(), index.end(), stride.begin(), size_t{0});
    std::memcpy(to + i * item, from + at * item, item);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < static_cast<size_t>(shape[axis].value())) break;
      index[axis] = 0;
    }
  }
}

class NpyReader {
 public:
  NpyReader(nnef::FileBytes file, const std::string& path, nnef::Diagnostics& diagnostics)
      : file_(std::move(file)), path_(path), diagnostics_(diagnostics) {}

  std::optional<nnef::TensorData> read() {
    Header header;
    if (!read_header(header)) return std::nullopt;
    const nnef::Dim items = nnef::volume(header.shape);
    const auto size = items.valid()
                          ? nnef::byte_size(header.type, static_cast<uint64_t>(items.value()))
                          : std::nullopt;
    const uint64_t available = file_.bytes.size() - data_at_;
    if (!size || *size != available) {
      return fail("npy/length", data_at_,
                  fmt::format("{} bytes of data, but shape {} of type {} takes {}", available,
                              nnef::to_string(header.shape), nnef::to_string(header.type),
                              size ? fmt::format("{}", *size) : "more than 2^64"));
    }
    return convert(header);
  }

 private:
  std::nullopt_t fail(std::string id, uint64_t offset, std::string message) {
    diagnostics_.file_error(std::move(id), path_, offset, std::move(message));
    return std::nullopt;
  }

  uint64_t byte_at(size_t offset) const { return std::to_integer<uint64_t>(file_.bytes[offset]); }

  bool read_header(Header& header) {
    const std::string_view text(reinterpret_cast<const char*>(file_.bytes.data()),
                                file_.bytes.size());
    if (!text.starts_with(kMagic)) {
      fail("npy/magic", 0, "not a NumPy array file");
      return false;
    }
    const uint64_t version = text.size() > kVersionAt ? byte_at(kVersionAt) : 0;
    const size_t length_size = version == 1 ? 2 : 4;
    if (text.size() < kLengthAt + length_size) {
      fail("npy/truncated", text.size(), "the file ends within its header");
      return false;
    }
    if (version < 1 || version > 3) {
      fail("npy/version", kVersionAt, fmt::format("format version {}, expected 1 to 3", version));
      return false;
    }
    uint64_t length = 0;
    for (size_t i = 0; i < length_size; ++i) length |= byte_at(kLengthAt + i) << (8 * i);
    data_at_ = kLengthAt + length_size + length;
    if (data_at_ > text.size()) {
      fail("npy/truncated", text.size(), "the file ends within its header");
      return false;
    }
    const std::string problem =
        HeaderParser(text.substr(kLengthAt + length_size, length), header).parse();
    if (!problem.empty())
      fail("npy/header", kLengthAt + length_size, fmt::format("cannot be read: {}", problem));
    return problem.empty();
  }

  std::optional<nnef::TensorData> convert(Header& header) {
    nnef::TensorData data;
    data.type = header.type;
    data.bytes = file_.bytes.subspan(data_at_);
    data.owner = file_.owner;
    const size_t item = header.type.bits / 8;
    const bool swapped = header.big_endian && item > 1;
    const bool ordered = !header.fortran_order || header.shape.size() < 2;
    const bool aligned = reinterpret_cast<uintptr_t>(data.bytes.data()) % nnef::kByteAlignment == 0;
    if (!data.bytes.empty() && (swapped || !ordered || !aligned)) {
      const nnef::Buffer copy = nnef::allocate_buffer(data.bytes.size());
      if (copy.data == nullptr)
        return fail("npy/memory", data_at_,
                    fmt::format("no memory for {} bytes", data.bytes.size()));
      if (ordered) {
        std::memcpy(copy.data, data.bytes.data(), data.bytes.size());
      } else {
        reorder(data.bytes.data(), copy.data, header.shape, item);
      }
      if (swapped) reverse_items(copy.data, data.bytes.size(), item);
      data.bytes = {copy.data, data.bytes.size()};
      data.owner = copy.owner;
    }
    data.shape = std::move(header.shape);
    return data;
  }

  nnef::FileBytes file_;
  const std::string& path_;
  nnef::Diagnostics& diagnostics_;
  uint64_t data_at_ = 0;
};

std::string make_header(const std::string& descr, const nnef::Shape& shape) {
  std::string extents;
  for (const nnef::Dim& extent : shape) extents += fmt::format("{}, ", extent.value());
  if (shape.size() > 1) extents.resize(extents.size() - 2);
  if (shape.size() == 1) extents.resize(extents.size() - 1);
  std::string text =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, extents);
  constexpr size_t kPrefix = kLengthAt + 2;
  text.append(kHeaderAlignment - 1 - (kPrefix + text.size()) % kHeaderAlignment, ' ');
  text += '\n';
  std::string header(kMagic);
  header +=
      {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

/// One-bit logicals as the bytes that NumPy knows.
nnef::TensorData unpacked(const nnef::TensorData& data) {
  const auto values = nnef::to_doubles(data);
  const nnef::Buffer buffer = nnef::allocate_buffer(values ? values->size() : 0);
  if (!values || buffer.data == nullptr) return data;
  nnef::TensorData wide = data;
  wide.type.bits = 8;
  wide.bytes = {buffer.data, values->size()};
  wide.owner = buffer.owner;
  std::ranges::transform(*values, buffer.data, [](double value) { return std::byte{value != 0}; });
  return wide;
}

}  // namespace

std::optional<nnef::TensorData> read_npy(const std::string& path, nnef::Diagnostics& diagnostics) {
  auto file = nnef::read_file(path, diagnostics);
  if (!file) return std::nullopt;
  return NpyReader(std::move(*file), path, diagnostics).read();
}

bool write_npy(const std::string& path, const nnef::TensorData& data,
               nnef::Diagnostics& diagnostics) {
  const bool one_bit = data.type.code == ItemCode::bool_ && data.type.bits == 1;
  const nnef::TensorData items = one_bit ? unpacked(data) : data;
  const auto kind = std::ranges::find(kKinds, items.type.code, &Kind::code);
  const uint32_t bits = items.type.bits;
  const bool whole = bits == 8 || bits == 16 || bits == 32 || bits == 64;
  if (kind == std::end(kKinds) || items.type.vendor != 0 || !whole) {
    diagnostics.file_error("npy/type", path, std::nullopt,
                           fmt::format("items of type {} cannot be written, {}",
                                       nnef::to_string(items.type), kExpectedTypes));
    return false;
  }
  const std::string descr = fmt::format("{}{}{}", bits == 8 ? '|' : '<', kind->letter, bits / 8);
  const std::string header = make_header(descr, items.shape);
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(header)), items.bytes};
  return nnef::write_file(path, parts, diagnostics);
}

std::optional<nnef::TensorData> read_tensor_any(const std::string& path,
                                                nnef::Diagnostics& diagnostics) {
  auto file = nnef::read_file(path, diagnostics);
  if (!file) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(file->bytes.data()),
                              file->bytes.size());
  if (text.starts_with(kMagic)) return NpyReader(std::move(*file), path, diagnostics).read();
  if (text.starts_with("\x4e\xef")) {
    const auto data = nnef::read_tensor(file->bytes, file->owner, path, diagnostics);
    return data == nullptr ? std::nullopt : std::optional(*data);
  }
  diagnostics.file_error("npy/unknown", path, 0,
                         "neither a NumPy array (.npy) nor an NNEF tensor file (.dat)");
  return std::nullopt;
}

}  // namespace nnefc
