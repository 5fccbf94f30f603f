#include "tvm/json.h"

#include <tvm/ffi/extra/json.h>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nnef_tvm {
namespace {

namespace json = ffi::json;

// TVM walks its objects by recursion.
constexpr int kMaxDepth = 2000;

std::string_view view(const TVMFFIByteArray& bytes) { return {bytes.data, bytes.size}; }

/// A graph of objects as JSON: a list of nodes, in which each refers to others by their places.
/// TVM's loader follows every reference, its objects take null wherever they take an object, and
/// its operators take any attributes.
class Graph {
 public:
  explicit Graph(const json::Value& root) {
    const auto object = root.as<json::Object>();
    const auto nodes = object ? get(*object, "nodes").as<json::Array>() : std::nullopt;
    const auto root_index = object ? get(*object, "root_index").as<int64_t>() : std::nullopt;
    if (!nodes || !root_index) {
      TVM_FFI_THROW(ValueError) << "it is not TVM's JSON of an object: it needs 'root_index' and "
                                   "'nodes'";
    }
    nodes_ = *nodes;
    if (*root_index < 0 || static_cast<size_t>(*root_index) >= nodes_.size()) {
      TVM_FFI_THROW(ValueError) << fmt::format("it is damaged: its root is node {} of {}",
                                               *root_index, nodes_.size());
    }
  }

  void check() {
    for (current_ = 0; current_ < static_cast<int64_t>(nodes_.size()); ++current_) {
      const auto node = nodes_[current_].as<json::Object>();
      const auto type = node ? get(*node, "type").as<String>() : std::nullopt;
      if (!type) fail("has no type");
      types_.emplace_back(*type);
      depths_.push_back(0);
      check_node(types_.back(), get(*node, "data"));
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    TVM_FFI_THROW(ValueError) << fmt::format("node {} {}", current_, what);
    TVM_FFI_UNREACHABLE();
  }

  static Any get(const json::Object& object, const char* key) {
    const auto found = object.find(String(key));
    return found == object.end() ? Any() : (*found).second;
  }

  bool is_null(int64_t place) const { return types_[static_cast<size_t>(place)] == "None"; }

  /// A reference to a node that stands before this one.
  int64_t reference(const Any& value, const std::string& what) {
    const auto place = value.as<int64_t>();
    if (!place || *place < 0 || *place >= current_) {
      fail(fmt::format("is damaged: {} is not the number of a node before it", what));
    }
    depths_.back() = std::max(depths_.back(), depths_[static_cast<size_t>(*place)] + 1);
    if (depths_.back() > kMaxDepth) {
      fail(fmt::format("is nested more than {} nodes deep", kMaxDepth));
    }
    return *place;
  }

  json::Array list(const Any& data) const {
    const auto items = data.as<json::Array>();
    if (!items) fail(fmt::format("is damaged: a {} is not a list", types_.back()));
    return *items;
  }

  void check_node(const std::string& type, const Any& data) {
    if (type == "ffi.Array" || type == "ffi.List") {
      for (const Any& item : list(data)) {
        if (is_null(reference(item, "an item"))) fail("is damaged: an item is null");
      }
    } else if (type == "ffi.Map") {
      check_map(list(data));
    } else if (type == "ffi.Tensor") {
      check_tensor(data);
    } else if (const auto fields = data.as<json::Object>()) {
      check_object(type, *fields);
    }
  }

  void check_map(const json::Array& items) {
    if (items.size() % 2 != 0) fail("is damaged: a key has no value");
    for (size_t i = 0; i < items.size(); ++i) {
      const int64_t place = reference(items[static_cast<int64_t>(i)], "an item");
      if (i % 2 == 0 && is_null(place)) fail("is damaged: a key is null");
    }
  }

  void check_tensor(const Any& data) const;
  void check_object(const std::string& type, const json::Object& fields);
  void check_field(const TVMFFIFieldInfo& field, const std::string& type,
                   const json::Object& fields);
  void check_call(const json::Object& fields) const;

  json::Array nodes_;
  std::vector<std::string> types_;  ///< of the nodes so far
  std::vector<int> depths_;         ///< how many nodes each has below it
  int64_t current_ = 0;
};

/// The value of a digit of base64; -1 of any other character.
int digit_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/// Base64 text, decoded as far as asked for.
class Base64 {
 public:
  explicit Base64(std::string_view text) : text_(text) {
    while (padding_ < 2 && !text_.empty() && text_.back() == '=') {
      text_.remove_suffix(1);
      ++padding_;
    }
  }

  bool valid() const {
    return (text_.size() + padding_) % 4 == 0 &&
           std::all_of(text_.begin(), text_.end(), [](char c) { return digit_value(c) >= 0; });
  }
  size_t size() const { return (text_.size() + padding_) / 4 * 3 - padding_; }
  uint8_t byte(size_t i) const {
    const size_t digit = i * 4 / 3;
    const auto high = static_cast<unsigned>(digit_value(text_[digit]));
    const auto low = static_cast<unsigned>(digit_value(text_[digit + 1]));
    const unsigned shift = 2 * (i % 3);
    return static_cast<uint8_t>(high << (2 + shift) | low >> (4 - shift));
  }
  /// Little-endian.
  template <typename T>
  T number(size_t i) const {
    uint64_t value = 0;
    for (size_t k = 0; k < sizeof(T); ++k) value |= uint64_t{byte(i + k)} << (8 * k);
    return static_cast<T>(value);
  }

 private:
  std::string_view text_;
  size_t padding_ = 0;
};

/// Where TVM's form of a tensor has what: a magic number, a device, the rank and item type, the
/// extents, the number of bytes, the items.
constexpr size_t kDevice = 16;
constexpr size_t kRank = 24;
constexpr size_t kItemBits = 29;
constexpr size_t kItemLanes = 30;
constexpr size_t kExtents = 32;
constexpr int32_t kMaxRank = 64;

/// Whether the parts of a tensor agree with each other and with the number of bytes.
bool is_tensor(const Base64& bytes) {
  if (!bytes.valid() || bytes.size() < kExtents + sizeof(int64_t)) return false;
  const auto rank = bytes.number<int32_t>(kRank);
  if (bytes.number<int32_t>(kDevice) != kDLCPU || rank < 0 || rank > kMaxRank) return false;
  const size_t header = kExtents + (static_cast<size_t>(rank) + 1) * sizeof(int64_t);
  if (bytes.size() < header) return false;
  const size_t stored = bytes.size() - header;
  const bool empty = stored == 0;
  uint64_t bits = uint64_t{bytes.byte(kItemBits)} * bytes.number<uint16_t>(kItemLanes);
  bool has_items = bits != 0;
  for (size_t i = 0; i < static_cast<size_t>(rank); ++i) {
    const auto extent = bytes.number<int64_t>(kExtents + i * sizeof(int64_t));
    if (extent < 0) return false;
    has_items = has_items && extent != 0;
    if (!has_items) continue;
    // No more than there are bytes for, so that the product cannot overflow.
    if (static_cast<uint64_t>(extent) > (uint64_t{stored} * 8 + 7) / bits) return false;
    bits *= static_cast<uint64_t>(extent);
  }
  if (bytes.number<uint64_t>(header - sizeof(int64_t)) != stored) return false;
  return has_items ? (bits + 7) / 8 == stored : empty;
}

void Graph::check_tensor(const Any& data) const {
  const auto text = data.as<String>();
  if (!text || !is_tensor(Base64({text->data(), text->size()}))) {
    fail("is damaged: it is no tensor in the CPU's memory");
  }
}

bool may_be_null(const TVMFFIFieldInfo& field) {
  // Of what TVM declares as an object that may be absent; and what it leaves out without saying so.
  constexpr std::string_view kSchema = R"({"type_schema":"{\"type\":\")";
  const std::string_view schema = view(field.metadata);
  const std::string_view name = view(field.name);
  const std::string_view type = schema.substr(std::min(schema.size(), kSchema.size()));
  return name == "span" || name == "attrs" || !schema.starts_with(kSchema) ||
         type.starts_with("Optional") || type.starts_with("Any");
}

/// Whether a field's value stands in the object itself; others are nodes of their own.
bool is_immediate(const TVMFFIFieldInfo& field) {
  return field.field_static_type_index >= 0 &&
         field.field_static_type_index <= TVMFFITypeIndex::kTVMFFIDataType;
}

void Graph::check_field(const TVMFFIFieldInfo& field, const std::string& type,
                        const json::Object& fields) {
  const std::string name(view(field.name));
  const auto found = fields.find(String(name));
  if (found == fields.end() || is_immediate(field)) return;
  const int64_t place = reference((*found).second, "'" + name + "'");
  if (is_null(place) && !may_be_null(field)) {
    fail(fmt::format("is damaged: a {} has no '{}'", type, name));
  }
}

/// The fields of a call are known to be nodes.
void Graph::check_call(const json::Object& fields) const {
  const auto node = [&](const char* field) { return get(fields, field).as<int64_t>().value_or(0); };
  const auto data = [&](const char* field) {
    return get(nodes_[node(field)].cast<json::Object>(), "data");
  };
  const auto name = data("op").as<String>();
  if (types_[static_cast<size_t>(node("op"))] != "ir.Op" || !name) return;
  const auto op = call<ObjectRef>("ir.GetOp", *name);
  const std::string wanted = field<String>(op, "attrs_type_key");
  if (!wanted.empty() && types_[static_cast<size_t>(node("attrs"))] != wanted) {
    fail(fmt::format("is damaged: a call of '{}' has no {}", std::string(*name), wanted));
  }
  const auto args = data("args").as<json::Array>();
  const auto arity = field<int64_t>(op, "num_inputs");
  if (!args || static_cast<int64_t>(args->size()) < arity) {
    fail(fmt::format("is damaged: a call of '{}' has {} arguments, not {}", std::string(*name),
                     args ? args->size() : 0, arity));
  }
}

void Graph::check_object(const std::string& type, const json::Object& fields) {
  const TVMFFIByteArray key{type.data(), type.size()};
  int32_t index = 0;
  if (TVMFFITypeKeyToIndex(&key, &index) != 0) {
    static_cast<void>(ffi::details::MoveFromSafeCallRaised());
    fail(fmt::format("is of type '{}', which TVM 0.27.0.post1 does not have", type));
  }
  const TVMFFITypeInfo* info = TVMFFIGetTypeInfo(index);
  for (int32_t depth = 0; depth <= info->type_depth; ++depth) {
    const TVMFFITypeInfo* part = depth < info->type_depth ? info->type_ancestors[depth] : info;
    for (int32_t i = 0; i < part->num_fields; ++i) check_field(part->fields[i], type, fields);
  }
  if (type == "ir.Call") check_call(fields);
}

}  // namespace

std::string to_json(const ObjectRef& object) {
  return call<std::string>("ffi.ToJSONGraphString", object, nullptr);
}

ObjectRef from_json(const std::string& text) {
  const Any root = call("ffi.json.Parse", text);
  Graph(root).check();
  return call<ObjectRef>("ffi.FromJSONGraph", root);
}

}  // namespace nnef_tvm
