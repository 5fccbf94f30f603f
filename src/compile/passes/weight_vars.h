// Which expressions of a Relax function depend on weights alone, and so can be computed when the
// model is compiled.
#pragma once

#include <unordered_set>

#include "tvm/object.h"

namespace nnef_tvm {

/// Weights are the parameters after the first `num_input`, constants, and what is computed from
/// them.
class WeightVars {
 public:
  explicit WeightVars(const Expr& function);

  bool is_weight(const ObjectRef& expr) const;

 private:
  bool all_weights(const ObjectRef& expr, const char* list) const;

  std::unordered_set<const void*> vars_;
};

}  // namespace nnef_tvm
