// Tensor data: item types of NNEF binary files, and the files themselves (NNEF 1.0.5 specification,
// "Tensor File Format").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef/shape.h"

namespace nnef {

/// How items are stored. The names of the codes are the specification's.
enum class ItemCode : uint16_t {
  float_ = 0,
  uint_ = 1,
  quantized_uint = 2,
  quantized_int = 3,
  int_ = 4,
  bool_ = 5,
};

struct ItemType {
  ItemCode code = ItemCode::float_;
  uint16_t vendor = 0;  ///< 0 = Khronos
  uint32_t bits = 32;   ///< per item; below 8 items are packed, most significant bit first
  friend bool operator==(const ItemType&, const ItemType&) = default;
};

/// "float32", "int8", "uint4", "bool1", "quint8", "qint8"
std::string to_string(const ItemType& type);
/// The type of a name as to_string gives it, of 8, 16, 32 or 64 bits; "bool" is "bool8".
std::optional<ItemType> parse_item_type(std::string_view name);

/// A tensor's items in row-major order; bytes are owned, or a view of a memory-mapped file kept
/// alive by `owner`.
struct TensorData {
  ItemType type;
  Shape shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  /// Deprecated parameters of codes 2 and 3 in old files: float min, max (raw words at offset 52).
  uint32_t parameters[8] = {};
};

/// Codes 2 and 3 of the standard: the reals that items stand for depend on more than the items.
bool is_quantized(const ItemType& type);

using TensorDataPtr = std::shared_ptr<const TensorData>;

/// Bytes needed for `items` items of `type`; nothing when that does not fit in 64 bits.
std::optional<uint64_t> byte_size(const ItemType& type, uint64_t items);

/// Reads the header and maps the data of a .dat file. `name` is used in diagnostics (ids
/// "dat/...").
TensorDataPtr read_tensor_file(const std::string& path, Diagnostics& diagnostics);
/// The same for bytes in memory (a member of an archive), kept alive by `owner`.
TensorDataPtr read_tensor(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                          const std::string& name, Diagnostics& diagnostics);
/// Writes a .dat file; leaves no partial file behind when it fails.
bool write_tensor_file(const std::string& path, const TensorData& data, Diagnostics& diagnostics);
/// The 128-byte header of `data`, for writers of archives; nothing when a size does not fit the
/// format (reported).
std::optional<std::string> tensor_header(const TensorData& data, const std::string& name,
                                         Diagnostics& diagnostics);

/// The items as doubles (codes 0, 1, 4, 5 at any width; integers beyond 2^53 are rounded).
std::optional<std::vector<double>> to_doubles(const TensorData& data);
/// The items of integers and logicals (codes 1, 4, 5), exactly; uint64 as the int64 of the same
/// bits.
std::optional<std::vector<int64_t>> to_integers(const TensorData& data);

/// The items in another type of whole bytes. Numbers with a fraction become no integers, integers
/// and finite numbers must lie in the range of the type (which may round), logicals are 0 or 1.
/// When that fails `fault` says why.
std::optional<TensorData> convert(const TensorData& data, const ItemType& to, std::string& fault);

}  // namespace nnef
