// Arguments of tract's dialect become what the declarations of primitives ask for: arrays become
// tensors, tensors attributes, types are converted, and what the dialect says otherwise than the
// standard is said as the standard does.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "expander.h"

namespace nnef {
namespace {

using ast::Type;

bool has_tensor(const Value& value) {
  bool found = false;
  each_tensor(value, [&](TensorRef) { found = true; });
  return found;
}

/// The extents of nested arrays of literals; nothing when they are ragged.
std::optional<std::vector<int64_t>> literal_shape(const Value& value) {
  const auto* array = value.get<Array>();
  if (!array) return std::vector<int64_t>{};
  std::vector<int64_t> shape{static_cast<int64_t>(array->items.size())};
  for (size_t i = 0; i < array->items.size(); ++i) {
    const auto inner = literal_shape(array->items[i]);
    if (!inner) return std::nullopt;
    if (i == 0) shape.insert(shape.end(), inner->begin(), inner->end());
    if (!std::equal(inner->begin(), inner->end(), shape.begin() + 1, shape.end()))
      return std::nullopt;
  }
  return shape;
}

/// Logical, integer, scalar: each can be said as one that follows.
int rank_of(DType dtype) {
  if (dtype == DType::logical) return 0;
  return dtype == DType::integer ? 1 : 2;
}

DType wider(DType a, DType b) { return rank_of(a) < rank_of(b) ? b : a; }

std::optional<DType> literal_dtype(const Value& value) {
  if (value.get<bool>()) return DType::logical;
  if (value.get<int64_t>() || value.get<Dim>()) return DType::integer;
  if (value.get<double>()) return DType::scalar;
  return std::nullopt;
}

/// A number as a literal of another type; nothing when it has none.
std::optional<Value> literal_as(const Value& value, DType to) {
  const auto* logical = value.get<bool>();
  const auto* integer = value.get<int64_t>();
  const auto* real = value.get<double>();
  if (literal_dtype(value) == to) return value;
  if (to == DType::scalar) {
    if (logical) return Value(*logical ? 1.0 : 0.0);
    if (integer) return Value(static_cast<double>(*integer));
  }
  if (to == DType::integer) {
    constexpr double kLargest = 9007199254740992.0;  // 2^53
    if (logical) return Value(int64_t{*logical});
    if (real && std::trunc(*real) == *real && std::abs(*real) <= kLargest)
      return Value(static_cast<int64_t>(*real));
  }
  if (to == DType::logical) {
    if (integer) return Value(*integer != 0);
    if (real) return Value(*real != 0);
  }
  return std::nullopt;
}

/// The items of a known tensor as literals.
std::vector<Value> literals(const TensorValue& known) {
  std::vector<Value> items;
  if (const auto* reals = std::get_if<TensorValue::Reals>(&known.items)) {
    items.assign(reals->begin(), reals->end());
  } else {
    for (const int64_t item : std::get<TensorValue::Integers>(known.items)) {
      known.dtype == DType::logical ? items.emplace_back(item != 0) : items.emplace_back(item);
    }
  }
  return items;
}

const Type* item_type(const Type& type) {
  return type.kind == Type::Kind::tensor && !type.items.empty() ? &type.items[0] : nullptr;
}

bool is_tensor_array(const Type& type) {
  return type.kind == Type::Kind::array && holds_tensor(type);
}

}  // namespace

Expander::Result Expander::as_tensor(const Value& value, const Location& where, const Frame& frame,
                                     size_t rank) {
  const auto* array = value.get<Array>();
  if (!array) {
    if (value.get<Dim>()) return as_tensor(Array{{value}}, where, frame, 0);
    if (value.get<TensorRef>() || literal_dtype(value)) return value;
    return fail("expand/tensor", where,
                value.get<std::string>() ? "a string is no tensor" : "this value is no tensor",
                frame);
  }
  const Declarations& standard = Declarations::standard();
  if (has_tensor(value)) {
    Array items;
    for (const Value& item : array->items) {
      Result tensor = as_tensor(item, where, frame);
      if (!tensor) return std::nullopt;
      items.items.push_back(std::move(*tensor));
    }
    return emit(*standard.find("stack"),
                {{std::move(items), where, false}, {Value(int64_t{0}), where, false}}, std::nullopt,
                std::nullopt, where, frame, {});
  }
  const auto shape = literal_shape(value);
  Array items;
  DType dtype = DType::logical;
  bool numbers = shape.has_value();
  each_item(value, [&](const Value& item) {
    const auto type = literal_dtype(item);
    numbers = numbers && type;
    if (type) dtype = wider(dtype, *type);
    items.items.push_back(item);
  });
  if (!numbers || items.items.empty()) {
    return fail("expand/tensor", where,
                items.items.empty() ? "an empty array is no tensor"
                                    : "an array of other than numbers, or of rows of different "
                                      "lengths, is no tensor",
                frame);
  }
  for (Value& item : items.items) {
    if (item.get<Dim>() && dtype != DType::integer) {
      return fail("expand/tensor", where,
                  "an array of extents with symbols and of other numbers is no tensor", frame,
                  "convert the extents: tract_core_cast([S], to = 'f32')");
    }
    item = *literal_as(item, dtype);
  }
  Array extents;
  for (size_t i = 0; i < std::min(rank, shape->size()); ++i)
    extents.items.emplace_back((*shape)[i]);
  return emit(*standard.find("constant"),
              {{std::move(extents), where, false}, {std::move(items), where, false}}, dtype, dtype,
              where, frame, {});
}

Expander::Result Expander::as_attribute(const Value& value, const Type& type, std::string_view name,
                                        const CallArgument& argument, const Frame& frame) {
  if (const auto* ref = value.get<TensorRef>()) {
    const Tensor& tensor = graph_[*ref];
    if (!tensor.shape) return std::nullopt;  // reported where it was made
    const TensorValue* known = known_.find(*ref);
    if (const auto extents = known_.extents(*ref)) {
      if (type.kind == Type::Kind::array)
        return as_attribute(Array{{extents->begin(), extents->end()}}, type, name, argument, frame);
      if (extents->size() == 1) return as_attribute(extents->front(), type, name, argument, frame);
    }
    if (!known) {
      return fail("expand/attribute", argument.where,
                  fmt::format("attribute '{}' must be known when the model is compiled, but tensor "
                              "'{}' depends on an input, or is large",
                              name, tensor.name),
                  frame);
    }
    std::vector<Value> items = literals(*known);
    if (type.kind == Type::Kind::array) {
      return as_attribute(Array{std::move(items)}, type, name, argument, frame);
    }
    if (items.size() == 1) return as_attribute(items[0], type, name, argument, frame);
    return fail("expand/attribute", argument.where,
                fmt::format("attribute '{}' is one item, but tensor '{}' has shape {}", name,
                            tensor.name, to_string(*tensor.shape)),
                frame);
  }
  const auto wrong = [&] {
    return fail("expand/attribute", argument.where,
                fmt::format("attribute '{}' has a value that is no {}", name, describe(type)),
                frame);
  };
  if (type.kind == Type::Kind::array || type.kind == Type::Kind::tuple) {
    const std::vector<Value>* items = items_of(value);
    if (!items) {
      if (type.kind == Type::Kind::tuple) return wrong();
      const Result item = as_attribute(value, type.items[0], name, argument, frame);
      return item ? Result(Array{{*item}}) : std::nullopt;
    }
    if (type.kind == Type::Kind::tuple && items->size() != type.items.size()) return wrong();
    std::vector<Value> results;
    for (size_t i = 0; i < items->size(); ++i) {
      const Type& item_type = type.items[type.kind == Type::Kind::tuple ? i : 0];
      Result item = as_attribute((*items)[i], item_type, name, argument, frame);
      if (!item) return std::nullopt;
      results.push_back(std::move(*item));
    }
    return type.kind == Type::Kind::tuple ? Value(Tuple{std::move(results)})
                                          : Value(Array{std::move(results)});
  }
  if (type.kind != Type::Kind::primitive) return value;
  if (type.primitive == DType::string) return value.get<std::string>() ? Result(value) : wrong();
  auto literal = literal_as(value, type.primitive);
  return literal ? Result(std::move(literal)) : wrong();
}

bool Expander::all_known(const std::vector<CallArgument>& arguments) {
  bool known = true;
  bool tensors = false;
  for (const CallArgument& argument : arguments) {
    each_tensor(argument.value, [&](TensorRef ref) {
      tensors = true;
      known = known && (known_.find(ref) != nullptr || known_.extents(ref));
    });
  }
  return known && tensors;
}

/// What '?' and number of a declaration are: the widest type of the tensors, or else of literals. A
/// literal with a fraction makes integers scalars.
DType Expander::common_dtype(const ast::Fragment& fragment,
                             const std::vector<CallArgument>& arguments,
                             std::optional<DType> binding) const {
  std::optional<DType> of_tensors;
  std::optional<DType> of_literals;
  bool fraction = false;
  bool number = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type& type = fragment.parameters[i].type;
    if (!is_generic(type) || !holds_tensor(type)) continue;
    number = number || ast::contains(type, Type::Kind::number);
    each_item(arguments[i].value, [&](const Value& item) {
      const bool tensor = item.get<TensorRef>() != nullptr;
      auto& dtype = tensor ? of_tensors : of_literals;
      dtype = dtype ? wider(*dtype, dtype_of(item)) : dtype_of(item);
      fraction = fraction || (item.get<double>() && !literal_as(item, DType::integer));
    });
  }
  DType common = of_tensors ? *of_tensors : of_literals.value_or(binding.value_or(DType::scalar));
  if (of_tensors && *of_tensors == DType::logical && of_literals)
    common = wider(common, *of_literals);
  if (fraction) common = DType::scalar;
  if (number) common = wider(common, DType::integer);
  return common;
}

/// A tensor or literal of another primitive type.
Value Expander::converted(const Value& value, DType to, const Location& where, const Frame& frame) {
  if (const auto* ref = value.get<TensorRef>()) {
    return graph_[*ref].dtype == to ? value : Value(cast(*ref, to, where, frame));
  }
  if (const auto* array = value.get<Array>()) {
    Array result;
    for (const Value& item : array->items)
      result.items.push_back(converted(item, to, where, frame));
    return result;
  }
  return literal_as(value, to).value_or(value);
}

/// A constant of rank 0 among tensors takes their type, as a literal does.
void Expander::known_scalars_to_literals(const ast::Fragment& fragment,
                                         std::vector<CallArgument>& arguments) const {
  const auto known_scalar = [&](const CallArgument& argument) -> const TensorValue* {
    const auto* ref = argument.value.get<TensorRef>();
    const TensorValue* known = ref ? known_.find(*ref) : nullptr;
    return known && known->shape.empty() ? known : nullptr;
  };
  const auto is_operand = [&](size_t i) {
    return item_type(fragment.parameters[i].type) && arguments[i].value.get<TensorRef>();
  };
  bool others = false;
  for (size_t i = 0; i < arguments.size(); ++i)
    others = others || (is_operand(i) && !known_scalar(arguments[i]));
  if (!others) return;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const TensorValue* known = is_operand(i) ? known_scalar(arguments[i]) : nullptr;
    if (known) arguments[i].value = literals(*known)[0];
  }
}

bool Expander::adapt(const ast::Fragment& fragment, std::vector<CallArgument>& arguments,
                     std::optional<DType>& binding, const Frame& frame) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const ast::Parameter& parameter = fragment.parameters[i];
    CallArgument& argument = arguments[i];
    Result value;
    if (is_tensor_array(parameter.type)) {
      Array items;
      const auto* array = argument.value.get<Array>();
      for (const Value& item : array ? array->items : std::vector<Value>{argument.value}) {
        Result tensor = as_tensor(item, argument.where, frame);
        if (!tensor) return false;
        items.items.push_back(std::move(*tensor));
      }
      value = Value(std::move(items));
    } else if (parameter.type.kind == Type::Kind::tensor) {
      value = as_tensor(argument.value, argument.where, frame);
    } else {
      value = as_attribute(argument.value, parameter.type, parameter.name, argument, frame);
    }
    if (!value) return false;
    argument.value = std::move(*value);
  }
  known_scalars_to_literals(fragment, arguments);
  const bool deduced =
      std::ranges::any_of(fragment.parameters, [](const ast::Parameter& parameter) {
        return holds_tensor(parameter.type) && is_generic(parameter.type);
      });
  if (deduced) binding = common_dtype(fragment, arguments, binding);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Type* type = &fragment.parameters[i].type;
    if (is_tensor_array(*type)) type = &type->items[0];
    const Type* item = item_type(*type);
    if (!item) continue;
    const bool fixed = item->kind == Type::Kind::primitive;
    if (!fixed && !deduced) continue;
    arguments[i].value = converted(arguments[i].value, fixed ? item->primitive : *binding,
                                   arguments[i].where, frame);
  }
  normalise(fragment, arguments);
  return true;
}

}  // namespace nnef
