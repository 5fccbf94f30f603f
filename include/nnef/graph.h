// The flat graph: operations in topological order over tensors, each with its type, shape and
// position in the text.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef/shape.h"
#include "nnef/tensor_file.h"

namespace nnef {

/// NNEF's primitive types.
enum class DType : uint8_t { scalar, integer, logical, string };
std::string_view to_string(DType type);
/// The item type of tensors of a primitive type when nothing says otherwise: float32, int32, bool8.
/// Strings have none; asking for it gives float32.
ItemType default_item(DType type);

/// A tensor of the graph, by index into Graph::tensors.
struct TensorRef {
  uint32_t index = 0;
  friend bool operator==(TensorRef, TensorRef) = default;
};

struct Value;
struct Array {
  std::vector<Value> items;
};
struct Tuple {
  std::vector<Value> items;
};

/// What an argument or a result can be: a literal, a tensor, an extent with symbols (never one that
/// is an integer), or an array or tuple of them. monostate = absent.
struct Value : std::variant<std::monostate, bool, int64_t, double, std::string, TensorRef, Array,
                            Tuple, Dim> {
  using variant::variant;
  Value(Dim extent) {  // NOLINT(google-explicit-constructor): as for the other alternatives
    if (extent.known()) {
      emplace<int64_t>(extent.value());
    } else {
      emplace<Dim>(std::move(extent));
    }
  }

  template <typename T>
  const T* get() const {
    return std::get_if<T>(static_cast<const variant*>(this));
  }
  template <typename T>
  T* get() {
    return std::get_if<T>(static_cast<variant*>(this));
  }
};
bool operator==(const Value& a, const Value& b);

/// The extent that a literal is; invalid for what is no integer.
Dim extent_of(const Value& value);

struct Argument {
  std::string name;
  Value value;
  Location where;  ///< of the written argument; of the whole invocation when it was defaulted
  bool defaulted = false;  ///< not written: the declaration's default
};

/// Visits the items of a value, those of arrays one by one; of constant and of other values.
template <typename AnyValue, typename Visit>
requires std::same_as<std::remove_const_t<AnyValue>, Value>
void each_item(AnyValue& value, const Visit& visit) {
  if (auto* array = value.template get<Array>()) {
    for (auto& item : array->items) each_item(item, visit);
  } else {
    visit(value);
  }
}
/// Of all arguments of a list, in order.
template <typename Arguments, typename Visit>
requires std::same_as<std::remove_const_t<Arguments>, std::vector<Argument>>
void each_item(Arguments& arguments, const Visit& visit) {
  for (auto& argument : arguments) each_item(argument.value, visit);
}
/// The items of a value or a list of arguments that are tensors.
template <typename Values, typename Visit>
void each_tensor(Values& values, const Visit& visit) {
  each_item(values, [&](auto& item) {
    if (auto* ref = item.template get<TensorRef>()) visit(*ref);
  });
}

/// One link of the chain of fragment calls that led to an expanded operation, innermost first.
struct CallSite {
  std::string fragment;
  Location where;
};

struct Operation {
  std::string name;                    ///< e.g. "conv"
  std::optional<DType> type_argument;  ///< of generic operations: external<scalar>
  std::vector<Argument> inputs;        ///< tensor parameters (literals included), in declared order
  std::vector<Argument>
      attributes;                   ///< the other parameters, in declared order, defaults filled in
  std::vector<Argument> outputs;    ///< results, in declared order: TensorRef or Array of TensorRef
  Location where;                   ///< the invocation
  std::vector<CallSite> expansion;  ///< empty for an operation written in the graph itself
  /// Filled by shape inference, read by lowerings and the evaluator: what the rule had to compute
  /// anyway (explicit padding, full stride, ...). Names in ops/README.
  std::map<std::string, Value, std::less<>> resolved;
};

/// An entry of graph.quant.
struct Quantization {
  std::string name;  ///< the quantisation operation
  std::vector<Argument> attributes;
  Location where;
};

struct Tensor {
  std::string name;
  DType dtype = DType::scalar;
  /// How items are stored and which numbers they can be: float 16/32/64, int and uint 8 to 64,
  /// bool8. Set by inference; the rule for mixed types is in docs/semantics.md.
  ItemType item;
  std::optional<Shape> shape;  ///< known after inference
  Location where;              ///< of its assignment
  TensorDataPtr data;          ///< of variables, when read
  std::optional<Quantization> quantization;
};

/// A fragment without a body that the file declares (a custom operation), or one with a body that
/// graph.quant needs: kept for the writer and for hosts.
struct CustomDeclaration {
  std::string name;
  std::string text;  ///< "fragment f(x: tensor<scalar>, a: integer = 1) -> (y: tensor<scalar>);"
};

/// What must hold of the symbols' values, or the graph means nothing.
struct Condition {
  enum class Kind : uint8_t { at_least, equal };
  Dim left;
  Kind kind;
  Dim right;
  std::string reason;  ///< "'conv' at graph.nnef:12:5"
};

/// "S >= 3 ('conv' at graph.nnef:12)"
std::string to_string(const Condition& condition);

struct Graph {
  std::string name;
  std::vector<std::string> extensions;
  std::vector<CustomDeclaration> custom;
  std::vector<Tensor> tensors;
  std::vector<Operation> operations;  ///< topological; external, constant, variable included
  std::vector<TensorRef> inputs;
  std::vector<TensorRef> outputs;
  std::vector<Condition> conditions;  ///< those that bounds of symbols do not imply

  const Tensor& operator[](TensorRef ref) const { return tensors[ref.index]; }
  Tensor& operator[](TensorRef ref) { return tensors[ref.index]; }
};

/// What labels are compared by: those that differ only in case are equal.
std::string label_key(std::string_view label);
/// The keys of the labels whose variables an operation 'update' of the graph replaces.
std::set<std::string> updated_labels(const Graph& graph);
/// A variable that is replaced so; the first of its label.
struct StateVariable {
  TensorRef variable;
  std::string label;
};
std::vector<StateVariable> state_variables(const Graph& graph);

/// Read access to an operation by the names of its declaration; shared by shape rules, lowerings
/// and the evaluator. Asking for a name that the declaration lacks is a programming error (assert).
class OpView {
 public:
  OpView(const Graph& graph, const Operation& operation) : graph_(&graph), operation_(&operation) {}

  const Graph& graph() const { return *graph_; }
  const Operation& operation() const { return *operation_; }
  std::string_view name() const { return operation_->name; }

  /// An input or attribute.
  const Argument& argument(std::string_view name) const;
  bool has(std::string_view name) const;
  const Value& value(std::string_view name) const { return argument(name).value; }

  /// Inputs. A literal has rank 0.
  bool is_tensor(std::string_view name) const;
  TensorRef tensor(std::string_view name) const;
  const Shape& shape(std::string_view name) const;
  DType dtype(std::string_view name) const;
  /// Items of an array input (values of concat), each a TensorRef or a literal.
  const std::vector<Value>& items(std::string_view name) const;
  const Shape& shape_of(const Value& value) const;
  DType dtype_of(const Value& value) const;

  /// Attributes.
  int64_t integer(std::string_view name) const;
  double scalar(std::string_view name) const;
  bool logical(std::string_view name) const;
  const std::string& string(std::string_view name) const;
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<std::pair<int64_t, int64_t>> pairs(std::string_view name) const;
  /// A list of integers, some of which may have symbols.
  Shape extent_list(std::string_view name) const;

  /// Results of shape inference (Operation::resolved).
  std::vector<int64_t> resolved_integers(std::string_view name) const;
  std::vector<std::pair<int64_t, int64_t>> resolved_pairs(std::string_view name) const;
  int64_t resolved_integer(std::string_view name) const;
  Shape resolved_extents(std::string_view name) const;

  /// Results: the tensor, or the tensors of an array result.
  TensorRef result(std::string_view name) const;
  std::vector<TensorRef> results(std::string_view name) const;

 private:
  const Graph* graph_;
  const Operation* operation_;
};

}  // namespace nnef
