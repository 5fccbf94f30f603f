// What depends on small constants alone, as constants: frontends leave the arithmetic of shapes and
// bounds to the compiler, and later passes look for numbers.
#pragma once

#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

/// The name of the function that computes constants.
inline constexpr const char* kConstantsName = "main_constants";

/// The bindings of "main" that can be computed now.
struct SmallConstants {
  IRModule module;        ///< kConstantsName: of no arguments, to a tuple
  std::vector<Var> vars;  ///< of "main", for the items of the tuple
};

/// Weights (parameters) take no part, and neither do tensors of more than some thousand items: they
/// are computed once, after all passes. No variables when there is nothing to do.
SmallConstants small_constants(const IRModule& module);

/// "main" with the values in place of the variables.
IRModule with_constants(const IRModule& module, const std::vector<Var>& vars,
                        const std::vector<ffi::Tensor>& values);

}  // namespace nnef_tvm
