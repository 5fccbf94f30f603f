// Times what runs on a device by the device's own clock.
#include <tvm/ffi/object.h>
#include <tvm/ffi/reflection/registry.h>
#include <tvm/runtime/device_api.h>

#include "runtime/opencl/device.h"
#include "runtime/plugin/timer_node.h"

namespace nnef_opencl {

namespace {

namespace ffi = ::tvm::ffi;

class Timer final : public nnef_plugin::TimerNode {
 public:
  explicit Timer(Device& device) : device_(device) {}
  ~Timer() override {
    for (cl_event event : {begin_, end_}) {
      if (event != nullptr) api().clReleaseEvent(event);
    }
  }

  void Start() override { begin_ = marker(); }
  void Stop() override { end_ = marker(); }

  int64_t SyncAndGetElapsedNanos() override {
    check(api().clWaitForEvents(1, &end_), "clWaitForEvents");
    return static_cast<int64_t>(time(end_) - time(begin_));
  }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("nnef.OpenClTimer", Timer, nnef_plugin::TimerNode);

 private:
  /// An event at the end of what was enqueued before.
  cl_event marker() {
    cl_event event = nullptr;
    check(api().clEnqueueMarkerWithWaitList(device_.queue(), 0, nullptr, &event),
          "clEnqueueMarkerWithWaitList");
    return event;
  }

  static cl_ulong time(cl_event event) {
    cl_ulong time = 0;
    check(api().clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(time), &time,
                                        nullptr),
          "clGetEventProfilingInfo");
    return time;
  }

  Device& device_;
  cl_event begin_ = nullptr;
  cl_event end_ = nullptr;
};

}  // namespace

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("runtime.timer.opencl", [](DLDevice where) {
    ffi::ObjectPtr<Timer> timer = ffi::make_object<Timer>(device(where.device_id));
    return ffi::ObjectRef(timer);
  });
}

}  // namespace nnef_opencl
