#include "nnef/graph.h"

#include <array>
#include <cassert>

namespace nnef {
namespace {

constexpr std::array<std::string_view, 4> kTypeNames{"scalar", "integer", "logical", "string"};

const Argument* find(const std::vector<Argument>& arguments, std::string_view name) {
  for (const Argument& argument : arguments) {
    if (argument.name == name) return &argument;
  }
  return nullptr;
}

const Value& resolved(const Operation& operation, std::string_view name) {
  static const Value absent;
  const auto found = operation.resolved.find(name);
  assert(found != operation.resolved.end() && "shape inference did not fill this name");
  return found == operation.resolved.end() ? absent : found->second;
}

std::vector<int64_t> to_integers(const Value& value) {
  std::vector<int64_t> integers;
  const Array* array = value.get<Array>();
  assert(array != nullptr && "not an array");
  if (array == nullptr) return integers;
  for (const Value& item : array->items) {
    const int64_t* integer = item.get<int64_t>();
    assert(integer != nullptr && "not an array of integers");
    integers.push_back(integer != nullptr ? *integer : 0);
  }
  return integers;
}

Shape to_extents(const Value& value) {
  Shape extents;
  const Array* array = value.get<Array>();
  assert(array != nullptr && "not an array");
  if (array == nullptr) return extents;
  for (const Value& item : array->items) extents.push_back(extent_of(item));
  return extents;
}

std::vector<std::pair<int64_t, int64_t>> to_pairs(const Value& value) {
  std::vector<std::pair<int64_t, int64_t>> pairs;
  const Array* array = value.get<Array>();
  assert(array != nullptr && "not an array");
  if (array == nullptr) return pairs;
  for (const Value& item : array->items) {
    const Tuple* tuple = item.get<Tuple>();
    const bool two = tuple != nullptr && tuple->items.size() == 2;
    const int64_t* first = two ? tuple->items[0].get<int64_t>() : nullptr;
    const int64_t* second = two ? tuple->items[1].get<int64_t>() : nullptr;
    assert(first != nullptr && second != nullptr && "not an array of pairs of integers");
    pairs.emplace_back(first != nullptr ? *first : 0, second != nullptr ? *second : 0);
  }
  return pairs;
}

}  // namespace

std::string_view to_string(DType type) { return kTypeNames[static_cast<size_t>(type)]; }

ItemType default_item(DType type) {
  if (type == DType::integer) return {ItemCode::int_, 0, 32};
  if (type == DType::logical) return {ItemCode::bool_, 0, 8};
  return {ItemCode::float_, 0, 32};
}

bool operator==(const Value& a, const Value& b) {
  if (a.index() != b.index()) return false;
  if (const auto* array = a.get<Array>()) return array->items == b.get<Array>()->items;
  if (const auto* tuple = a.get<Tuple>()) return tuple->items == b.get<Tuple>()->items;
  return std::visit(
      [&b]<typename T>(const T& value) {
        if constexpr (std::is_same_v<T, Array> || std::is_same_v<T, Tuple>) {
          return false;
        } else {
          return value == *b.get<T>();
        }
      },
      static_cast<const Value::variant&>(a));
}

Dim extent_of(const Value& value) {
  if (const auto* extent = value.get<Dim>()) return *extent;
  const auto* integer = value.get<int64_t>();
  return integer != nullptr ? Dim(*integer) : Dim();
}

std::string to_string(const Condition& condition) {
  return to_string(condition.left) + (condition.kind == Condition::Kind::equal ? " == " : " >= ") +
         to_string(condition.right) + " (" + condition.reason + ")";
}

std::string label_key(std::string_view label) {
  std::string key(label);
  for (char& c : key) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return key;
}

std::set<std::string> updated_labels(const Graph& graph) {
  std::set<uint32_t> targets;
  for (const Operation& operation : graph.operations) {
    if (operation.name == "update")
      targets.insert(OpView(graph, operation).tensor("variable").index);
  }
  std::set<std::string> labels;
  for (const Operation& operation : graph.operations) {
    if (operation.name != "variable") continue;
    const OpView variable(graph, operation);
    if (targets.contains(variable.result("output").index))
      labels.insert(label_key(variable.string("label")));
  }
  return labels;
}

std::vector<StateVariable> state_variables(const Graph& graph) {
  std::vector<StateVariable> states;
  auto open = updated_labels(graph);
  for (const Operation& operation : graph.operations) {
    if (operation.name != "variable") continue;
    const OpView variable(graph, operation);
    const std::string& label = variable.string("label");
    if (open.erase(label_key(label)) != 0) states.push_back({variable.result("output"), label});
  }
  return states;
}

const Argument& OpView::argument(std::string_view name) const {
  static const Argument undeclared;
  const Argument* found = find(operation_->inputs, name);
  if (found == nullptr) found = find(operation_->attributes, name);
  assert(found != nullptr && "the declaration has no such parameter");
  return found == nullptr ? undeclared : *found;
}

bool OpView::has(std::string_view name) const {
  return find(operation_->inputs, name) != nullptr || find(operation_->attributes, name) != nullptr;
}

bool OpView::is_tensor(std::string_view name) const {
  return value(name).get<TensorRef>() != nullptr;
}

TensorRef OpView::tensor(std::string_view name) const {
  const TensorRef* ref = value(name).get<TensorRef>();
  assert(ref != nullptr && "not a tensor");
  return ref != nullptr ? *ref : TensorRef{};
}

const Shape& OpView::shape(std::string_view name) const { return shape_of(value(name)); }
DType OpView::dtype(std::string_view name) const { return dtype_of(value(name)); }

const std::vector<Value>& OpView::items(std::string_view name) const {
  static const std::vector<Value> none;
  const Array* array = value(name).get<Array>();
  assert(array != nullptr && "not an array");
  return array != nullptr ? array->items : none;
}

const Shape& OpView::shape_of(const Value& value) const {
  static const Shape rank_zero;
  const TensorRef* ref = value.get<TensorRef>();
  if (ref == nullptr) return rank_zero;
  const std::optional<Shape>& shape = (*graph_)[*ref].shape;
  assert(shape.has_value() && "the shape is not inferred");
  return shape.has_value() ? *shape : rank_zero;
}

DType OpView::dtype_of(const Value& value) const {
  if (const TensorRef* ref = value.get<TensorRef>()) return (*graph_)[*ref].dtype;
  if (value.get<int64_t>() != nullptr || value.get<Dim>() != nullptr) return DType::integer;
  if (value.get<bool>() != nullptr) return DType::logical;
  if (value.get<std::string>() != nullptr) return DType::string;
  return DType::scalar;
}

int64_t OpView::integer(std::string_view name) const {
  const int64_t* integer = value(name).get<int64_t>();
  assert(integer != nullptr && "not an integer");
  return integer != nullptr ? *integer : 0;
}

double OpView::scalar(std::string_view name) const {
  const double* scalar = value(name).get<double>();
  assert(scalar != nullptr && "not a scalar");
  return scalar != nullptr ? *scalar : 0;
}

bool OpView::logical(std::string_view name) const {
  const bool* logical = value(name).get<bool>();
  assert(logical != nullptr && "not a logical value");
  return logical != nullptr && *logical;
}

const std::string& OpView::string(std::string_view name) const {
  static const std::string empty;
  const std::string* string = value(name).get<std::string>();
  assert(string != nullptr && "not a string");
  return string != nullptr ? *string : empty;
}

std::vector<int64_t> OpView::integers(std::string_view name) const {
  return to_integers(value(name));
}

std::vector<std::pair<int64_t, int64_t>> OpView::pairs(std::string_view name) const {
  return to_pairs(value(name));
}

Shape OpView::extent_list(std::string_view name) const { return to_extents(value(name)); }

Shape OpView::resolved_extents(std::string_view name) const {
  return to_extents(resolved(*operation_, name));
}

std::vector<int64_t> OpView::resolved_integers(std::string_view name) const {
  return to_integers(resolved(*operation_, name));
}

std::vector<std::pair<int64_t, int64_t>> OpView::resolved_pairs(std::string_view name) const {
  return to_pairs(resolved(*operation_, name));
}

int64_t OpView::resolved_integer(std::string_view name) const {
  const int64_t* integer = resolved(*operation_, name).get<int64_t>();
  assert(integer != nullptr && "not an integer");
  return integer != nullptr ? *integer : 0;
}

TensorRef OpView::result(std::string_view name) const {
  const Argument* found = find(operation_->outputs, name);
  const TensorRef* ref = found != nullptr ? found->value.get<TensorRef>() : nullptr;
  assert(ref != nullptr && "no such result");
  return ref != nullptr ? *ref : TensorRef{};
}

std::vector<TensorRef> OpView::results(std::string_view name) const {
  const Argument* found = find(operation_->outputs, name);
  const Array* array = found != nullptr ? found->value.get<Array>() : nullptr;
  assert(array != nullptr && "no such array of results");
  std::vector<TensorRef> refs;
  if (array == nullptr) return refs;
  for (const Value& item : array->items) {
    if (const TensorRef* ref = item.get<TensorRef>()) refs.push_back(*ref);
  }
  return refs;
}

}  // namespace nnef
