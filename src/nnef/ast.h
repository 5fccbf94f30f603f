// The syntax tree of NNEF text, with a position on every node (NNEF 1.0.5 specification, "Syntax").
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef/graph.h"
#include "nnef/model.h"

namespace nnef::ast {

/// A type: primitive, generic '?', number, tensor<item>, item[], (item, item, ...).
struct Type {
  enum class Kind : uint8_t {
    primitive,
    generic,
    number,  ///< scalar or integer, one of them throughout an invocation; only in stdlib.nnef
    tensor,
    array,
    tuple
  };
  Kind kind = Kind::primitive;
  DType primitive = DType::scalar;  ///< of kind primitive
  std::vector<Type>
      items;  ///< tensor: its item (empty: tensor<>, any item); array: 1; tuple: 2 or more
};
bool operator==(const Type& a, const Type& b);
/// "tensor<scalar>[]", "(integer,integer)[]", "?"
std::string to_string(const Type& type);
/// True when a type of that kind occurs in it.
bool contains(const Type& type, Type::Kind kind);
/// True when '?' or `number` occurs in it: what it is here depends on the invocation.
bool is_generic(const Type& type);

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct NamedArgument {
  std::string name;  ///< empty: positional
  Location name_where;
  ExprPtr value;
};

struct Iterator {
  std::string name;
  Location where;
  ExprPtr in;
};

struct Expr {
  enum class Kind : uint8_t {
    logical,        ///< literal: `logical_value`
    integer,        ///< literal: `integer_value`
    scalar,         ///< literal: `scalar_value`
    string,         ///< literal: `text`, escapes resolved
    identifier,     ///< `text`
    array,          ///< `items`
    tuple,          ///< `items`
    subscript,      ///< items[0] [ items[1] ]
    range,          ///< items[0] [ items[1] : items[2] ], either bound may be null
    unary,          ///< `text` items[0]; operator + - !
    binary,         ///< items[0] `text` items[1]; + - * / ^ < <= > >= == != && || in
    conditional,    ///< items[0] if items[1] else items[2]
    comprehension,  ///< [for `iterators` if items[1] yield items[0]]; items[1] may be null
    builtin,        ///< `text`(items[0]): length_of range_of shape_of integer scalar logical string
    invocation,     ///< `text`<type_argument>(arguments)
  };
  Kind kind = Kind::integer;
  uint32_t depth =
      1;  ///< height of the tree below this node; the parser limits it, so that walks may recurse
  Location where;
  bool logical_value = false;
  int64_t integer_value = 0;
  double scalar_value = 0;
  std::string text;
  Location text_where;  ///< of the operator, or of the invoked name
  std::vector<ExprPtr> items;
  std::vector<Iterator> iterators;
  std::optional<Type> type_argument;
  std::vector<NamedArgument> arguments;
};

/// `left = right;` where left is made of identifiers, tuples and arrays.
struct Assignment {
  ExprPtr left;
  ExprPtr right;
  Location where;
};

struct Parameter {
  std::string name;
  Type type;
  ExprPtr default_value;  ///< may be null
  Location where;
};

struct Result {
  std::string name;
  Type type;
  Location where;
};

struct Fragment {
  std::string name;
  Location name_where;
  bool generic = false;                 ///< fragment f<?>
  std::optional<Type> generic_default;  ///< fragment f<? = scalar>
  std::vector<Parameter> parameters;
  std::vector<Result> results;
  bool has_body = false;
  std::vector<Assignment> body;
  Location where;
};

struct Identifier {
  std::string name;
  Location where;
};

struct GraphDefinition {
  std::string name;
  Location name_where;
  std::vector<Identifier> inputs;
  std::vector<Identifier> outputs;
  std::vector<Assignment> body;
  Location where;
};

/// tract: what holds of symbols, as it is written.
struct Assertion {
  std::string text;
  Location where;
};

struct Document {
  SourcePtr source;
  Dialect dialect = Dialect::khronos;
  std::vector<Identifier> symbols;  ///< tract: extents that are known only when the model runs
  std::vector<Assertion> assertions;
  std::vector<Identifier> extensions;  ///< tract: whole lines, without the keyword
  std::vector<Fragment> fragments;
  std::optional<GraphDefinition> graph;  ///< absent in a library (stdlib.nnef) and after errors
};

/// An entry of graph.quant: "tensor": op(name = value, ...);
struct QuantizationEntry {
  std::string tensor;
  Location tensor_where;
  ExprPtr invocation;  ///< Kind::invocation, named arguments with literal values only
};

}  // namespace nnef::ast
