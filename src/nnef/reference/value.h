// Private to the reference evaluator: the numbers it computes with, and how results are stored.
#pragma once

#include <cstdint>
#include <vector>

#include "nnef/reference.h"

namespace nnef::reference {

/// Sums and products of two 64-bit items are exact in it, signed or not.
__extension__ using Integer = __int128;
__extension__ using Unsigned = unsigned __int128;
using Index = std::vector<int64_t>;

/// Rounds (reals), or wraps (integers), to the item type. Reals become integers by truncation and
/// saturation; anything but 0 is true.
TensorValue make_value(DType dtype, const ItemType& item, Index shape,
                       const std::vector<double>& items);
TensorValue make_value(DType dtype, const ItemType& item, Index shape,
                       const std::vector<Integer>& items);

/// To the nearest number that a float item type has; other item types leave it as it is.
double rounded(const ItemType& item, double value);
/// The items of integers and logicals; uint64 as the numbers that they mean.
std::vector<Integer> wide_items(const TensorValue& value);
std::vector<double> real_items(const TensorValue& value);

Index to_extents(const Shape& shape);

}  // namespace nnef::reference
