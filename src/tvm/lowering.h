// What TVM's functions of scalars become in generated code. Its tables of that are of the whole
// process: change them before the first kernel is built.
#pragma once

#include <functional>
#include <optional>

#include "tvm/object.h"

namespace nnef_tvm {

/// Whether nobody asked so for `what` before in this process, where several libraries may have a
/// copy of this code: TVM refuses to be told the same twice.
bool first_in_process(const char* what);

/// The replacement of a call with these arguments (scalars or vectors); nullopt leaves it to TVM.
using Lowering = std::function<std::optional<PrimExpr>(const Array<PrimExpr>& args)>;

/// The same for the whole call, which has a type of its own.
using CallLowering = std::function<std::optional<PrimExpr>(const PrimExpr& call)>;
void set_call_lowering(const char* target_kind, const char* op, CallLowering lowering);

/// For targets of a kind: "llvm".
void set_lowering(const char* target_kind, const char* op, Lowering lowering);

/// Lets loops with calls of the function become vectors.
void mark_vectorizable(const char* op);

}  // namespace nnef_tvm
