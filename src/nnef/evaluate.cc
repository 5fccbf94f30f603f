#include "evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace nnef {
namespace {

std::nullopt_t fail(EvaluationFault& fault, std::string_view id, std::string message,
                    std::string hint = {}) {
  fault = {id, std::move(message), std::move(hint)};
  return std::nullopt;
}

std::nullopt_t type_fault(EvaluationFault& fault, std::string_view what) {
  return fail(fault, "expand/type", fmt::format("'{}' cannot be evaluated on these values", what));
}

/// A double as NNEF writes it: with a decimal point or an exponent.
std::string scalar_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::optional<int64_t> integer_power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  while (exponent > 0) {
    if ((exponent & 1) != 0 && __builtin_mul_overflow(result, base, &result)) return std::nullopt;
    exponent >>= 1;
    if (exponent > 0 && __builtin_mul_overflow(base, base, &base)) return std::nullopt;
  }
  return result;
}

std::optional<Value> integer_arithmetic(char symbol, int64_t a, int64_t b, EvaluationFault& fault) {
  int64_t result = 0;
  bool overflow = false;
  switch (symbol) {
    case '+':
      overflow = __builtin_add_overflow(a, b, &result);
      break;
    case '-':
      overflow = __builtin_sub_overflow(a, b, &result);
      break;
    case '*':
      overflow = __builtin_mul_overflow(a, b, &result);
      break;
    case '/':
      if (b == 0) {
        return fail(fault, "expand/division-by-zero", fmt::format("{} / 0 is not defined", a));
      }
      overflow = b == -1 && __builtin_sub_overflow(int64_t{0}, a, &result);
      if (b != -1) result = a / b;
      break;
    case '^': {
      if (b < 0) {
        return fail(fault, "expand/domain", fmt::format("{} ^ {} is not an integer", a, b),
                    "convert the operands: scalar(...) ^ scalar(...)");
      }
      const std::optional<int64_t> power = integer_power(a, b);
      overflow = !power;
      result = power.value_or(0);
      break;
    }
    default:
      return type_fault(fault, std::string_view(&symbol, 1));
  }
  if (overflow) {
    return fail(fault, "expand/overflow",
                fmt::format("{} {} {} does not fit in a 64-bit integer", a, symbol, b));
  }
  return Value(result);
}

/// Of extents, one of which has symbols.
std::optional<Value> extent_arithmetic(std::string_view symbol, const Dim& a, const Dim& b,
                                       EvaluationFault& fault) {
  const Dim difference = a - b;
  Dim result;
  std::optional<bool> holds;
  const auto decide = [&](int64_t least) {
    if (difference.least() >= least) holds = true;
    if (difference.most() < least) holds = false;
  };
  if (symbol == "+") result = a + b;
  if (symbol == "-") result = difference;
  if (symbol == "*") result = a * b;
  if (symbol == "/") result = floor_div(a, b);
  if (symbol == ">=" || symbol == "<") decide(0);
  if (symbol == ">" || symbol == "<=") decide(1);
  if (symbol == "==" || symbol == "!=") {
    if (a == b) holds = true;
    if (difference.least() > 0 || difference.most() < 0) holds = false;
  }
  if (holds) return Value(*holds == (symbol != "<" && symbol != "<=" && symbol != "!="));
  if (result.valid()) return Value(result);
  return fail(
      fault, "expand/symbol-arithmetic",
      fmt::format("{} {} {} depends on the values of symbols", to_string(a), symbol, to_string(b)),
      "give the shape of the input that has the symbol: --shape NAME=1,128");
}

std::optional<Value> scalar_arithmetic(char symbol, double a, double b, EvaluationFault& fault) {
  double result = 0;
  switch (symbol) {
    case '+':
      result = a + b;
      break;
    case '-':
      result = a - b;
      break;
    case '*':
      result = a * b;
      break;
    case '/':
      if (b == 0) {
        return fail(fault, "expand/division-by-zero",
                    fmt::format("{} / {} is not defined", scalar_text(a), scalar_text(b)));
      }
      result = a / b;
      break;
    case '^':
      result = std::pow(a, b);
      break;
    default:
      return type_fault(fault, std::string_view(&symbol, 1));
  }
  if (std::isfinite(result) || !std::isfinite(a) || !std::isfinite(b)) return Value(result);
  const std::string left = a < 0 ? "(" + scalar_text(a) + ")" : scalar_text(a);
  const std::string text = fmt::format("{} {} {}", left, symbol, scalar_text(b));
  const bool undefined = std::isnan(result) || (symbol == '^' && a == 0);
  return undefined ? fail(fault, "expand/domain", text + " is not a real number")
                   : fail(fault, "expand/overflow", text + " does not fit in a scalar");
}

template <typename T>
std::optional<bool> ordered(std::string_view symbol, const T& a, const T& b) {
  if (symbol == "<") return a < b;
  if (symbol == "<=") return a <= b;
  if (symbol == ">") return a > b;
  if (symbol == ">=") return a >= b;
  return std::nullopt;
}

std::optional<Value> compare(std::string_view symbol, const Value& a, const Value& b,
                             EvaluationFault& fault) {
  std::optional<bool> result;
  if (symbol == "==") result = a == b;
  if (symbol == "!=") result = !(a == b);
  if (result) return Value(*result);
  if (a.get<int64_t>() && b.get<int64_t>()) {
    result = ordered(symbol, *a.get<int64_t>(), *b.get<int64_t>());
  } else if (a.get<double>() && b.get<double>()) {
    result = ordered(symbol, *a.get<double>(), *b.get<double>());
  } else if (a.get<std::string>() && b.get<std::string>()) {
    result = ordered(symbol, *a.get<std::string>(), *b.get<std::string>());
  }
  return result ? std::optional<Value>(*result) : type_fault(fault, symbol);
}

bool too_large(size_t size, size_t count, EvaluationFault& fault) {
  if (size == 0 || count <= kMaxComputedItems / size) return false;
  fail(fault, "expand/too-large",
       fmt::format("the result has more than {} items", kMaxComputedItems));
  return true;
}

std::optional<Value> repeat(const Value& value, int64_t count, EvaluationFault& fault) {
  if (count < 0) {
    return fail(fault, "expand/domain", fmt::format("cannot repeat {} times", count));
  }
  if (too_large(weight(value), static_cast<size_t>(count), fault)) return std::nullopt;
  if (const auto* text = value.get<std::string>()) {
    std::string result;
    for (int64_t i = 0; !text->empty() && i < count; ++i) result += *text;
    return Value(std::move(result));
  }
  const auto& items = value.get<Array>()->items;
  Array result;
  for (int64_t i = 0; !items.empty() && i < count; ++i) {
    result.items.insert(result.items.end(), items.begin(), items.end());
  }
  return Value(std::move(result));
}

std::optional<Value> join(const Value& a, const Value& b, EvaluationFault& fault) {
  if (a.index() != b.index()) return type_fault(fault, "+");
  if (too_large(weight(a) + weight(b), 1, fault)) return std::nullopt;
  if (const auto* text = a.get<std::string>()) return Value(*text + *b.get<std::string>());
  Array result = *a.get<Array>();
  const auto& right = b.get<Array>()->items;
  result.items.insert(result.items.end(), right.begin(), right.end());
  return Value(std::move(result));
}

bool is_sequence(const Value& value) { return value.get<Array>() || value.get<std::string>(); }

size_t length(const Value& sequence) {
  if (const auto* text = sequence.get<std::string>()) return text->size();
  const auto* items = items_of(sequence);
  return items ? items->size() : 0;
}

std::optional<Value> to_integer(const Value& value, EvaluationFault& fault) {
  if (const auto* logical = value.get<bool>()) return Value(int64_t{*logical ? 1 : 0});
  if (const auto* scalar = value.get<double>()) {
    constexpr double kLimit = 9223372036854775808.0;  // 2^63
    if (!(*scalar >= -kLimit && *scalar < kLimit)) {
      return fail(fault, "expand/overflow",
                  fmt::format("{} does not fit in a 64-bit integer", scalar_text(*scalar)));
    }
    return Value(static_cast<int64_t>(*scalar));
  }
  const auto* text = value.get<std::string>();
  const bool whole = value.get<int64_t>() || value.get<Dim>();
  if (!text) return whole ? std::optional(value) : type_fault(fault, "integer");
  int64_t result = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), result);
  if (error == std::errc() && end == text->data() + text->size()) return Value(result);
  return fail(fault, "expand/conversion", fmt::format("'{}' is not an integer", *text));
}

std::optional<Value> to_scalar(const Value& value, EvaluationFault& fault) {
  if (const auto* logical = value.get<bool>()) return Value(*logical ? 1.0 : 0.0);
  if (const auto* integer = value.get<int64_t>()) return Value(static_cast<double>(*integer));
  const auto* text = value.get<std::string>();
  if (!text) return value.get<double>() ? std::optional(value) : type_fault(fault, "scalar");
  double result = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), result);
  const bool whole = error == std::errc() && end == text->data() + text->size();
  if (whole && std::isfinite(result)) return Value(result);
  return fail(fault, "expand/conversion", fmt::format("'{}' is not a scalar", *text));
}

std::optional<Value> to_logical(const Value& value, EvaluationFault& fault) {
  if (const auto* integer = value.get<int64_t>()) return Value(*integer != 0);
  if (const auto* scalar = value.get<double>()) return Value(*scalar != 0);
  if (const auto* text = value.get<std::string>()) return Value(!text->empty());
  return value.get<bool>() ? std::optional(value) : type_fault(fault, "logical");
}

std::optional<Value> to_text(const Value& value, EvaluationFault& fault) {
  if (const auto* logical = value.get<bool>())
    return Value(std::string(*logical ? "true" : "false"));
  if (const auto* integer = value.get<int64_t>()) return Value(std::to_string(*integer));
  if (const auto* scalar = value.get<double>()) return Value(scalar_text(*scalar));
  return value.get<std::string>() ? std::optional(value) : type_fault(fault, "string");
}

std::optional<Value> length_of(const Value& value, EvaluationFault& fault) {
  if (!is_sequence(value)) return type_fault(fault, "length_of");
  return Value(static_cast<int64_t>(length(value)));
}

std::optional<Value> range_of(const Value& value, EvaluationFault& fault) {
  if (!is_sequence(value)) return type_fault(fault, "range_of");
  Array result;
  for (size_t i = 0; i < length(value); ++i) result.items.emplace_back(static_cast<int64_t>(i));
  return Value(std::move(result));
}

struct BuiltinRow {
  std::string_view name;
  std::optional<Value> (*evaluate)(const Value&, EvaluationFault&);
};

constexpr std::array kBuiltins{
    BuiltinRow{"length_of", length_of}, BuiltinRow{"range_of", range_of},
    BuiltinRow{"integer", to_integer},  BuiltinRow{"scalar", to_scalar},
    BuiltinRow{"logical", to_logical},  BuiltinRow{"string", to_text},
};

}  // namespace

size_t weight(const Value& value) {
  if (const auto* text = value.get<std::string>()) return 1 + text->size();
  size_t result = 1;
  if (const auto* items = items_of(value)) {
    for (const Value& item : *items) result += weight(item);
  }
  return result;
}

const std::vector<Value>* items_of(const Value& value) {
  if (const auto* array = value.get<Array>()) return &array->items;
  if (const auto* tuple = value.get<Tuple>()) return &tuple->items;
  return nullptr;
}

std::optional<Value> evaluate_unary(std::string_view symbol, const Value& operand,
                                    EvaluationFault& fault) {
  if (symbol == "!" && operand.get<bool>()) return Value(!*operand.get<bool>());
  if (symbol == "+" && (operand.get<int64_t>() || operand.get<double>())) return operand;
  if (symbol == "-" && operand.get<double>()) return Value(-*operand.get<double>());
  if (const auto* extent = operand.get<Dim>()) {
    if (symbol == "+") return operand;
    if (symbol == "-") return Value(Dim(0) - *extent);
  }
  if (const auto* integer = operand.get<int64_t>(); integer && symbol == "-") {
    if (*integer != std::numeric_limits<int64_t>::min()) return Value(-*integer);
    return fail(fault, "expand/overflow",
                fmt::format("-({}) does not fit in a 64-bit integer", *integer));
  }
  return type_fault(fault, symbol);
}

std::optional<Value> evaluate_binary(std::string_view symbol, const Value& left, const Value& right,
                                     EvaluationFault& fault) {
  if (symbol == "in") {
    const auto* items = items_of(right);
    if (!items) return type_fault(fault, symbol);
    return Value(std::ranges::find(*items, left) != items->end());
  }
  const bool symbols = left.get<Dim>() || right.get<Dim>();
  if (symbols && extent_of(left).valid() && extent_of(right).valid())
    return extent_arithmetic(symbol, extent_of(left), extent_of(right), fault);
  constexpr std::string_view kArithmetic = "+-*/^";
  if (symbol.size() != 1 || kArithmetic.find(symbol[0]) == std::string_view::npos) {
    return compare(symbol, left, right, fault);
  }
  if (left.get<int64_t>() && right.get<int64_t>()) {
    return integer_arithmetic(symbol[0], *left.get<int64_t>(), *right.get<int64_t>(), fault);
  }
  if (left.get<double>() && right.get<double>()) {
    return scalar_arithmetic(symbol[0], *left.get<double>(), *right.get<double>(), fault);
  }
  if (symbol == "*" && is_sequence(left) && right.get<int64_t>()) {
    return repeat(left, *right.get<int64_t>(), fault);
  }
  if (symbol == "*" && is_sequence(right) && left.get<int64_t>()) {
    return repeat(right, *left.get<int64_t>(), fault);
  }
  if (symbol == "+" && is_sequence(left)) return join(left, right, fault);
  return type_fault(fault, symbol);
}

std::optional<Value> evaluate_builtin(std::string_view name, const Value& operand,
                                      EvaluationFault& fault) {
  const auto row = std::ranges::find(kBuiltins, name, &BuiltinRow::name);
  return row == kBuiltins.end() ? type_fault(fault, name) : row->evaluate(operand, fault);
}

std::optional<Value> evaluate_item(const Value& base, int64_t index, EvaluationFault& fault) {
  const auto size = static_cast<int64_t>(length(base));
  if (index < -size || index >= size) {
    return fail(fault, "expand/index",
                size == 0 ? fmt::format("index {} into an empty sequence", index)
                          : fmt::format("index {} is out of range, expected {} to {}", index, -size,
                                        size - 1));
  }
  const auto place = static_cast<size_t>(index < 0 ? index + size : index);
  if (const auto* text = base.get<std::string>()) return Value(std::string(1, (*text)[place]));
  return (*items_of(base))[place];
}

std::optional<Value> evaluate_range(const Value& base, std::optional<int64_t> begin,
                                    std::optional<int64_t> end, EvaluationFault& fault) {
  if (!is_sequence(base)) return type_fault(fault, ":");
  const auto size = static_cast<int64_t>(length(base));
  const auto in_range = [&](int64_t bound) { return bound >= -size && bound <= size; };
  const int64_t first = begin.value_or(0);
  const int64_t last = end.value_or(size);
  for (const int64_t bound : {first, last}) {
    if (in_range(bound)) continue;
    return fail(fault, "expand/range",
                fmt::format("bound {} is out of range, expected {} to {}", bound, -size, size));
  }
  const int64_t from = first < 0 ? first + size : first;
  const int64_t to = last < 0 ? last + size : last;
  if (to < from) {
    return fail(
        fault, "expand/range",
        fmt::format("the range {}:{} of {} items ends before it begins", first, last, size));
  }
  if (const auto* text = base.get<std::string>()) {
    return Value(text->substr(static_cast<size_t>(from), static_cast<size_t>(to - from)));
  }
  const auto& items = base.get<Array>()->items;
  return Value(Array{{items.begin() + from, items.begin() + to}});
}

}  // namespace nnef
