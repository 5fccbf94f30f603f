#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "expander.h"
#include "ops/rule.h"

namespace nnef {
namespace {

using ast::Expr;
using ast::Type;

/// Operations whose result is an array, and the argument that says how long it is: one for each
/// item of an array, or the number itself.
struct ResultLength {
  std::string_view operation;
  std::string_view attribute;
};
constexpr std::array kResultLengths{
    ResultLength{"split", "ratios"},
    ResultLength{"copy_n", "times"},
    ResultLength{"tract_core_loop", "output_axes"},
};

}  // namespace

DType Expander::dtype_of(const Value& value) const {
  if (const auto* ref = value.get<TensorRef>()) return graph_[*ref].dtype;
  if (value.get<int64_t>()) return DType::integer;
  if (value.get<bool>()) return DType::logical;
  return value.get<std::string>() ? DType::string : DType::scalar;
}

std::optional<DType> Expander::binding_of(const Expr& expr, const Frame& frame) {
  if (dynamic_) {
    const auto& given = expr.type_argument;
    if (given && given->kind == Type::Kind::primitive) return given->primitive;
    const auto& usual = declarations_.find(expr.text)->generic_default;
    return usual ? std::optional(usual->primitive) : std::nullopt;
  }
  const auto found = types_.find(&expr);
  if (found == types_.end() || !found->second) return std::nullopt;
  return is_generic(*found->second) ? frame.generic : found->second->primitive;
}

Expander::Result Expander::invocation(const Expr& expr, Frame& frame, const Target& target) {
  if (dynamic_) {
    if (const Special special = find_special(expr.text))
      return (this->*special)(expr, frame, target);
  }
  const ast::Fragment& fragment = *declarations_.find(expr.text);
  std::vector<CallArgument> arguments(fragment.parameters.size());
  std::vector<bool> given(arguments.size());
  for (size_t i = 0; i < expr.arguments.size(); ++i) {
    const ast::NamedArgument& argument = expr.arguments[i];
    const auto parameter =
        argument.name.empty()
            ? fragment.parameters.begin() + static_cast<std::ptrdiff_t>(i)
            : std::ranges::find(fragment.parameters, argument.name, &ast::Parameter::name);
    if (parameter == fragment.parameters.end()) continue;  // tract's dialect: it has no effect
    const auto place = static_cast<size_t>(parameter - fragment.parameters.begin());
    Result value = evaluate(*argument.value, frame);
    if (!value) return std::nullopt;
    arguments[place] = {std::move(*value), argument.value->where, false};
    given[place] = true;
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (given[i]) continue;
    Frame empty;
    Result value = evaluate(*fragment.parameters[i].default_value, empty);
    if (!value || !spend(weight(*value), expr.where, frame)) return std::nullopt;
    arguments[i] = {std::move(*value), expr.where, true};
  }
  const std::optional<DType> binding = binding_of(expr, frame);
  // In tract's dialect operands say what they are, whatever is written.
  const bool deduced = dynamic_ && std::ranges::any_of(fragment.parameters, [](const auto& item) {
                         return holds_tensor(item.type) && is_generic(item.type);
                       });
  const bool named_type = (expr.type_argument || fragment.generic_default) && !deduced;
  return call(fragment, std::move(arguments), binding, named_type ? binding : std::nullopt,
              expr.where, frame, target);
}

Expander::Result Expander::tensor_operator(const Expr& expr, std::string_view operation,
                                           Frame& frame, const Target& target) {
  std::vector<CallArgument> arguments;
  for (const ast::ExprPtr& item : expr.items) {
    Result value = evaluate(*item, frame);
    if (!value) return std::nullopt;
    arguments.push_back({std::move(*value), item->where, false});
  }
  return call(*declarations_.find(operation), std::move(arguments), binding_of(expr, frame),
              std::nullopt, expr.where, frame, target);
}

Expander::Result Expander::call(const ast::Fragment& fragment, std::vector<CallArgument> arguments,
                                std::optional<DType> binding, std::optional<DType> type_argument,
                                const Location& where, Frame& frame, const Target& target) {
  // What depends on no input may be an attribute of something, and is computed by its body.
  bool kept = declarations_.is_standard(fragment.name) && keep_(fragment.name);
  if (dynamic_ && fragment.has_body) {
    kept = kept && find_shape_rule(fragment.name) != nullptr && !all_known(arguments);
  }
  if (fragment.has_body && !kept) {
    return expand_fragment(fragment, std::move(arguments), binding, where, frame, target);
  }
  return emit(fragment, std::move(arguments), binding, type_argument, where, frame, target);
}

Expander::Result Expander::expand_fragment(const ast::Fragment& fragment,
                                           std::vector<CallArgument> arguments,
                                           std::optional<DType> binding, const Location& where,
                                           Frame& frame, const Target& target) {
  if (frame.depth >= kMaxCallDepth) {
    return give_up("expand/depth", where,
                   fmt::format("fragments call each other more than {} deep", kMaxCallDepth), frame,
                   "does a fragment call itself without an end?");
  }
  if (!dynamic_ && declarations_.is_standard(fragment.name) && typed_.insert(&fragment).second) {
    Checker(declarations_, type_diagnostics_, &types_).check_fragment(fragment);
  }
  Frame inner;
  inner.fragment = &fragment;
  inner.parent = &frame;
  inner.call = where;
  inner.depth = frame.depth + 1;
  inner.generic = binding;
  for (size_t i = 0; i < arguments.size(); ++i) {
    inner.values[fragment.parameters[i].name] = std::move(arguments[i].value);
  }
  const bool several = fragment.results.size() > 1;
  for (size_t i = 0; i < fragment.results.size(); ++i) {
    Target& result = inner.results[fragment.results[i].name];
    result = several ? target.item(i) : target;
    // In tract's dialect a body may assign it more than once.
    if (dynamic_) result.exact = false;
  }
  for (const ast::Assignment& assignment : fragment.body) {
    if (!run_assignment(assignment, inner)) return std::nullopt;
  }
  Tuple results;
  for (const ast::Result& result : fragment.results) {
    results.items.push_back(std::move(inner.values[result.name]));
  }
  return several ? Value(std::move(results)) : std::move(results.items[0]);
}

TensorRef Expander::add_tensor(const Target& target, const std::string& operation, DType dtype,
                               const Location& where) {
  const std::string wanted = target.name.empty() ? root_ + "_" + operation : target.name;
  Tensor tensor;
  tensor.name = target.exact ? target.name : names_.unique(wanted);
  tensor.dtype = dtype;
  tensor.where = target.exact ? target.where : where;
  graph_.tensors.push_back(std::move(tensor));
  return {static_cast<uint32_t>(graph_.tensors.size() - 1)};
}

std::optional<size_t> Expander::result_length(const Operation& operation) const {
  const auto row = std::ranges::find(kResultLengths, operation.name, &ResultLength::operation);
  if (row == kResultLengths.end()) return std::nullopt;
  const OpView view(graph_, operation);
  const Value& value = view.value(row->attribute);
  if (const auto* array = value.get<Array>()) return array->items.size();
  const int64_t number = view.integer(row->attribute);
  return static_cast<size_t>(std::clamp<int64_t>(number, 0, kMaxOperations));
}

Expander::Result Expander::make_result(const Type& type, std::optional<DType> binding,
                                       std::optional<size_t> length, const Operation& operation,
                                       const Frame& frame, const Target& target) {
  if (type.kind == Type::Kind::tensor) {
    const Type& item = type.items[0];
    const DType dtype = is_generic(item) ? binding.value_or(DType::scalar) : item.primitive;
    return Value(add_tensor(target, operation.name, dtype, operation.where));
  }
  if (type.kind == Type::Kind::tuple) {
    Tuple tuple;
    for (size_t i = 0; i < type.items.size(); ++i) {
      Result item =
          make_result(type.items[i], binding, std::nullopt, operation, frame, target.item(i));
      if (!item) return std::nullopt;
      tuple.items.push_back(std::move(*item));
    }
    return Value(std::move(tuple));
  }
  if (target.sequence && length && *length != target.items.size()) {
    return fail("expand/array-size", operation.where,
                fmt::format("'{}' has {} results, but {} names stand on the left", operation.name,
                            *length, target.items.size()),
                frame);
  }
  if (target.sequence) length = target.items.size();
  if (!length) {
    return fail("expand/array-length", operation.where,
                fmt::format("the number of results of '{}' is not known here", operation.name),
                frame, "name them: [a, b] = ...");
  }
  Array array;
  for (size_t i = 0; i < *length; ++i) {
    if (!spend(1, operation.where, frame)) return std::nullopt;
    Result item =
        make_result(type.items[0], binding, std::nullopt, operation, frame, target.item(i));
    if (!item) return std::nullopt;
    array.items.push_back(std::move(*item));
  }
  return Value(std::move(array));
}

Expander::Result Expander::emit(const ast::Fragment& fragment, std::vector<CallArgument> arguments,
                                std::optional<DType> binding, std::optional<DType> type_argument,
                                const Location& where, const Frame& frame, const Target& target) {
  if (graph_.operations.size() >= kMaxOperations) {
    return give_up("expand/operations", where,
                   fmt::format("the flat graph has more than {} operations", kMaxOperations), frame,
                   "does a fragment call itself several times?");
  }
  if (!spend(1 + frame.depth, where, frame)) return std::nullopt;
  if (dynamic_ && !adapt(fragment, arguments, binding, frame)) return std::nullopt;
  Operation operation;
  operation.name = fragment.name;
  operation.type_argument = type_argument;
  operation.where = where;
  operation.expansion = call_chain(frame);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ast::Parameter& parameter = fragment.parameters[i];
    std::vector<Argument>& list =
        holds_tensor(parameter.type) ? operation.inputs : operation.attributes;
    CallArgument& argument = arguments[i];
    list.push_back({parameter.name, std::move(argument.value), argument.where, argument.defaulted});
  }
  const bool several = fragment.results.size() > 1;
  const std::optional<size_t> length = several ? std::nullopt : result_length(operation);
  Tuple results;
  for (size_t i = 0; i < fragment.results.size(); ++i) {
    const ast::Result& result = fragment.results[i];
    Target place = several ? target.item(i) : target;
    if (several && place.name.empty()) place.name = root_ + "_" + result.name;
    Result value = make_result(result.type, binding, length, operation, frame, place);
    if (!value) return std::nullopt;
    operation.outputs.push_back({result.name, *value, where, false});
    results.items.push_back(std::move(*value));
  }
  graph_.operations.push_back(std::move(operation));
  if (dynamic_) infer_last();
  return several ? Value(std::move(results)) : std::move(results.items[0]);
}

}  // namespace nnef
