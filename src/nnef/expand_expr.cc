#include <fmt/format.h>

#include <algorithm>

#include "expander.h"

namespace nnef {

using ast::Expr;

namespace {

bool is_literal(const Expr& expr) {
  return expr.kind == Expr::Kind::logical || expr.kind == Expr::Kind::integer ||
         expr.kind == Expr::Kind::scalar || expr.kind == Expr::Kind::string;
}

}  // namespace

Expander::Result Expander::checked(Result value, const EvaluationFault& fault,
                                   const Location& where, const Frame& frame) {
  if (!value) return fail(fault, where, frame);
  return spend(weight(*value), where, frame) ? std::move(value) : std::nullopt;
}

Expander::Result Expander::evaluate(const Expr& expr, Frame& frame, const Target& target) {
  if (!spend(is_literal(expr) && !frame.fragment ? 0 : 1, expr.where, frame)) return std::nullopt;
  if (nesting_ >= kMaxNesting) {
    return give_up("expand/depth", expr.where,
                   fmt::format("expressions are nested more than {} deep", kMaxNesting), frame,
                   "does a fragment call itself without an end?");
  }
  ++nesting_;
  Result result = evaluate_kind(expr, frame, target);
  --nesting_;
  return result;
}

Expander::Result Expander::evaluate_kind(const Expr& expr, Frame& frame, const Target& target) {
  switch (expr.kind) {
    case Expr::Kind::logical:
      return Value(expr.logical_value);
    case Expr::Kind::integer:
      return Value(expr.integer_value);
    case Expr::Kind::scalar:
      return Value(expr.scalar_value);
    case Expr::Kind::string:
      return Value(expr.text);
    case Expr::Kind::identifier:
      return identifier(expr, frame);
    case Expr::Kind::array:
      return sequence<Array>(expr, frame, target);
    case Expr::Kind::tuple:
      return sequence<Tuple>(expr, frame, target);
    case Expr::Kind::subscript:
      return subscript(expr, frame);
    case Expr::Kind::range:
      return range(expr, frame);
    case Expr::Kind::unary:
      return unary(expr, frame, target);
    case Expr::Kind::binary:
      return binary(expr, frame, target);
    case Expr::Kind::conditional:
      return conditional(expr, frame, target);
    case Expr::Kind::comprehension:
      return comprehension(expr, frame, target);
    case Expr::Kind::builtin:
      return builtin(expr, frame);
    case Expr::Kind::invocation:
      return invocation(expr, frame, target);
  }
  return std::nullopt;
}

const Value* Expander::borrow(const Expr& expr, Frame& frame, Value& storage) {
  if (expr.kind == Expr::Kind::identifier) {
    const auto found = frame.values.find(expr.text);
    const bool known = found != frame.values.end() && !found->second.get<std::monostate>();
    return known ? &found->second : nullptr;
  }
  Result value = evaluate(expr, frame);
  if (!value) return nullptr;
  storage = std::move(*value);
  return &storage;
}

Expander::Result Expander::identifier(const Expr& expr, Frame& frame) {
  if (dynamic_ && !frame.values.contains(expr.text)) return symbol(expr, frame);
  Value unused;
  const Value* value = borrow(expr, frame, unused);
  if (!value) return std::nullopt;
  if (!spend(weight(*value) - 1, expr.where, frame)) return std::nullopt;
  return *value;
}

template <typename Sequence>
Expander::Result Expander::sequence(const Expr& expr, Frame& frame, const Target& target) {
  Sequence result;
  result.items.reserve(expr.items.size());
  for (size_t i = 0; i < expr.items.size(); ++i) {
    Result item = evaluate(*expr.items[i], frame, target.item(i));
    if (!item) return std::nullopt;
    result.items.push_back(std::move(*item));
  }
  return Value(std::move(result));
}

Expander::Result Expander::subscript(const Expr& expr, Frame& frame) {
  Value storage;
  const Value* base = borrow(*expr.items[0], frame, storage);
  if (!base) return std::nullopt;
  const Result index = evaluate(*expr.items[1], frame);
  if (!index) return std::nullopt;
  EvaluationFault fault;
  const auto* place = index->get<int64_t>();
  if (!place) return checked(evaluate_binary("[]", *base, *index, fault), fault, expr.where, frame);
  return checked(evaluate_item(*base, *place, fault), fault, expr.where, frame);
}

Expander::Result Expander::range(const Expr& expr, Frame& frame) {
  Value storage;
  const Value* base = borrow(*expr.items[0], frame, storage);
  if (!base) return std::nullopt;
  std::optional<int64_t> bounds[2];
  for (size_t i = 0; i < 2; ++i) {
    if (!expr.items[i + 1]) continue;
    const Result bound = evaluate(*expr.items[i + 1], frame);
    if (!bound) return std::nullopt;
    bounds[i] = *bound->get<int64_t>();
  }
  EvaluationFault fault;
  Result result = evaluate_range(*base, bounds[0], bounds[1], fault);
  return checked(std::move(result), fault, expr.where, frame);
}

Expander::Result Expander::unary(const Expr& expr, Frame& frame, const Target& target) {
  if (dynamic_) return dynamic_unary(expr, frame, target);
  if (types_.contains(&expr)) {
    return tensor_operator(expr, unary_operation(expr.text), frame, target);
  }
  const Result operand = evaluate(*expr.items[0], frame);
  if (!operand) return std::nullopt;
  EvaluationFault fault;
  return checked(evaluate_unary(expr.text, *operand, fault), fault, expr.where, frame);
}

Expander::Result Expander::binary(const Expr& expr, Frame& frame, const Target& target) {
  if (dynamic_) return dynamic_binary(expr, frame, target);
  const BinaryOperator& op = binary_operator(expr.text);
  if (types_.contains(&expr)) return tensor_operator(expr, op.operation, frame, target);
  if (op.kind == OperatorKind::logical) {
    const std::optional<bool> left = condition(*expr.items[0], frame);
    if (!left) return std::nullopt;
    const bool decided = *left == (expr.text == "||");
    return decided ? Value(*left) : evaluate(*expr.items[1], frame);
  }
  const Result left = evaluate(*expr.items[0], frame);
  const Result right = evaluate(*expr.items[1], frame);
  if (!left || !right) return std::nullopt;
  EvaluationFault fault;
  Result result = evaluate_binary(expr.text, *left, *right, fault);
  return checked(std::move(result), fault, expr.where, frame);
}

std::optional<bool> Expander::condition(const Expr& expr, Frame& frame) {
  const Result value = evaluate(expr, frame);
  if (!value) return std::nullopt;
  return *value->get<bool>();
}

Expander::Result Expander::conditional(const Expr& expr, Frame& frame, const Target& target) {
  const std::optional<bool> chosen = condition(*expr.items[1], frame);
  if (!chosen) return std::nullopt;
  return evaluate(*expr.items[*chosen ? 0 : 2], frame, target);
}

Expander::Result Expander::comprehension(const Expr& expr, Frame& frame, const Target& target) {
  std::vector<Value> iterated;
  for (const ast::Iterator& iterator : expr.iterators) {
    Result value = evaluate(*iterator.in, frame);
    if (!value) return std::nullopt;
    const size_t length = items_of(*value)->size();
    if (!iterated.empty() && length != items_of(iterated[0])->size()) {
      return fail("expand/comprehension", iterator.where,
                  fmt::format("'{}' iterates over {} items, but '{}' over {}", iterator.name,
                              length, expr.iterators[0].name, items_of(iterated[0])->size()),
                  frame, "iterators run side by side, so their arrays have equal lengths");
    }
    iterated.push_back(std::move(*value));
  }
  Array result;
  bool sound = true;
  for (size_t i = 0; sound && i < items_of(iterated[0])->size(); ++i) {
    for (size_t k = 0; k < iterated.size(); ++k) {
      frame.values[expr.iterators[k].name] = (*items_of(iterated[k]))[i];
    }
    const std::optional<bool> accepted =
        expr.items[1] ? condition(*expr.items[1], frame) : std::optional(true);
    sound = accepted.has_value();
    if (!sound || !*accepted) continue;
    Result item = evaluate(*expr.items[0], frame, target.item(result.items.size()));
    sound = item.has_value();
    if (sound) result.items.push_back(std::move(*item));
  }
  for (const ast::Iterator& iterator : expr.iterators) frame.values.erase(iterator.name);
  return sound ? Result(std::move(result)) : std::nullopt;
}

Expander::Result Expander::builtin(const Expr& expr, Frame& frame) {
  if (expr.text == "shape_of" && dynamic_) return dynamic_shape_of(expr, frame);
  if (expr.text == "shape_of") {
    return fail("expand/shape-of", expr.where,
                "'shape_of' is deprecated and not supported: shapes are known only after expansion",
                frame, "write the extents, or pass them to the fragment as an attribute");
  }
  Value storage;
  const Value* operand = borrow(*expr.items[0], frame, storage);
  if (!operand) return std::nullopt;
  EvaluationFault fault;
  return checked(evaluate_builtin(expr.text, *operand, fault), fault, expr.where, frame);
}

}  // namespace nnef
