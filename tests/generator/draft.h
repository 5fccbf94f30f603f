// A graph while it is drawn: its text, the tensors that later operations can take, and their data.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "choices.h"
#include "nnef/graph.h"

namespace generator {

using nnef::DType;
using Extents = std::vector<int64_t>;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

/// Where the items of fresh operands lie, ends included.
struct Range {
  double low;
  double high;
};
inline constexpr Range any_number{-4, 4};
inline constexpr Range positive{0.125, 8};

/// A tensor that operations can take, or a literal (without a shape to speak of).
struct Operand {
  std::string text;
  DType dtype = DType::scalar;
  Extents shape;
};

/// The tensors without an operation behind them, in the order of their statements.
struct Given {
  enum class Kind : uint8_t { external, variable, constant };
  Kind kind;
  std::string name;
  DType dtype;
  Extents shape;
  std::vector<double> items;  ///< of a constant: one for all, or all of them
};

/// An operation of the graph: what it takes and makes.
struct Statement {
  std::string operation;
  std::string results;  ///< the left side
  std::string invocation;
  std::vector<std::string> operands;  ///< names of tensors
  std::vector<Operand> made;          ///< shapes are known after inference
};

/// Largest number of items of a fresh tensor, and of a result.
inline constexpr int64_t max_items = 400;
inline constexpr int64_t max_result_items = 20000;

class Draft {
 public:
  explicit Draft(Choices& choices) : choices(choices) {}

  // Shapes.
  int64_t extent(int64_t most = 5) { return choices.integer(1, most); }
  /// Any rank from `least` on: mostly to 5, to 8 now and then.
  size_t rank(size_t least = 0);
  Extents shape(size_t rank);
  /// A shape that broadcasts to `to`: a part from the left, extents of 1 here and there.
  Extents broadcast_to(const Extents& to);

  // Operands. Those that are not fresh were made by earlier operations.
  using Fits = std::function<bool(const Extents&)>;
  /// One that exists and fits, or a fresh one of a shape that `otherwise` draws.
  Operand operand(DType dtype, const Fits& fits, const std::function<Extents()>& otherwise,
                  Range range = any_number);
  /// Of any shape of `least_rank` axes or more.
  Operand tensor(DType dtype, size_t least_rank = 0, Range range = any_number);
  /// Of exactly this shape.
  Operand shaped(DType dtype, const Extents& shape, Range range = any_number);
  /// Broadcasts to `to`: a tensor, or a literal.
  Operand partner(DType dtype, const Extents& to, Range range = any_number);
  Operand fresh(DType dtype, const Extents& shape, Range range = any_number);
  Operand make(Given::Kind kind, DType dtype, const Extents& shape, Range range = any_number);
  Operand literal(DType dtype, Range range = any_number);

  /// scalar, or now and then integer: of operations that take both.
  DType number() { return choices.rarely(4) ? DType::integer : DType::scalar; }
  DType any_type();

  /// Adds "results = operation(operands, attributes)". `results` has an entry for each result; an
  /// array result, in brackets, counts as its items.
  void call(std::string operation, const std::vector<Operand>& operands,
            const std::vector<std::string>& attributes, size_t results = 1);
  /// The same for an array operand or an array result, written in brackets.
  void call_array(std::string operation, const std::vector<Operand>& operands,
                  const std::vector<std::string>& attributes, bool array_operand,
                  std::optional<size_t> array_results);

  /// The state before an operation was drawn, to come back to when its shapes do not fit.
  struct Mark {
    size_t given, statements, names;
  };
  Mark mark() const { return {given.size(), statements.size(), names_}; }
  void back_to(const Mark& mark);

  Choices& choices;
  std::vector<Given> given;
  std::vector<Statement> statements;

 private:
  std::string name(char kind) { return kind + std::to_string(names_++); }
  std::vector<double> items(DType dtype, int64_t count, Range range);

  size_t names_ = 0;
};

/// The text of a graph.
std::string graph_text(const std::vector<Given>& given, const std::vector<Statement>& statements,
                       const std::vector<std::string>& outputs);

/// "name = [1,2]"
std::string attribute(const std::string& name, const Extents& values);
std::string attribute(const std::string& name, const Pairs& values);
std::string attribute(const std::string& name, bool value);
std::string attribute(const std::string& name, int64_t value);
std::string attribute(const std::string& name, double value);
std::string quoted(const std::string& name, const std::string& value);

int64_t volume(const Extents& shape);
std::string list(const Extents& values);
/// As NNEF writes an item of this type.
std::string item_text(DType dtype, double value);

}  // namespace generator
