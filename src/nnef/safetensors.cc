#include "safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace nnef {
namespace {

using Json = nlohmann::json;

constexpr size_t kLengthSize = 8;
constexpr uint64_t kMaxHeader = uint64_t{100} << 20;

struct TypeName {
  std::string_view name;
  ItemType item;
};
constexpr std::array kTypes{
    TypeName{"F16", {ItemCode::float_, 0, 16}}, TypeName{"F32", {ItemCode::float_, 0, 32}},
    TypeName{"F64", {ItemCode::float_, 0, 64}}, TypeName{"I8", {ItemCode::int_, 0, 8}},
    TypeName{"I16", {ItemCode::int_, 0, 16}},   TypeName{"I32", {ItemCode::int_, 0, 32}},
    TypeName{"I64", {ItemCode::int_, 0, 64}},   TypeName{"U8", {ItemCode::uint_, 0, 8}},
    TypeName{"U16", {ItemCode::uint_, 0, 16}},  TypeName{"U32", {ItemCode::uint_, 0, 32}},
    TypeName{"U64", {ItemCode::uint_, 0, 64}},  TypeName{"BOOL", {ItemCode::bool_, 0, 8}},
};

uint64_t load_length(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLengthSize; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// An unsigned number; nothing for everything else.
std::optional<uint64_t> as_size(const Json& value) {
  return value.is_number_unsigned() ? std::optional(value.get<uint64_t>()) : std::nullopt;
}

/// The entry of one tensor over the bytes after the header; null when something does not fit.
TensorDataPtr read_entry(const Json& entry, const ItemType& type, std::span<const std::byte> data,
                         const std::shared_ptr<const void>& owner) {
  auto tensor = std::make_shared<TensorData>();
  tensor->type = type;
  const auto shape = entry.find("shape");
  const auto offsets = entry.find("data_offsets");
  if (shape == entry.end() || !shape->is_array() || offsets == entry.end() ||
      !offsets->is_array() || offsets->size() != 2) {
    return nullptr;
  }
  for (const Json& extent : *shape) {
    const auto size = as_size(extent);
    if (!size || *size > static_cast<uint64_t>(INT64_MAX)) return nullptr;
    tensor->shape.emplace_back(static_cast<int64_t>(*size));
  }
  const auto begin = as_size((*offsets)[0]);
  const auto end = as_size((*offsets)[1]);
  const Dim items = volume(tensor->shape);
  if (!begin || !end || !items.valid() || *begin > *end || *end > data.size()) return nullptr;
  const uint64_t size = *end - *begin;
  if (byte_size(type, static_cast<uint64_t>(items.value())) != size) return nullptr;
  tensor->bytes = data.subspan(*begin, size);
  tensor->owner = owner;
  if (reinterpret_cast<uintptr_t>(tensor->bytes.data()) % kByteAlignment != 0 && size != 0) {
    const Buffer copy = allocate_buffer(size);
    if (copy.data == nullptr) return nullptr;
    std::memcpy(copy.data, tensor->bytes.data(), size);
    tensor->bytes = {copy.data, static_cast<size_t>(size)};
    tensor->owner = copy.owner;
  }
  return tensor;
}

}  // namespace

std::map<std::string, TensorDataPtr> read_safetensors(FileBytes file, const std::string& name,
                                                      Diagnostics& diagnostics) {
  const auto fail = [&](std::string id, uint64_t at, std::string message) {
    diagnostics.file_error(std::move(id), name, at, std::move(message));
    return std::map<std::string, TensorDataPtr>();
  };
  const std::span<const std::byte> bytes = file.bytes;
  const uint64_t length = bytes.size() < kLengthSize ? 0 : load_length(bytes);
  if (length == 0 || length > kMaxHeader || length > bytes.size() - kLengthSize) {
    return fail(
        "safetensors/header", 0,
        fmt::format("the header would have {} bytes, the file has {}", length, bytes.size()));
  }
  const char* text = reinterpret_cast<const char*>(bytes.data()) + kLengthSize;
  const Json header = Json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object())
    return fail("safetensors/header", kLengthSize, "the header is no object of JSON");
  const auto data = bytes.subspan(kLengthSize + length);
  std::map<std::string, TensorDataPtr> tensors;
  for (const auto& [label, entry] : header.items()) {
    const auto dtype = entry.is_object() ? entry.find("dtype") : entry.end();
    if (label == "__metadata__" || !entry.is_object() || dtype == entry.end() ||
        !dtype->is_string()) {
      continue;
    }
    const auto type = std::ranges::find(kTypes, dtype->get<std::string>(), &TypeName::name);
    if (type == kTypes.end()) continue;
    TensorDataPtr tensor = read_entry(entry, type->item, data, file.owner);
    if (tensor == nullptr) {
      return fail("safetensors/entry", kLengthSize,
                  fmt::format("the entry of '{}' does not fit the data: {}", label, entry.dump()));
    }
    tensors.emplace(label, std::move(tensor));
  }
  return tensors;
}

}  // namespace nnef
