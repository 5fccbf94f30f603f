// Typed handles for TVM's objects and the one way to call its global functions. Nothing outside
// src/tvm names a global function of TVM's compiler.
#pragma once

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/object.h>
#include <tvm/ffi/string.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "nnef/diagnostic.h"

namespace nnef_tvm {

namespace ffi = ::tvm::ffi;

/// Loads libtvm_compiler once (lazily; everything else here needs it). Reports "tvm/load" when it
/// cannot be found.
bool load_compiler(nnef::Diagnostics& diagnostics);

/// The global function `name`, looked up once. `name` must be a string literal.
ffi::Function global(const char* name);

/// Calls a global function of TVM. Pass every parameter: packed functions do not count their
/// arguments. Absent ones are nullptr. Throws tvm::ffi::Error.
template <typename Result = ffi::Any, typename... Args>
Result call(const char* name, Args&&... args) {
  if constexpr (std::is_void_v<Result>) {
    global(name)(std::forward<Args>(args)...);
  } else if constexpr (std::is_same_v<Result, ffi::Any>) {
    return global(name)(std::forward<Args>(args)...);
  } else {
    return global(name)(std::forward<Args>(args)...).template cast<Result>();
  }
}

// Handles. The C++ classes of the compiler's objects are not in the wheel's headers, so a handle's
// type is what the wrapper that made it promises; it is not checked at run time.
#define NNEF_TVM_HANDLE(Name, Base)                                      \
  class Name : public Base {                                             \
   public:                                                               \
    TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Name, Base, ffi::Object); \
  }

using ffi::Any;
using ffi::Array;
using ffi::Map;
using ffi::ObjectRef;
using ffi::String;
NNEF_TVM_HANDLE(Expr, ffi::ObjectRef);  // any expression, relax or TIR
NNEF_TVM_HANDLE(PrimExpr, Expr);        // TIR expression
NNEF_TVM_HANDLE(Var, PrimExpr);         // variable (one class for relax and TIR in TVM 0.27)
NNEF_TVM_HANDLE(GlobalVar, Expr);
NNEF_TVM_HANDLE(Function, Expr);        // relax.Function
NNEF_TVM_HANDLE(PrimFunc, Expr);        // tirx.PrimFunc
NNEF_TVM_HANDLE(Type, ffi::ObjectRef);  // relax type: TensorType, TupleType, ...
NNEF_TVM_HANDLE(IRModule, ffi::ObjectRef);
NNEF_TVM_HANDLE(Pass, ffi::ObjectRef);
NNEF_TVM_HANDLE(Target, ffi::ObjectRef);
NNEF_TVM_HANDLE(TETensor, ffi::ObjectRef);  // te.Tensor
NNEF_TVM_HANDLE(Schedule, ffi::ObjectRef);  // s_tir.Schedule
#undef NNEF_TVM_HANDLE

/// Reinterprets a handle (for example a Call, known to be one, as Expr).
template <typename To>
To as(const ffi::ObjectRef& object) {
  return ffi::Any(object).cast<To>();
}

/// Whether an object of one of these types, or an operator of one of these names, stands anywhere
/// in an expression.
bool holds_any(const ObjectRef& expr, std::span<const std::string_view> keys);

/// A field of a TVM object, by reflection (walks the ancestors of its type). Throws when there is
/// none.
Any field(const ObjectRef& object, const char* name);
template <typename T>
T field(const ObjectRef& object, const char* name) {
  return field(object, name).template cast<T>();
}
/// The type key: "relax.expr.Call"
std::string type_key(const ObjectRef& object);

}  // namespace nnef_tvm
