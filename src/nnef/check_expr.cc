#include <fmt/format.h>

#include <algorithm>

#include "checker.h"

namespace nnef {

using ast::Expr;
using ast::Type;

StaticType Checker::type_of(const Expr& expr) {
  if (dynamic_) {
    check_dynamic(expr);
    return std::nullopt;
  }
  switch (expr.kind) {
    case Expr::Kind::logical:
      return primitive_type(DType::logical);
    case Expr::Kind::integer:
      return primitive_type(DType::integer);
    case Expr::Kind::scalar:
      return primitive_type(DType::scalar);
    case Expr::Kind::string:
      return primitive_type(DType::string);
    case Expr::Kind::identifier:
      return type_of_identifier(expr);
    case Expr::Kind::array:
      return type_of_array(expr);
    case Expr::Kind::tuple:
      return type_of_tuple(expr);
    case Expr::Kind::subscript:
      return type_of_subscript(expr);
    case Expr::Kind::range:
      return type_of_range(expr);
    case Expr::Kind::unary:
      return type_of_unary(expr);
    case Expr::Kind::binary:
      return type_of_binary(expr);
    case Expr::Kind::conditional:
      return type_of_conditional(expr);
    case Expr::Kind::comprehension:
      return type_of_comprehension(expr);
    case Expr::Kind::builtin:
      return type_of_builtin(expr);
    case Expr::Kind::invocation:
      return type_of_invocation(expr);
  }
  return std::nullopt;
}

StaticType Checker::type_of_identifier(const Expr& expr) {
  if (const auto found = scope_.find(expr.text); found != scope_.end()) return found->second.type;
  if (symbols_.contains(expr.text)) return std::nullopt;
  if (const auto later = assigned_.find(expr.text); later != assigned_.end()) {
    diagnostics_
        .error("check/use-before-assignment", expr.where,
               fmt::format("'{}' is used before it is assigned", expr.text))
        .note(fmt::format("'{}' is assigned", expr.text), later->second)
        .help("assignments stand in the order of their evaluation");
  } else {
    std::vector<std::string> names;
    for (const auto& [name, binding] : scope_) {
      if (!binding.unknown) names.push_back(name);
    }
    for (const auto& [name, where] : assigned_) names.push_back(name);
    const std::string nearest = nearest_name(expr.text, names);
    Diagnostic& diagnostic = diagnostics_.error("check/unknown-name", expr.where,
                                                fmt::format("unknown name '{}'", expr.text));
    if (!nearest.empty()) {
      diagnostic.help(fmt::format("did you mean '{}'?", nearest));
    } else if (declarations_.find(expr.text)) {
      diagnostic.help(fmt::format("'{0}' is an operation; write {0}(...)", expr.text));
    }
  }
  scope_.emplace(expr.text, Binding{std::nullopt, expr.where, true});
  return std::nullopt;
}

StaticType Checker::type_of_array(const Expr& expr) {
  Type result{Type::Kind::array, DType::scalar, {}};
  bool known = true;
  for (const ast::ExprPtr& item : expr.items) {
    const StaticType type = type_of(*item);
    if (!type || !known) {
      known = false;
      continue;
    }
    if (result.items.empty()) {
      result.items.push_back(*type);
      continue;
    }
    const StaticType common = common_type(result.items[0], *type);
    if (!common) {
      type_fault(item->where,
                 fmt::format("the items of an array must have one type, found {} after {}",
                             describe(*type), describe(result.items[0])),
                 *item, *type, result.items[0]);
      known = false;
      continue;
    }
    result.items[0] = *common;
  }
  return known ? StaticType(result) : std::nullopt;
}

StaticType Checker::type_of_tuple(const Expr& expr) {
  Type result{Type::Kind::tuple, DType::scalar, {}};
  bool known = true;
  for (const ast::ExprPtr& item : expr.items) {
    const StaticType type = type_of(*item);
    known = known && type;
    if (known) result.items.push_back(*type);
  }
  return known ? StaticType(result) : std::nullopt;
}

void Checker::expect_integer(const Expr& expr, std::string_view role) {
  const StaticType type = type_of(expr);
  const Type integer = primitive_type(DType::integer);
  if (type && *type != integer) {
    type_fault(expr.where, fmt::format("{} has type {}, expected integer", role, describe(*type)),
               expr, *type, integer);
  }
}

StaticType Checker::type_of_subscript(const Expr& expr) {
  const Expr& index = *expr.items[1];
  StaticType type = type_of(*expr.items[0]);
  if (type && type->kind == Type::Kind::tuple) {
    const auto size = static_cast<int64_t>(type->items.size());
    if (index.kind != Expr::Kind::integer || index.integer_value < 0 ||
        index.integer_value >= size) {
      diagnostics_.error(
          "check/tuple-index", index.where,
          fmt::format("the index of a tuple of {0} items must be a literal from 0 to "
                      "{1}",
                      size, size - 1));
      return std::nullopt;
    }
    return type->items[static_cast<size_t>(index.integer_value)];
  }
  expect_integer(index, "an index");
  if (!type) return std::nullopt;
  if (is_primitive(*type, DType::string)) return type;
  if (type->kind == Type::Kind::array && !type->items.empty()) return type->items[0];
  diagnostics_.error(
      "check/type", expr.items[0]->where,
      fmt::format("only arrays, tuples and strings have items, found {}",
                  type->kind == Type::Kind::array ? "an empty array" : describe(*type)));
  return std::nullopt;
}

StaticType Checker::type_of_range(const Expr& expr) {
  StaticType type = type_of(*expr.items[0]);
  for (size_t i = 1; i < expr.items.size(); ++i) {
    if (expr.items[i]) expect_integer(*expr.items[i], "a bound");
  }
  if (!type || type->kind == Type::Kind::array || is_primitive(*type, DType::string)) return type;
  diagnostics_.error("check/type", expr.items[0]->where,
                     fmt::format("only arrays and strings have ranges, found {}", describe(*type)));
  return std::nullopt;
}

StaticType Checker::operand_fault(const Expr& expr, const std::vector<const Type*>& types) {
  const bool unary = types.size() == 1;
  std::string message =
      fmt::format("operator '{}' cannot be applied to {}", expr.text, describe(*types[0]));
  if (!unary) message += " and " + describe(*types[1]);
  if (unary || common_type(*types[0], *types[1])) {
    diagnostics_.error("check/type", expr.text_where, std::move(message));
    return std::nullopt;
  }
  const size_t mended = is_primitive(*types[0], DType::integer) ? 0 : 1;
  type_fault(expr.text_where, std::move(message), *expr.items[mended], *types[mended],
             *types[1 - mended]);
  return std::nullopt;
}

StaticType Checker::type_of_tensor_operator(const Expr& expr, std::string_view operation,
                                            const std::vector<const Type*>& types) {
  const ast::Fragment* fragment = declarations_.find(operation);
  if (!fragment || fragment->parameters.size() != types.size()) return operand_fault(expr, types);
  StaticType binding;
  // What the type of both operands is, a tensor says before a literal does.
  for (size_t i = 0; i < types.size() && !binding; ++i) {
    StaticType first;
    if (types[i]->kind != Type::Kind::tensor) continue;
    if (castable(*types[i], fragment->parameters[i].type, &first)) binding = first;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    Type expected = fragment->parameters[i].type;
    if (castable(*types[i], expected, &binding)) continue;
    if (binding) expected = substitute(expected, *binding);
    type_fault(expr.items[i]->where,
               fmt::format("operator '{}' on tensors is '{}', whose '{}' has type {}, found {}",
                           expr.text, operation, fragment->parameters[i].name, describe(expected),
                           describe(*types[i])),
               *expr.items[i], *types[i], expected);
    return std::nullopt;
  }
  if (operations_) operations_->emplace(&expr, binding);
  const Type& result = fragment->results[0].type;
  return binding ? substitute(result, *binding) : result;
}

StaticType Checker::type_of_unary(const Expr& expr) {
  const StaticType type = type_of(*expr.items[0]);
  if (!type) return std::nullopt;
  if (type->kind == Type::Kind::tensor) {
    return type_of_tensor_operator(expr, unary_operation(expr.text), {&*type});
  }
  const bool fits = expr.text == "!"
                        ? is_primitive(*type, DType::logical)
                        : is_primitive(*type, DType::integer) || is_primitive(*type, DType::scalar);
  return fits ? type : operand_fault(expr, {&*type});
}

StaticType Checker::type_of_binary(const Expr& expr) {
  StaticType left = type_of(*expr.items[0]);
  StaticType right = type_of(*expr.items[1]);
  if (!left || !right) return std::nullopt;
  const BinaryOperator& op = binary_operator(expr.text);
  const std::vector<const Type*> types{&*left, &*right};
  const Type integer = primitive_type(DType::integer);
  const Type logical = primitive_type(DType::logical);

  if (op.kind == OperatorKind::membership) {
    const bool fits = right->kind == Type::Kind::array && !holds_tensor(*right) &&
                      (right->items.empty() || castable(*left, right->items[0]));
    return fits ? StaticType(logical) : operand_fault(expr, types);
  }
  if (left->kind == Type::Kind::tensor || right->kind == Type::Kind::tensor) {
    return type_of_tensor_operator(expr, op.operation, types);
  }
  const auto repeatable = [](const Type& type) {
    return type.kind == Type::Kind::array || is_primitive(type, DType::string);
  };
  if (expr.text == "*" && repeatable(*left) && *right == integer) return left;
  if (expr.text == "*" && repeatable(*right) && *left == integer) return right;

  StaticType common = common_type(*left, *right);
  if (!common) return operand_fault(expr, types);
  const bool number = is_primitive(*common, DType::integer) || is_primitive(*common, DType::scalar);
  const bool text = is_primitive(*common, DType::string);
  switch (op.kind) {
    case OperatorKind::arithmetic:
      if (number || (expr.text == "+" && (text || common->kind == Type::Kind::array)))
        return common;
      break;
    case OperatorKind::order:
      if (number || text) return logical;
      break;
    case OperatorKind::equality:
      if (!holds_tensor(*common)) return logical;
      break;
    case OperatorKind::logical:
      if (*common == logical) return logical;
      break;
    case OperatorKind::membership:
      break;
  }
  return operand_fault(expr, types);
}

void Checker::expect_condition(const Expr& expr) {
  const StaticType type = type_of(expr);
  if (!type || is_primitive(*type, DType::logical)) return;
  Diagnostic& diagnostic =
      diagnostics_.error("check/condition", expr.where,
                         fmt::format("a condition has type {}, expected logical", describe(*type)));
  if (type->kind == Type::Kind::tensor) {
    diagnostic.help(
        "conditions are decided at compile time; select(condition, a, b) chooses between items of "
        "tensors");
  }
}

StaticType Checker::type_of_conditional(const Expr& expr) {
  const StaticType yes = type_of(*expr.items[0]);
  expect_condition(*expr.items[1]);
  const StaticType no = type_of(*expr.items[2]);
  if (!yes || !no) return std::nullopt;
  StaticType common = common_type(*yes, *no);
  if (!common) {
    const bool mend_yes = is_primitive(*yes, DType::integer);
    type_fault(expr.items[2]->where,
               fmt::format("both sides of a conditional must have one type, found {} and {}",
                           describe(*yes), describe(*no)),
               *expr.items[mend_yes ? 0 : 2], mend_yes ? *yes : *no, mend_yes ? *no : *yes);
  }
  return common;
}

StaticType Checker::type_of_comprehension(const Expr& expr) {
  std::vector<StaticType> types;
  bool over_nothing = false;
  for (const ast::Iterator& iterator : expr.iterators) {
    const StaticType type = type_of(*iterator.in);
    if (type && type->kind != Type::Kind::array) {
      Diagnostic& diagnostic = diagnostics_.error(
          "check/type", iterator.in->where,
          fmt::format("'{}' iterates over {}, expected an array", iterator.name, describe(*type)));
      if (is_primitive(*type, DType::integer)) {
        diagnostic.help("range_of(array) gives the indices of an array");
      }
    }
    const bool array = type && type->kind == Type::Kind::array;
    const bool known = array && !type->items.empty();
    over_nothing = over_nothing || (array && !known);
    types.push_back(known ? StaticType(type->items[0]) : std::nullopt);
  }
  std::vector<std::string> declared;
  for (size_t i = 0; i < expr.iterators.size(); ++i) {
    const ast::Iterator& iterator = expr.iterators[i];
    if (declare(iterator.name, types[i], iterator.where)) declared.push_back(iterator.name);
  }
  if (expr.items[1]) expect_condition(*expr.items[1]);
  const StaticType item = type_of(*expr.items[0]);
  for (const std::string& name : declared) scope_.erase(name);
  if (over_nothing) return Type{Type::Kind::array, DType::scalar, {}};
  return item ? StaticType(array_of(*item)) : std::nullopt;
}

StaticType Checker::type_of_builtin(const Expr& expr) {
  const StaticType type = type_of(*expr.items[0]);
  const bool length = expr.text == "length_of";
  const bool range = expr.text == "range_of";
  const bool shape = expr.text == "shape_of";
  const Type integer = primitive_type(DType::integer);
  Type result = range || shape ? array_of(integer) : integer;
  if (expr.text == "scalar") result = primitive_type(DType::scalar);
  if (expr.text == "logical") result = primitive_type(DType::logical);
  if (expr.text == "string") result = primitive_type(DType::string);
  if (!type) return result;

  std::string_view expected;
  if (length || range) {
    if (type->kind != Type::Kind::array && !is_primitive(*type, DType::string)) {
      expected = "an array or a string";
    }
  } else if (shape) {
    if (type->kind != Type::Kind::tensor && !is_single(*type)) expected = "a tensor";
  } else if (!is_single(*type)) {
    expected = "a scalar, integer, logical or string";
  }
  if (expected.empty()) return result;
  Diagnostic& diagnostic = diagnostics_.error(
      "check/type", expr.items[0]->where,
      fmt::format("'{}' takes {}, found {}", expr.text, expected, describe(*type)));
  if (type->kind == Type::Kind::tensor && !length && !range) {
    diagnostic.help(fmt::format("cast<{}>(...) converts a tensor", expr.text));
  }
  return result;
}

void Checker::type_fault(const Location& where, std::string message, const Expr& expr,
                         const Type& from, const Type& to) {
  Diagnostic& diagnostic = diagnostics_.error("check/type", where, std::move(message));
  const auto item = [](const Type& type) {
    const Type* inner = &type;
    while (!inner->items.empty() && inner->kind != Type::Kind::tuple) inner = &inner->items[0];
    return *inner;
  };
  const bool literal = expr.kind == Expr::Kind::integer;
  const Type expected = item(to);
  if (is_primitive(item(from), DType::integer) && is_primitive(expected, DType::scalar)) {
    if (literal) {
      diagnostic.help(fmt::format("an integer is not a scalar; write {}.0", expr.integer_value));
    } else if (is_primitive(from, DType::integer)) {
      diagnostic.help("an integer is not a scalar; scalar(...) converts it");
    } else if (from.kind == Type::Kind::array) {
      diagnostic.help("integers are not scalars; write the items with a decimal point, as in 1.0");
    } else {
      diagnostic.help("cast<scalar>(...) converts a tensor");
    }
  } else if (to.kind == Type::Kind::array && from.kind != Type::Kind::array &&
             castable(from, to.items.empty() ? to : to.items[0])) {
    diagnostic.help("an array is written in brackets, as in [1]");
  } else if (from.kind == Type::Kind::tensor && is_single(to)) {
    diagnostic.help("the value of an attribute must be known at compile time");
  } else if (from.kind == Type::Kind::tensor && to.kind == Type::Kind::tensor &&
             expected.kind == Type::Kind::primitive) {
    diagnostic.help(fmt::format("cast<{}>(...) converts a tensor", to_string(expected.primitive)));
  }
}

}  // namespace nnef
