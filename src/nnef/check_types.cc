#include "check_types.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace nnef {
namespace {

using ast::Type;
using Kind = ast::Type::Kind;

constexpr std::array kBinaryOperators{
    BinaryOperator{"+", OperatorKind::arithmetic, "add"},
    BinaryOperator{"-", OperatorKind::arithmetic, "sub"},
    BinaryOperator{"*", OperatorKind::arithmetic, "mul"},
    BinaryOperator{"/", OperatorKind::arithmetic, "div"},
    BinaryOperator{"^", OperatorKind::arithmetic, "pow"},
    BinaryOperator{"<", OperatorKind::order, "lt"},
    BinaryOperator{"<=", OperatorKind::order, "le"},
    BinaryOperator{">", OperatorKind::order, "gt"},
    BinaryOperator{">=", OperatorKind::order, "ge"},
    BinaryOperator{"==", OperatorKind::equality, "eq"},
    BinaryOperator{"!=", OperatorKind::equality, "ne"},
    BinaryOperator{"&&", OperatorKind::logical, "and"},
    BinaryOperator{"||", OperatorKind::logical, "or"},
    BinaryOperator{"in", OperatorKind::membership, ""},
};

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kUnaryOperations{
    {{"+", "copy"}, {"-", "neg"}, {"!", "not"}}};

bool any_item(const Type& type, bool (*predicate)(const Type&)) {
  return std::ranges::any_of(type.items, predicate);
}

}  // namespace

Type primitive_type(DType dtype) { return {Kind::primitive, dtype, {}}; }
Type array_of(Type item) { return {Kind::array, DType::scalar, {std::move(item)}}; }
Type tensor_of(Type item) { return {Kind::tensor, DType::scalar, {std::move(item)}}; }

bool is_primitive(const Type& type, DType dtype) {
  return type.kind == Kind::primitive && type.primitive == dtype;
}

bool is_single(const Type& type) {
  return type.kind == Kind::primitive || type.kind == Kind::generic || type.kind == Kind::number;
}

bool is_number(const Type& type) {
  return type.kind == Kind::number || is_primitive(type, DType::scalar) ||
         is_primitive(type, DType::integer);
}

bool holds_tensor(const Type& type) {
  return type.kind == Kind::tensor || any_item(type, holds_tensor);
}

bool castable(const Type& from, const Type& to, StaticType* binding) {
  switch (to.kind) {
    case Kind::primitive:
      return is_primitive(from, to.primitive);
    case Kind::generic:
    case Kind::number:
      if (to.kind == Kind::number ? !is_number(from) : !is_single(from)) return false;
      if (!binding) return from.kind == to.kind;
      if (!*binding) *binding = from;
      return from == **binding;
    case Kind::tensor:
      if (from.kind != Kind::tensor) {
        return is_single(from) && (to.items.empty() || castable(from, to.items[0], binding));
      }
      if (to.items.empty()) return true;
      return !from.items.empty() && castable(from.items[0], to.items[0], binding);
    case Kind::array:
      if (from.kind != Kind::array) return false;
      if (from.items.empty()) return true;
      return !to.items.empty() && castable(from.items[0], to.items[0], binding);
    case Kind::tuple:
      if (from.kind != Kind::tuple || from.items.size() != to.items.size()) return false;
      for (size_t i = 0; i < to.items.size(); ++i) {
        if (!castable(from.items[i], to.items[i], binding)) return false;
      }
      return true;
  }
  return false;
}

StaticType common_type(const Type& a, const Type& b) {
  if (castable(a, b)) return b;
  if (castable(b, a)) return a;
  return std::nullopt;
}

Type substitute(const Type& type, const Type& binding) {
  if (type.kind == Kind::generic || type.kind == Kind::number) return binding;
  Type result = type;
  for (Type& item : result.items) item = substitute(item, binding);
  return result;
}

std::string describe(const Type& type) {
  if (type.kind == Kind::array) {
    return type.items.empty() ? "[]" : describe(type.items[0]) + "[]";
  }
  if (type.kind == Kind::tensor && !type.items.empty() && type.items[0].kind == Kind::number) {
    return "tensor<scalar> or tensor<integer>";
  }
  if (type.kind != Kind::tuple) return to_string(type);
  std::string text = "(";
  for (const Type& item : type.items) {
    if (text.size() > 1) text += ",";
    text += describe(item);
  }
  return text + ")";
}

const BinaryOperator& binary_operator(std::string_view symbol) {
  const auto row = std::ranges::find(kBinaryOperators, symbol, &BinaryOperator::symbol);
  assert(row != kBinaryOperators.end());
  return *row;
}

std::string_view unary_operation(std::string_view symbol) {
  const auto row = std::ranges::find(kUnaryOperations, symbol,
                                     &std::pair<std::string_view, std::string_view>::first);
  assert(row != kUnaryOperations.end());
  return row->second;
}

}  // namespace nnef
