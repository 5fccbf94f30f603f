// TVM's interface of timers; its own header does not compile in the wheel.
#pragma once

#include <tvm/ffi/object.h>

#include <cstdint>

namespace nnef_plugin {

/// The virtual functions, their order and the type key are those of tvm::runtime::TimerNode.
class TimerNode : public ::tvm::ffi::Object {
 public:
  virtual void Start() = 0;
  virtual void Stop() = 0;
  virtual int64_t SyncAndGetElapsedNanos() = 0;
  virtual ~TimerNode() = default;

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("runtime.TimerNode", TimerNode, ::tvm::ffi::Object);
};

}  // namespace nnef_plugin
