#include "quant_parameters.h"

#include <algorithm>

namespace nnef {
namespace {

std::optional<double> number(const Value& value) {
  if (const auto* scalar = value.get<double>()) return *scalar;
  if (const auto* integer = value.get<int64_t>()) return static_cast<double>(*integer);
  return std::nullopt;
}

void append_items(const Value& value, std::vector<Value>& items) {
  const auto* array = value.get<Array>();
  if (array == nullptr) {
    items.push_back(value);
    return;
  }
  for (const Value& item : array->items) append_items(item, items);
}

bool fits(const Shape& from, const Shape& to) {
  if (from.size() > to.size()) return false;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (!(from[axis] == 1) && !(from[axis] == to[axis])) return false;
  }
  return true;
}

}  // namespace

const Argument* find_argument(const Quantization& entry, std::string_view name) {
  const auto found = std::ranges::find(entry.attributes, name, &Argument::name);
  return found == entry.attributes.end() ? nullptr : &*found;
}

int64_t integer_argument(const Quantization& entry, std::string_view name, int64_t absent) {
  const Argument* argument = find_argument(entry, name);
  if (argument == nullptr) return absent;
  if (const auto* logical = argument->value.get<bool>()) return *logical ? 1 : 0;
  const auto* integer = argument->value.get<int64_t>();
  return integer != nullptr ? *integer : absent;
}

std::optional<Shape> literal_shape(const Value& value) {
  const auto* array = value.get<Array>();
  if (array == nullptr) return Shape{};
  std::optional<Shape> inner = Shape{};
  for (size_t i = 0; i < array->items.size(); ++i) {
    auto shape = literal_shape(array->items[i]);
    if (!shape || (i > 0 && *shape != *inner)) return std::nullopt;
    inner = std::move(shape);
  }
  inner->insert(inner->begin(), Dim(static_cast<int64_t>(array->items.size())));
  return inner;
}

std::vector<Value> flat_items(const Value& value) {
  std::vector<Value> items;
  append_items(value, items);
  return items;
}

std::optional<std::vector<double>> broadcast_argument(const Quantization& entry,
                                                      std::string_view name, const Shape& shape) {
  const Argument* argument = find_argument(entry, name);
  const auto from = argument != nullptr ? literal_shape(argument->value) : std::nullopt;
  if (!from || !fits(*from, shape)) return std::nullopt;
  std::vector<double> values;
  for (const Value& item : flat_items(argument->value)) {
    const auto value = number(item);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  if (values.size() == 1) return values;
  // From the last axis on, each axis repeats what is inside of it, or keeps its own extent.
  for (size_t axis = shape.size(); axis-- > 0;) {
    const bool repeats = axis >= from->size() || (*from)[axis] == 1;
    const auto extent = static_cast<size_t>(shape[axis].value());
    if (!repeats || extent == 1) continue;
    size_t inner = 1;
    for (size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i].value();
    std::vector<double> repeated;
    repeated.reserve(values.size() * extent);
    for (auto block = values.begin(); block != values.end(); block += inner) {
      for (size_t i = 0; i < extent; ++i) repeated.insert(repeated.end(), block, block + inner);
    }
    values = std::move(repeated);
  }
  return values;
}

}  // namespace nnef
