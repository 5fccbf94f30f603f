// Operations and conversions that are written in Python.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "python/outcome.h"
#include "relax/import.h"

namespace nnef_tvm::python {

/// The error that a conversion raised: Python is to get it back as it was.
using Raised = std::shared_ptr<std::optional<ffi::Error>>;

/// `convert(operation, builder)` gives the expression of the result, or a list of them. The
/// operation is {"name", "inputs", "attributes", "outputs"}, the builder TVM's own.
CustomLowering lowering_of(const ffi::Function& convert, const Raised& raised);

/// Of numbers and of texts such as "2*B".
nnef::Shape extents_from(const Array<Any>& items);

/// Declares an operation for all models that are loaded later, in the place of an earlier one of
/// the name, which is the value. `shapes(operation)`, whose inputs are extents, gives the extents
/// of the result, or {result: extents}.
Outcome register_operation(const String& declaration, const ffi::Function& shapes);

}  // namespace nnef_tvm::python
