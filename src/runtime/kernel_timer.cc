#include "runtime/kernel_timer.h"

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <chrono>
#include <string_view>
#include <utility>

#include "runtime/vm.h"

namespace nnef_runtime {

namespace ffi = ::tvm::ffi;
using Clock = std::chrono::steady_clock;

namespace {

/// Kernels of devices are only started by their calls.
void wait_for_devices(ffi::PackedArgs args) {
  constexpr int kFirstArgument = 4;
  static const ffi::Function wait = ffi::Function::GetGlobalRequired("runtime.Device_StreamSync");
  for (int i = kFirstArgument; i < args.size(); ++i) {
    // Of an argument that is none, as<Tensor>() would be a tensor without anything.
    if (args[i].type_index() != ffi::TypeIndex::kTVMFFITensor) continue;
    const DLDevice device = args[i].cast<ffi::Tensor>().device();
    if (device.device_type == kDLCPU) continue;
    wait(device, 0);
    return;
  }
}

}  // namespace

struct KernelTimer::Record {
  std::vector<Call> calls;
  Clock::time_point start;

  /// Called around each call: the function, its name, whether it is before, ...
  void note(ffi::PackedArgs args) {
    wait_for_devices(args);
    const auto now = Clock::now();
    if (args[2].cast<bool>()) {
      start = Clock::now();
      return;
    }
    const auto name = args[1].cast<ffi::String>();
    const std::string_view text(name.data(), name.size());
    // What the machine computes of shapes is no kernel of the model's.
    if (text.starts_with("vm.builtin.") || text.starts_with("shape_func")) return;
    calls.push_back({name, std::chrono::duration<double, std::milli>(now - start).count()});
  }
};

KernelTimer::KernelTimer(ffi::Module machine)
    : machine_(std::move(machine)), record_(std::make_shared<Record>()) {
  module_function(machine_, "set_instrument")(ffi::Function::FromPacked(
      [record = record_](ffi::PackedArgs args, ffi::Any*) { record->note(args); }));
}

KernelTimer::~KernelTimer() {
  try {
    module_function(machine_, "set_instrument")(ffi::Function());
  } catch (const ffi::Error&) {
    // The machine goes on calling a record that nobody reads.
  }
}

const std::vector<KernelTimer::Call>& KernelTimer::calls() const { return record_->calls; }

}  // namespace nnef_runtime
