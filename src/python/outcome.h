// What C++ says, as Python takes it.
#pragma once

#include <vector>

#include "nnef/diagnostic.h"
#include "nnef_runtime/session.h"
#include "tvm/object.h"

namespace nnef_tvm::python {

/// What most functions of the door return: [value, diagnostics]. Python raises when one of these is
/// an error.
using Outcome = Array<Any>;
Outcome outcome(Any value, const nnef::Diagnostics& diagnostics);

/// [{"name": ..., "dtype": ..., "shape": [...]}, ...]
Array<Any> describe(const std::vector<nnef_runtime::TensorSpec>& tensors);
Array<Any> describe(const std::vector<nnef_runtime::StateSpec>& states);

/// Runs `work`, which returns a value and reports to the diagnostics that it is given.
template <typename Work>
Outcome attempt(const Work& work) {
  nnef::Diagnostics diagnostics;
  Any value = work(diagnostics);
  return outcome(std::move(value), diagnostics);
}

}  // namespace nnef_tvm::python
