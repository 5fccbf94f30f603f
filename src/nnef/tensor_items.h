// Private to libnnef: the table of item codes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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
/// To the nearest binary16, ties to even.
uint16_t double_to_half(double value);

}  // namespace nnef
