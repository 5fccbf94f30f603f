// The reference evaluator: every primitive of the standard by the specification's formula. Slow on
// purpose; it is what other ways of running a model are compared with.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef/graph.h"

namespace nnef {

/// A tensor's items in row-major order. Those of scalar tensors are reals; those of integer and
/// logical tensors are integers: uint64 as the int64 of the same bits, logicals as 0 and 1.
struct TensorValue {
  using Reals = std::vector<double>;
  using Integers = std::vector<int64_t>;

  DType dtype = DType::scalar;
  ItemType item;
  std::vector<int64_t> shape;
  std::variant<Reals, Integers> items;
};

/// The items of `data` as a tensor of this type: reals are rounded to `item`, integers wrapped;
/// from one to the other they are converted as by the operation 'cast'. Nothing for items that are
/// no plain numbers (quantised codes, codes of vendors).
std::optional<TensorValue> to_value(const TensorData& data, DType dtype, const ItemType& item);
/// The items as bytes, each of a whole 8, 16, 32 or 64 bits.
TensorData to_data(const TensorValue& value);

/// Runs a graph whose compounds were replaced by their bodies, but for those with an evaluator
/// (LoadOptions::keep_compound = has_evaluator). Results that the graph's text names
/// are rounded to their item types; what is between them, inside of a compound, stays in double.
/// Integers always wrap to their item types.
class Reference {
 public:
  /// The graph must outlive the evaluator. Reports operations that it does not know
  /// ("reference/no-evaluator"), and variables without data ("reference/no-data") or with items
  /// that are no numbers ("reference/item-type").
  static std::unique_ptr<Reference> create(const Graph& graph, Diagnostics& diagnostics);

  /// One cycle: the values of all tensors of the graph, by index. `inputs` are in the order of the
  /// graph's inputs ("run/input-count", "run/input-dtype", "run/input-shape"). Variables take
  /// their new values afterwards.
  std::optional<std::vector<TensorValue>> run(const std::vector<TensorValue>& inputs,
                                              Diagnostics& diagnostics);

  /// The value that the next cycle reads from a variable.
  const TensorValue& state(TensorRef variable) const;
  /// Replaces it; the value must have the variable's type and shape.
  void set_state(TensorRef variable, TensorValue value);
  /// Variables have the values of their files again.
  void reset();

 private:
  explicit Reference(const Graph& graph) : graph_(&graph) {}
  bool read_variables(Diagnostics& diagnostics);

  const Graph* graph_;
  std::vector<TensorValue> initial_;  ///< by slot; variables with one label share one
  std::vector<TensorValue> state_;
  std::vector<size_t> slots_;  ///< by tensor; unused for tensors that are no variables
};

/// Whether the evaluator has a function of its own for an operation of the standard.
bool has_evaluator(std::string_view operation);

}  // namespace nnef
