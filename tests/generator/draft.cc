#include "draft.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace generator {
namespace {

uint64_t mixed(uint64_t value) {
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ value >> 33;
}

/// How the items of a tensor are laid out over their range; the first is the easiest to read.
enum class Style : uint8_t { pattern, dyadic, decimal, special };

double fraction(Style style, uint64_t seed, uint64_t index) {
  if (style == Style::pattern) return static_cast<double>((index * 5 + seed * 3 + 3) % 9) / 8;
  const uint64_t bits = mixed(seed * 0x9e3779b97f4a7c15ULL + index);
  if (style == Style::dyadic) return static_cast<double>(bits % 33) / 32;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

/// Zeros, ties of rounding, equal items, and large ones.
double special(uint64_t seed, uint64_t index) {
  constexpr double values[] = {0,  0.5, -0.5, 1.5, -1.5, 2.5, -2.5, 1,
                               -1, 2,   3,    100, -100, 1e3, 0.1,  -1e-3};
  return values[mixed(seed * 31 + index) % std::size(values)];
}

int64_t special_integer(uint64_t seed, uint64_t index) {
  constexpr int64_t values[] = {0, 1, -1, 2, -2, 3, 7, -7, 46341, -65536, 2147483647, -2147483648};
  return values[mixed(seed * 37 + index) % std::size(values)];
}

const char* type_name(DType dtype) {
  if (dtype == DType::scalar) return "scalar";
  return dtype == DType::integer ? "integer" : "logical";
}

}  // namespace

int64_t volume(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string list(const Extents& values) { return fmt::format("[{}]", fmt::join(values, ",")); }

std::string attribute(const std::string& name, const Extents& values) {
  return name + " = " + list(values);
}

std::string attribute(const std::string& name, const Pairs& values) {
  std::vector<std::string> items;
  items.reserve(values.size());
  for (const auto& [a, b] : values) items.push_back(fmt::format("({},{})", a, b));
  return fmt::format("{} = [{}]", name, fmt::join(items, ","));
}

std::string attribute(const std::string& name, bool value) {
  return fmt::format("{} = {}", name, value);
}

std::string attribute(const std::string& name, int64_t value) {
  return fmt::format("{} = {}", name, value);
}

std::string attribute(const std::string& name, double value) {
  return fmt::format("{} = {}", name, item_text(DType::scalar, value));
}

std::string quoted(const std::string& name, const std::string& value) {
  return fmt::format("{} = '{}'", name, value);
}

std::string item_text(DType dtype, double value) {
  if (dtype == DType::logical) return value != 0 ? "true" : "false";
  if (dtype == DType::integer) return fmt::format("{}", static_cast<int64_t>(value));
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

size_t Draft::rank(size_t least) {
  // Ordinary ranks come first: 1 to 5, or those that are allowed of them.
  const size_t low = std::max<size_t>(least, 1);
  if (choices.rarely(12)) {
    return least == 0 && choices.flip() ? 0 : std::max<size_t>(low, 6 + choices.below(3));
  }
  return low + choices.below(static_cast<uint32_t>(5 - std::min<size_t>(low, 4)) + 1) -
         (low > 4 ? 1 : 0);
}

Extents Draft::shape(size_t rank) {
  Extents result;
  int64_t left = max_items;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t most = std::clamp<int64_t>(left, 1, rank > 5 ? 3 : 6);
    result.push_back(extent(most));
    left /= result.back();
  }
  return result;
}

Extents Draft::broadcast_to(const Extents& to) {
  Extents result = to;
  if (choices.flip()) {
    result.resize(choices.below(static_cast<uint32_t>(to.size()) + 1));
    for (int64_t& extent : result) {
      if (choices.rarely(3)) extent = 1;
    }
  }
  return result;
}

std::vector<double> Draft::items(DType dtype, int64_t count, Range range) {
  const bool plain = range.low == any_number.low && range.high == any_number.high;
  const auto style = static_cast<Style>(choices.below(plain ? 4 : 3));
  const uint64_t seed = choices.below(256);
  std::vector<double> result;
  for (int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<uint64_t>(i);
    const double at = fraction(style, seed, index);
    double item = range.low + at * (range.high - range.low);
    if (style == Style::special) item = special(seed, index);
    if (dtype == DType::scalar) item = static_cast<float>(item);
    if (dtype == DType::integer) {
      item = style == Style::special ? static_cast<double>(special_integer(seed, index))
                                     : std::floor(item + 0.5);
    }
    if (dtype == DType::logical) item = mixed(seed + index) % 2 == 0 ? 1 : 0;
    result.push_back(item);
  }
  return result;
}

Operand Draft::fresh(DType dtype, const Extents& shape, Range range) {
  auto kind = Given::Kind::external;
  if (choices.rarely(4)) kind = choices.flip() ? Given::Kind::constant : Given::Kind::variable;
  return make(kind, dtype, shape, range);
}

Operand Draft::make(Given::Kind kind, DType dtype, const Extents& shape, Range range) {
  const int64_t count = volume(shape);
  const bool single = kind == Given::Kind::constant && (count > 12 || choices.flip());
  constexpr char prefixes[] = "xvc";
  given.push_back({kind, name(prefixes[static_cast<size_t>(kind)]), dtype, shape,
                   items(dtype, single ? 1 : count, range)});
  return {given.back().name, dtype, shape};
}

Operand Draft::literal(DType dtype, Range range) {
  const double at = choices.integer(0, 8);
  double value = range.low + (range.high - range.low) * (8 - at) / 8;
  if (dtype == DType::integer) value = std::floor(value);
  if (dtype == DType::logical) value = choices.flip() ? 1 : 0;
  return {item_text(dtype, value), dtype, {}};
}

Operand Draft::operand(DType dtype, const Fits& fits, const std::function<Extents()>& otherwise,
                       Range range) {
  std::vector<const Operand*> made;
  for (const Statement& statement : statements) {
    for (const Operand& result : statement.made) {
      if (result.dtype == dtype && fits(result.shape)) made.push_back(&result);
    }
  }
  // Chains of operations are what a graph is for: the newest result is the likeliest.
  if (!made.empty() && !choices.rarely(4)) {
    return *made[made.size() - 1 - choices.below(static_cast<uint32_t>(made.size()))];
  }
  std::vector<Operand> given_before;
  for (const Given& tensor : given) {
    if (tensor.dtype == dtype && fits(tensor.shape)) {
      given_before.push_back({tensor.name, dtype, tensor.shape});
    }
  }
  const bool ranged = range.low != any_number.low || range.high != any_number.high;
  if (!given_before.empty() && !ranged && choices.rarely(8)) return choices.pick(given_before);
  return fresh(dtype, otherwise(), range);
}

Operand Draft::tensor(DType dtype, size_t least_rank, Range range) {
  return operand(
      dtype, [=](const Extents& shape) { return shape.size() >= least_rank; },
      [&] { return shape(rank(least_rank)); }, range);
}

Operand Draft::shaped(DType dtype, const Extents& shape, Range range) {
  return operand(
      dtype, [&](const Extents& other) { return other == shape; }, [&] { return shape; }, range);
}

Operand Draft::partner(DType dtype, const Extents& to, Range range) {
  if (choices.rarely(4)) return literal(dtype, range);
  return shaped(dtype, broadcast_to(to), range);
}

DType Draft::any_type() {
  constexpr DType types[] = {DType::scalar, DType::scalar, DType::integer, DType::logical};
  return types[choices.below(4)];
}

void Draft::call(std::string operation, const std::vector<Operand>& operands,
                 const std::vector<std::string>& attributes, size_t results) {
  Statement statement{std::move(operation), "", "", {}, {}};
  std::vector<std::string> arguments, made;
  for (const Operand& operand : operands) {
    arguments.push_back(operand.text);
    statement.operands.push_back(operand.text);
  }
  arguments.insert(arguments.end(), attributes.begin(), attributes.end());
  for (size_t i = 0; i < results; ++i) {
    made.push_back(name('r'));
    statement.made.push_back({made.back(), DType::scalar, {}});
  }
  statement.results = fmt::format("{}", fmt::join(made, ", "));
  statement.invocation = fmt::format("{}({})", statement.operation, fmt::join(arguments, ", "));
  statements.push_back(std::move(statement));
}

void Draft::call_array(std::string operation, const std::vector<Operand>& operands,
                       const std::vector<std::string>& attributes, bool array_operand,
                       std::optional<size_t> array_results) {
  call(std::move(operation), operands, attributes, array_results.value_or(1));
  Statement& statement = statements.back();
  if (array_results) statement.results = "[" + statement.results + "]";
  if (!array_operand) return;
  std::vector<std::string> rest = attributes;
  rest.insert(rest.begin(), fmt::format("[{}]", fmt::join(statement.operands, ", ")));
  statement.invocation = fmt::format("{}({})", statement.operation, fmt::join(rest, ", "));
}

void Draft::back_to(const Mark& mark) {
  given.erase(given.begin() + static_cast<ptrdiff_t>(mark.given), given.end());
  statements.erase(statements.begin() + static_cast<ptrdiff_t>(mark.statements), statements.end());
  names_ = mark.names;
}

std::string graph_text(const std::vector<Given>& given, const std::vector<Statement>& statements,
                       const std::vector<std::string>& outputs) {
  std::vector<std::string> inputs;
  std::string body;
  for (const Given& tensor : given) {
    const char* type = type_name(tensor.dtype);
    if (tensor.kind == Given::Kind::external) {
      inputs.push_back(tensor.name);
      body += fmt::format("    {} = external<{}>(shape = {});\n", tensor.name, type,
                          list(tensor.shape));
    } else if (tensor.kind == Given::Kind::variable) {
      body += fmt::format("    {} = variable<{}>(shape = {}, label = '{}');\n", tensor.name, type,
                          list(tensor.shape), tensor.name);
    } else {
      std::vector<std::string> items;
      for (const double item : tensor.items) items.push_back(item_text(tensor.dtype, item));
      body += fmt::format("    {} = constant<{}>(shape = {}, value = [{}]);\n", tensor.name, type,
                          list(tensor.shape), fmt::join(items, ","));
    }
  }
  for (const Statement& statement : statements) {
    body += fmt::format("    {} = {};\n", statement.results, statement.invocation);
  }
  return fmt::format("version 1.0;\n\ngraph G({}) -> ({})\n{{\n{}}}\n", fmt::join(inputs, ", "),
                     fmt::join(outputs, ", "), body);
}

}  // namespace generator
