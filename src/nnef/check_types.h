// Static types: what may stand for what (NNEF 1.0.5, "Type System"), and the operators that become
// operations.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ast.h"

namespace nnef {

/// Nothing = unknown, because of a fault that was reported already. An array type without an item
/// is the type of `[]`.
using StaticType = std::optional<ast::Type>;

ast::Type primitive_type(DType dtype);
ast::Type array_of(ast::Type item);
/// tensor<item>
ast::Type tensor_of(ast::Type item);

bool is_primitive(const ast::Type& type, DType dtype);
/// A primitive type, '?' or number: a value of one item.
bool is_single(const ast::Type& type);
/// A tensor, or an array or tuple that holds one.
bool holds_tensor(const ast::Type& type);
using ast::is_generic;

/// True when a value of type `from` may be passed where `to` is expected. '?' within `to` stands
/// for `*binding`, which the first item type met sets when it is empty; '?' within `from` is a type
/// of its own. With a null `binding`, '?' within `to` is a type of its own as well. The same holds
/// for number, which only stands for scalar and integer.
bool castable(const ast::Type& from, const ast::Type& to, StaticType* binding = nullptr);
/// The one of both that the other can be cast to.
StaticType common_type(const ast::Type& a, const ast::Type& b);
/// `type` with '?' or number replaced.
ast::Type substitute(const ast::Type& type, const ast::Type& binding);
/// "tensor<scalar>[]"; "[]" for the empty array.
std::string describe(const ast::Type& type);

enum class OperatorKind : uint8_t { arithmetic, order, equality, logical, membership };

struct BinaryOperator {
  std::string_view symbol;
  OperatorKind kind;
  std::string_view operation;  ///< what it means on tensors; empty: nothing
};
const BinaryOperator& binary_operator(std::string_view symbol);
/// What a unary operator means on a tensor.
std::string_view unary_operation(std::string_view symbol);

}  // namespace nnef
