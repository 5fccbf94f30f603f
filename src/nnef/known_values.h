// Values of tensors that depend on no input of the graph, computed while the graph is made: in
// tract's dialect they may be attributes.
#pragma once

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

 private:
  bool compute(const Operation& operation);

  const Graph& graph_;
  std::vector<bool> known_;          ///< by tensor
  std::vector<TensorValue> values_;  ///< by tensor
};

}  // namespace nnef
