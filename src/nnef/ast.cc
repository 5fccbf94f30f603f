#include "ast.h"

#include <fmt/format.h>

#include <algorithm>

namespace nnef::ast {

bool operator==(const Type& a, const Type& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == Type::Kind::primitive && a.primitive != b.primitive) return false;
  return a.items == b.items;
}

std::string to_string(const Type& type) {
  switch (type.kind) {
    case Type::Kind::primitive:
      return std::string(nnef::to_string(type.primitive));
    case Type::Kind::generic:
      return "?";
    case Type::Kind::number:
      return "number";
    case Type::Kind::tensor:
      return fmt::format("tensor<{}>", type.items.empty() ? "" : to_string(type.items[0]));
    case Type::Kind::array:
      return to_string(type.items[0]) + "[]";
    case Type::Kind::tuple:
      break;
  }
  std::string text = "(";
  for (size_t i = 0; i < type.items.size(); ++i) {
    if (i > 0) text += ',';
    text += to_string(type.items[i]);
  }
  return text + ")";
}

bool contains(const Type& type, Type::Kind kind) {
  return type.kind == kind ||
         std::ranges::any_of(type.items, [&](const Type& item) { return contains(item, kind); });
}

bool is_generic(const Type& type) {
  return contains(type, Type::Kind::generic) || contains(type, Type::Kind::number);
}

}  // namespace nnef::ast
