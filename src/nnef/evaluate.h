// Compile-time arithmetic on values without tensors: checked 64-bit integers, doubles, strings,
// arrays.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nnef/graph.h"

namespace nnef {

/// The largest weight of a repeated or joined value.
inline constexpr size_t kMaxComputedItems = size_t{1} << 22;

/// Why a value does not exist.
struct EvaluationFault {
  std::string_view id;  ///< "expand/overflow"
  std::string message;
  std::string hint;
};

// Operand types are those that the static checks admit; others give the fault "expand/type".
std::optional<Value> evaluate_unary(std::string_view symbol, const Value& operand,
                                    EvaluationFault& fault);
/// `&&` and `||` are not among the symbols: they do not always evaluate both sides.
std::optional<Value> evaluate_binary(std::string_view symbol, const Value& left, const Value& right,
                                     EvaluationFault& fault);
/// length_of, range_of and the conversions integer, scalar, logical, string.
std::optional<Value> evaluate_builtin(std::string_view name, const Value& operand,
                                      EvaluationFault& fault);
/// base[index]; a negative index counts from the end.
std::optional<Value> evaluate_item(const Value& base, int64_t index, EvaluationFault& fault);
/// base[begin:end]; negative bounds count from the end, an absent one is the beginning or the end.
std::optional<Value> evaluate_range(const Value& base, std::optional<int64_t> begin,
                                    std::optional<int64_t> end, EvaluationFault& fault);

/// What a copy costs: the number of items at all levels, and of characters of strings.
size_t weight(const Value& value);

/// The items of an array or tuple; null for other values.
const std::vector<Value>* items_of(const Value& value);

}  // namespace nnef
