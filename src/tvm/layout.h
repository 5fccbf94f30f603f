// Relax passes that change how operators are expressed: layouts, and single calls.
#pragma once

#include <functional>

#include "tvm/object.h"

namespace nnef_tvm {

/// Rewrites operators, by name, to the layouts of data and weight given for each ("NHWC", "HWIO"),
/// and what is around them as far as TVM knows how; changes of layout remain where it does not.
Pass convert_layout_pass(const Map<String, Array<String>>& layouts);

/// Replaces every call of an operator with so many arguments by what `rewrite` makes of it.
Function rewrite_calls(const Function& function, const std::string& op, size_t arity,
                       const std::function<Expr(const Expr&)>& rewrite);

}  // namespace nnef_tvm
