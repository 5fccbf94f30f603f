// Looking through expressions and statements.
#pragma once

#include <functional>

#include "tvm/object.h"

namespace nnef_tvm {

/// Calls `visit` for each object of a type inside of an expression or statement, from the inside to
/// the outside.
void for_each(const ObjectRef& root, const char* key,
              const std::function<void(const ObjectRef&)>& visit);

bool uses(const ObjectRef& root, const Var& var);

}  // namespace nnef_tvm
