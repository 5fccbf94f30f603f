// Values of tensors that depend on no input of the graph, computed while the graph is made: in
// tract's dialect they may be attributes.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "nnef/graph.h"
#include "nnef/reference.h"

namespace nnef {

class KnownValues {
 public:
  /// Tensors of more items, and what depends on them, are not computed.
  static constexpr int64_t kMaxItems = 4096;

  explicit KnownValues(const Graph& graph) : graph_(graph) {}

  /// To be called for each operation of the graph, in order, when its results have shapes.
  void add(const Operation& operation);
  /// Null when it depends on an input, is large, or was computed by what has no evaluator.
  const TensorValue* find(TensorRef ref) const;
  /// The items of a tensor of integers, some of which have symbols. Nothing for others.
  std::optional<Shape> extents(TensorRef ref) const;
  /// Exchanges what is known with another's: for another graph in the same place.
  void swap(KnownValues& other);

 private:
  enum class Kind : uint8_t { unknown, known, extents };

  Kind compute(const Operation& operation);
  Kind compute_extents(const Operation& operation);
  bool move_extents(const Operation& operation);
  bool add_extents(const Operation& operation);
  Kind kind(TensorRef ref) const;
  Shape items(TensorRef ref) const;
  void set_extents(TensorRef ref, const Shape& items);

  const Graph& graph_;
  std::vector<Kind> kinds_;          ///< by tensor
  std::vector<TensorValue> values_;  ///< by tensor; of extents, places in pool_
  Shape pool_;                       ///< extents that tensors have as items
};

}  // namespace nnef
