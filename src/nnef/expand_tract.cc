// Expansion of tract's dialect: a value has its type only here, and shapes are inferred on the way,
// since attributes may be computed from them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <limits>

#include "expander.h"
#include "ops/rule.h"
#include "tract_types.h"

namespace nnef {
namespace {

using ast::Expr;

bool has_tensor(const Value& value) {
  bool found = false;
  each_tensor(value, [&](TensorRef) { found = true; });
  return found;
}

/// The type of literals that stand together: integers are numbers among numbers.
void make_alike(Value& a, Value& b) {
  const auto* integer = a.get<int64_t>();
  if (integer && b.get<double>()) a = static_cast<double>(*integer);
  const auto* other = b.get<int64_t>();
  if (other && a.get<double>()) b = static_cast<double>(*other);
}

/// The item type of inputs of a primitive type that says no more.
ItemType external_item(DType dtype) {
  return dtype == DType::integer ? kTractDimension : default_item(dtype);
}

}  // namespace

Expander::Special Expander::find_special(std::string_view name) {
  struct Row {
    std::string_view name;
    Special special;
  };
  constexpr std::array kRows{
      Row{"external", &Expander::external},
      Row{"tract_core_external", &Expander::external},
      Row{"variable", &Expander::variable},
      Row{"tract_core_scan", &Expander::scan},
  };
  const auto found = std::ranges::find(kRows, name, &Row::name);
  return found == kRows.end() ? nullptr : found->special;
}

/// The argument of that name, else the one at that place, when it has no name.
const Expr* Expander::argument_of(const Expr& expr, std::string_view name, size_t position) const {
  const auto found = std::ranges::find(expr.arguments, name, &ast::NamedArgument::name);
  if (found != expr.arguments.end()) return found->value.get();
  if (position >= expr.arguments.size() || !expr.arguments[position].name.empty()) return nullptr;
  return expr.arguments[position].value.get();
}

Expander::Result Expander::symbol(const Expr& expr, const Frame& frame) {
  const auto found = symbols_.find(expr.text);
  if (found != symbols_.end()) return Value(found->second);  // an integer, or an extent
  return fail("expand/symbol", expr.where,
              fmt::format("the extent '{}' is a symbol, and its value is not known", expr.text),
              frame, "give the shape of the input that has it: --shape NAME=1,128");
}

/// The shape of an input. A shape that was given for it says what the symbols are.
std::optional<Shape> Expander::external_shape(const Expr& expr, Frame& frame,
                                              const std::string& name) {
  const auto given = inputs_.shapes.find(name);
  if (given != inputs_.shapes.end() && expr.kind == Expr::Kind::array) {
    const Shape& shape = given->second;
    if (shape.size() != expr.items.size()) {
      fail("infer/input-rank", expr.where,
           fmt::format("the shape {} given for input '{}' has rank {}, but it is declared with "
                       "rank {}",
                       to_string(shape), name, shape.size(), expr.items.size()),
           frame, "extents may be replaced, the rank must stay");
      return std::nullopt;
    }
    for (size_t i = 0; i < shape.size(); ++i) {
      const Expr& item = *expr.items[i];
      if (!shape[i].valid() || shape[i].least() < 1) {
        fail("infer/input-positive", expr.where,
             fmt::format("the shape {} given for input '{}' has an extent below 1",
                         to_string(shape), name),
             frame);
        return std::nullopt;
      }
      if (item.kind != Expr::Kind::identifier || frame.values.contains(item.text)) continue;
      const auto [place, fresh] = symbols_.emplace(item.text, shape[i]);
      if (!fresh && !(place->second == shape[i])) {
        fail("expand/symbol-values", item.where,
             fmt::format("the symbol '{}' would be {} and {}", item.text, to_string(place->second),
                         to_string(shape[i])),
             frame, "inputs that share a symbol have one extent there");
        return std::nullopt;
      }
    }
    return shape;
  }
  const Result value = evaluate(expr, frame);
  if (!value) return std::nullopt;
  const CallArgument argument{*value, expr.where, false};
  const auto extents =
      as_attribute(*value, array_of(primitive_type(DType::integer)), "shape", argument, frame);
  if (!extents) return std::nullopt;
  Shape shape;
  for (const Value& item : *items_of(*extents)) shape.push_back(extent_of(item));
  return shape;
}

Expander::Result Expander::external(const Expr& expr, Frame& frame, const Target& target) {
  const Expr* shape_expr = argument_of(expr, "shape", 0);
  if (!shape_expr) return std::nullopt;  // reported by the checks
  const auto shape = external_shape(*shape_expr, frame, target.name);
  if (!shape) return std::nullopt;
  DType dtype = expr.type_argument ? expr.type_argument->primitive : DType::scalar;
  ItemType item = external_item(dtype);
  if (const Expr* type = argument_of(expr, "datum_type", 1)) {
    const Result name = evaluate(*type, frame);
    if (!name) return std::nullopt;
    const auto* text = name->get<std::string>();
    const auto found = text ? find_tract_type(*text) : std::nullopt;
    if (!found) {
      return fail("expand/datum-type", type->where,
                  fmt::format("unknown type of items{}", text ? " '" + *text + "'" : ""), frame,
                  "known types: " + tract_type_names());
    }
    dtype = found->dtype;
    item = found->item;
  }
  Array extents;
  for (const Dim& extent : *shape) extents.items.emplace_back(extent);
  std::vector<CallArgument> arguments{{std::move(extents), shape_expr->where, false}};
  Result result = emit(*Declarations::standard().find("external"), std::move(arguments), dtype,
                       dtype, expr.where, frame, target);
  if (result) graph_[*result->get<TensorRef>()].item = item;
  return result;
}

/// A variable has the type of its data.
Expander::Result Expander::variable(const Expr& expr, Frame& frame, const Target& target) {
  const Expr* label_expr = argument_of(expr, "label", 1);
  const Expr* shape_expr = argument_of(expr, "shape", 0);
  if (!label_expr || !shape_expr) return std::nullopt;  // reported by the checks
  const Result label = evaluate(*label_expr, frame);
  const Result shape_value = evaluate(*shape_expr, frame);
  if (!label || !shape_value) return std::nullopt;
  const CallArgument shape_argument{*shape_value, shape_expr->where, false};
  const auto extents = as_attribute(*shape_value, array_of(primitive_type(DType::integer)), "shape",
                                    shape_argument, frame);
  if (!extents) return std::nullopt;
  if (!label->get<std::string>()) {
    return fail("expand/attribute", label_expr->where, "the label of a variable is a string",
                frame);
  }
  Shape shape;
  for (const Value& item : *items_of(*extents)) shape.push_back(extent_of(item));
  if (!known(shape)) {
    return fail("expand/attribute", shape_expr->where,
                fmt::format("the shape {} of a variable has symbols", to_string(shape)), frame);
  }
  DType dtype = expr.type_argument ? expr.type_argument->primitive : DType::scalar;
  TensorDataPtr data;
  if (inputs_.read_variable) {
    data = inputs_.read_variable(target.name, *label->get<std::string>(), shape, expr.where);
    if (!data) return std::nullopt;
    if (!is_quantized(data->type)) dtype = dtype_of_item(data->type);
  }
  std::vector<CallArgument> arguments{{*extents, shape_expr->where, false},
                                      {*label, label_expr->where, false}};
  pending_data_ = std::move(data);
  return emit(*Declarations::standard().find("variable"), std::move(arguments), dtype, dtype,
              expr.where, frame, target);
}

Expander::Result Expander::dynamic_unary(const Expr& expr, Frame& frame, const Target& target) {
  Result operand = evaluate(*expr.items[0], frame);
  if (!operand) return std::nullopt;
  if (has_tensor(*operand)) {
    return call(*declarations_.find(unary_operation(expr.text)),
                {{std::move(*operand), expr.items[0]->where, false}}, std::nullopt, std::nullopt,
                expr.where, frame, target);
  }
  EvaluationFault fault;
  return checked(evaluate_unary(expr.text, *operand, fault), fault, expr.where, frame);
}

Expander::Result Expander::dynamic_binary(const Expr& expr, Frame& frame, const Target& target) {
  const BinaryOperator& op = binary_operator(expr.text);
  Result left = evaluate(*expr.items[0], frame);
  Result right = evaluate(*expr.items[1], frame);
  if (!left || !right) return std::nullopt;
  if (!op.operation.empty() && (has_tensor(*left) || has_tensor(*right))) {
    return call(*declarations_.find(op.operation),
                {{std::move(*left), expr.items[0]->where, false},
                 {std::move(*right), expr.items[1]->where, false}},
                std::nullopt, std::nullopt, expr.where, frame, target);
  }
  make_alike(*left, *right);
  EvaluationFault fault;
  if (op.kind == OperatorKind::logical) {
    const bool* a = left->get<bool>();
    const bool* b = right->get<bool>();
    if (a && b) return Value(expr.text == "&&" ? *a && *b : *a || *b);
  }
  Result result = evaluate_binary(expr.text, *left, *right, fault);
  return checked(std::move(result), fault, expr.where, frame);
}

Expander::Result Expander::dynamic_shape_of(const Expr& expr, Frame& frame) {
  const Result operand = evaluate(*expr.items[0], frame);
  if (!operand) return std::nullopt;
  const auto* ref = operand->get<TensorRef>();
  Array extents;
  if (!ref) return Value(extents);
  if (!graph_[*ref].shape) return std::nullopt;  // reported where it was made
  for (const Dim& extent : *graph_[*ref].shape) extents.items.emplace_back(extent);
  return Value(std::move(extents));
}

TensorRef Expander::cast(TensorRef ref, DType to, const Location& where, const Frame& frame) {
  const auto result = emit(*Declarations::standard().find("cast"), {{Value(ref), where, false}}, to,
                           to, where, frame, {});
  return result ? *result->get<TensorRef>() : ref;
}

void Expander::infer_last() {
  Operation& operation = graph_.operations.back();
  if (operation.name == "variable") {
    const TensorRef ref = *operation.outputs[0].value.get<TensorRef>();
    graph_[ref].data = std::move(pending_data_);
    pending_data_.reset();
  }
  if (find_shape_rule(operation.name) == nullptr) {
    without_rule_.emplace_back(operation.name, operation.where);
    return;
  }
  if (!infer_operation(graph_, operation, diagnostics_)) return;
  infer_items(graph_, operation);
  known_.add(operation);
}

/// What was only needed for attributes, or for nothing. Inputs stay.
void Expander::remove_unused() {
  std::set<uint32_t> used;
  for (const TensorRef ref : graph_.outputs) used.insert(ref.index);
  std::vector<bool> keep(graph_.operations.size());
  for (size_t i = graph_.operations.size(); i-- > 0;) {
    const Operation& operation = graph_.operations[i];
    bool needed = operation.name == "external";
    each_tensor(operation.outputs,
                [&](TensorRef ref) { needed = needed || used.contains(ref.index); });
    keep[i] = needed;
    if (!needed) continue;
    each_tensor(operation.inputs, [&](TensorRef ref) { used.insert(ref.index); });
  }
  size_t next = 0;
  std::erase_if(graph_.operations, [&](const Operation&) { return !keep[next++]; });
  remove_unused_tensors();
}

void Expander::remove_unused_tensors() {
  constexpr uint32_t kGone = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> places(graph_.tensors.size(), kGone);
  for (const Operation& operation : graph_.operations) {
    each_tensor(operation.outputs, [&](TensorRef ref) { places[ref.index] = 0; });
  }
  uint32_t next = 0;
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] == kGone) continue;
    places[i] = next++;
    tensors.push_back(std::move(graph_.tensors[i]));
  }
  graph_.tensors = std::move(tensors);
  const auto move = [&](TensorRef& ref) { ref.index = places[ref.index]; };
  for (Operation& operation : graph_.operations) {
    each_tensor(operation.inputs, move);
    each_tensor(operation.outputs, move);
  }
  std::ranges::for_each(graph_.inputs, move);
  std::ranges::for_each(graph_.outputs, move);
}

/// All in one message: whoever has to supply them wants the whole list.
void Expander::report_without_rule() {
  if (without_rule_.empty()) return;
  std::vector<std::string> names;
  for (const auto& [name, where] : without_rule_) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  Diagnostic& diagnostic = diagnostics_.error(
      "infer/no-rule", without_rule_[0].second,
      fmt::format("no body and no shape rule is known for {}: '{}'",
                  names.size() == 1 ? "1 operation" : fmt::format("{} operations", names.size()),
                  fmt::join(names, "', '")));
  for (size_t i = 1; i < without_rule_.size(); ++i) {
    diagnostic.note(fmt::format("'{}' is used", without_rule_[i].first), without_rule_[i].second);
  }
  diagnostic.help(
      fmt::format("give each fragment a body in the document: fragment {}(...) -> (...) {{ ... }}; "
                  "or register the "
                  "operation by a plug-in: --plugin FILE",
                  names[0]));
}

}  // namespace nnef
