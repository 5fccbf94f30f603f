// TVM's own serialisation of its objects (tvm.ir.save_json, tvm.ir.load_json).
#pragma once

#include <string>

#include "tvm/object.h"

namespace nnef_tvm {

std::string to_json(const ObjectRef& object);

/// The reverse. TVM trusts such a text; here it is checked first, so that a damaged one is an error
/// like any other: throws tvm::ffi::Error, whose message says where.
ObjectRef from_json(const std::string& text);

}  // namespace nnef_tvm
