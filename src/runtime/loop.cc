#include "runtime/loop.h"

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/function.h>

#include <cstring>
#include <vector>

#include "nnef_runtime/session.h"

namespace nnef_runtime {
namespace {

namespace ffi = ::tvm::ffi;

/// The results of all steps side by side along an axis, or that of the last step.
class Collected {
 public:
  Collected(int64_t axis, bool backwards, int64_t steps)
      : axis_(axis), backwards_(backwards), steps_(steps) {}

  void add(const ffi::Tensor& part, int64_t step) {
    if (axis_ < 0) {
      tensor_ = part;
      return;
    }
    std::vector<int64_t> shape(part.shape().begin(), part.shape().end());
    const size_t bytes = ffi::GetDataSize(*part.GetDLTensorPtr());
    if (!tensor_.defined()) {
      shape[static_cast<size_t>(axis_)] *= steps_;
      tensor_ = allocate(part.dtype(), shape);
    }
    int64_t rows = 1;
    for (int64_t i = 0; i < axis_; ++i) rows *= part.size(i);
    if (rows == 0) return;
    const size_t row = bytes / static_cast<size_t>(rows);
    const auto place = static_cast<size_t>(backwards_ ? steps_ - 1 - step : step);
    const auto* source = static_cast<const char*>(part.data_ptr());
    auto* target = static_cast<char*>(tensor_.data_ptr()) + place * row;
    for (int64_t i = 0; i < rows; ++i) {
      std::memcpy(target, source, row);
      source += row;
      target += row * static_cast<size_t>(steps_);
    }
  }

  const ffi::Tensor& tensor() const { return tensor_; }

 private:
  int64_t axis_;
  bool backwards_;
  int64_t steps_;
  ffi::Tensor tensor_;
};

/// The machine, the body, (steps, states, and axis and direction of each output), the values of
/// symbols, then tensors, the last of which are states. The body is given (step, symbols...) and
/// the tensors; it returns the new states and the parts of outputs.
void run_loop(ffi::PackedArgs args, ffi::Any* result) {
  static const ffi::Function invoke = ffi::Function::GetGlobalRequired("vm.builtin.invoke_closure");
  const auto about = args[2].cast<ffi::Shape>();
  const auto symbols = args[3].cast<ffi::Shape>();
  const int64_t steps = about[0];
  const auto states = static_cast<size_t>(about[1]);
  std::vector<Collected> outputs;
  for (size_t i = 2; i + 1 < about.size(); i += 2)
    outputs.emplace_back(about[i], about[i + 1] < 0, steps);
  constexpr int kTensors = 4;
  std::vector<ffi::Any> tensors;
  for (int i = kTensors; i < args.size(); ++i) tensors.emplace_back(args[i]);
  std::vector<int64_t> place{0};
  place.insert(place.end(), symbols.begin(), symbols.end());
  std::vector<ffi::AnyView> call(tensors.size() + 3);
  call[0] = args[0];
  call[1] = args[1];
  for (int64_t step = 0; step < steps; ++step) {
    place[0] = step;
    const ffi::Shape position(place);
    call[2] = position;
    for (size_t i = 0; i < tensors.size(); ++i) call[i + 3] = tensors[i];
    ffi::Any made;
    invoke.CallPacked(call.data(), static_cast<int32_t>(call.size()), &made);
    const auto parts = made.cast<ffi::Array<ffi::Any>>();
    for (size_t i = 0; i < states; ++i)
      tensors[tensors.size() - states + i] = parts[static_cast<int64_t>(i)];
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i].add(parts[static_cast<int64_t>(states + i)].cast<ffi::Tensor>(), step);
  }
  ffi::Array<ffi::Any> all;
  for (const Collected& output : outputs) all.push_back(output.tensor());
  *result = all;
}

}  // namespace

void register_loop() {
  static const bool registered = [] {
    ffi::Function::SetGlobal("nnef.loop", ffi::Function::FromPacked(run_loop), true);
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace nnef_runtime
