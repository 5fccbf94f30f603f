// Private to libnnef: parameters of the entries of graph.quant, one number or one for each channel.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "nnef/graph.h"

namespace nnef {

const Argument* find_argument(const Quantization& entry, std::string_view name);
/// The value of an integer or logical parameter; `absent` when the operation does not have it.
int64_t integer_argument(const Quantization& entry, std::string_view name, int64_t absent);

/// The shape of a nested array literal; nothing when arrays side by side differ in their lengths.
/// A number has rank 0.
std::optional<Shape> literal_shape(const Value& value);
/// The numbers of a nested array literal in row-major order.
std::vector<Value> flat_items(const Value& value);

/// A parameter for each item of a tensor: its numbers broadcast to `shape`, aligned from the left;
/// one for all items when it is one number. Nothing when there is no such parameter, or it does not
/// fit.
std::optional<std::vector<double>> broadcast_argument(const Quantization& entry,
                                                      std::string_view name, const Shape& shape);

}  // namespace nnef
