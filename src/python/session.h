// Compiled models and sessions as objects of tvm-ffi.
#pragma once

#include <memory>
#include <mutex>

#include "compile/compile.h"
#include "python/outcome.h"

namespace nnef_tvm::python {

class CompiledObj : public ffi::Object {
 public:
  explicit CompiledObj(Compiled model) : compiled(std::move(model)) {}
  Compiled compiled;

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("nnef_tvm.Compiled", CompiledObj, ffi::Object);
};

class CompiledRef : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(CompiledRef, ffi::ObjectRef, CompiledObj);
};

class SessionObj : public ffi::Object {
 public:
  explicit SessionObj(std::unique_ptr<nnef_runtime::Session> opened) : session(std::move(opened)) {}
  std::unique_ptr<nnef_runtime::Session> session;
  std::mutex mutex;  ///< Python's threads may share what runs one at a time

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("nnef_tvm.NativeSession", SessionObj, ffi::Object);
};

class SessionRef : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SessionRef, ffi::ObjectRef, SessionObj);
};

}  // namespace nnef_tvm::python
