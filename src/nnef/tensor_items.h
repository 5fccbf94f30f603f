// Private to libnnef: the table of item codes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "nnef/tensor_file.h"

namespace nnef {

struct CodeInfo {
  ItemCode code;
  std::string_view name;    ///< stem of the type's name: "uint" of "uint8"
  std::string_view widths;  ///< legal bits per item, in words
};

std::span<const CodeInfo> item_codes();
/// Null for a code that the standard does not have.
const CodeInfo* find_code(ItemCode code);
/// Whether the bits per item are legal for the (standard) code.
bool valid_width(const ItemType& type);

/// IEEE 754 binary16 to binary32; exact.
float half_to_float(uint16_t half);
/// The nearest binary16, halfway cases to even; infinity beyond its range.
uint16_t half_from_double(double value);

/// The number that an item's bits stand for; not for quantised items.
double item_value(const ItemType& type, uint64_t raw);
/// The bits of every item; nothing for items that are no numbers without parameters (quantised,
/// vendors'), or when bytes are missing.
std::optional<std::vector<uint64_t>> raw_items(const TensorData& data);

}  // namespace nnef
