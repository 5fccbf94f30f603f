#include "nnef_runtime/session.h"

#include <fmt/format.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/dtype.h>

#include <algorithm>
#include <cstring>

#include "runtime/artefact.h"
#include "runtime/artefact_format.h"
#include "runtime/error_text.h"
#include "runtime/metadata.h"
#include "runtime/parallel.h"
#include "runtime/threads.h"
#include "runtime/vm.h"

namespace nnef_runtime {

namespace ffi = ::tvm::ffi;

struct Session::State {
  std::optional<ArtefactFile> artefact;  // outlives the executable that was loaded from it
  std::vector<ffi::Tensor> parameters;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  SessionOptions options;
  ffi::Optional<ffi::Module> machine;
  ffi::Function main;
  std::vector<ffi::AnyView> arguments;  // the inputs of a run, then the parameters

  /// Throws tvm::ffi::Error.
  void start(const ffi::Module& executable) {
    machine = start_vm(executable, VmAllocator::pooled);
    main = module_function(*machine, "main");
    arguments.resize(inputs.size() + parameters.size());
    for (size_t i = 0; i < parameters.size(); ++i) arguments[inputs.size() + i] = parameters[i];
  }
};

namespace {

/// Whether a tensor has the extents of a specification; -1 there stands for any.
bool shape_matches(const ffi::Tensor& tensor, const std::vector<int64_t>& shape) {
  ffi::ShapeView actual = tensor.shape();
  return std::equal(actual.begin(), actual.end(), shape.begin(), shape.end(),
                    [](int64_t got, int64_t wanted) { return wanted < 0 || got == wanted; });
}

bool check_input(const ffi::Tensor& tensor, const TensorSpec& spec,
                 nnef::Diagnostics& diagnostics) {
  if (!tensor.defined()) {
    diagnostics.error("run/input-missing", {}, fmt::format("no tensor for input '{}'", spec.name));
    return false;
  }
  std::string got = to_string(tensor.dtype(), tensor.shape().data(), tensor.shape().size());
  std::string wanted = to_string(spec.dtype, spec.shape.data(), spec.shape.size());
  auto report = [&](const char* id, std::string message) {
    diagnostics.error(id, {}, std::move(message));
    return false;
  };
  if (tensor.dtype() != spec.dtype) {
    return report("run/input-dtype",
                  fmt::format("input '{}' is {}, expected {}", spec.name, got, wanted));
  }
  if (!shape_matches(tensor, spec.shape)) {
    return report("run/input-shape",
                  fmt::format("input '{}' is {}, expected {}", spec.name, got, wanted));
  }
  if (tensor.device().device_type != kDLCPU || !tensor.IsContiguous()) {
    return report(
        "run/input-layout",
        fmt::format("input '{}' is not a contiguous tensor in the CPU's memory", spec.name));
  }
  return true;
}

ffi::Tensor copy_of(const ffi::Tensor& tensor) {
  ffi::ShapeView shape = tensor.shape();
  ffi::Tensor copy = allocate(tensor.dtype(), {shape.begin(), shape.end()});
  const DLTensor& source = *tensor.GetDLTensorPtr();
  std::memcpy(copy.data_ptr(), static_cast<const char*>(source.data) + source.byte_offset,
              ffi::GetDataSize(source));
  return copy;
}

/// As kernels take them: aligned, and beginning where the memory does.
ffi::Tensor ready_for_kernels(const ffi::Tensor& tensor) {
  bool ready = tensor.GetDLTensorPtr()->byte_offset == 0 && tensor.IsAligned(kWeightAlignment);
  return ready ? tensor : copy_of(tensor);
}

bool shares_memory(const ffi::Tensor& a, const ffi::Tensor& b) {
  auto begin = [](const ffi::Tensor& t) { return static_cast<const char*>(t.data_ptr()); };
  auto end = [&](const ffi::Tensor& t) { return begin(t) + ffi::GetDataSize(*t.GetDLTensorPtr()); };
  return begin(a) < end(b) && begin(b) < end(a);
}

/// The tensors of what the virtual machine returned; empty when it is anything else.
std::vector<ffi::Tensor> result_tensors(const ffi::Any& result) {
  if (auto tensor = result.as<ffi::Tensor>()) return {*tensor};
  std::vector<ffi::Tensor> tensors;
  if (auto list = result.as<ffi::Array<ffi::Any>>()) {
    for (const ffi::Any& item : *list) {
      auto tensor = item.as<ffi::Tensor>();
      if (!tensor) return {};
      tensors.push_back(*tensor);
    }
  }
  return tensors;
}

/// Has the modules of an executable that was compiled in this process make their machine code,
/// several at once; left to themselves they do so one after the other. Throws tvm::ffi::Error.
void make_machine_code(const ffi::Module& executable) {
  std::vector<ffi::Module> modules;
  for (const ffi::Any& import : executable->imports()) {
    auto module = import.cast<ffi::Module>();
    if (std::strcmp(module->kind(), "llvm") == 0) modules.push_back(module);
  }
  parallel_for(modules.size(), static_cast<size_t>(physical_cores()), [&](size_t i) {
    auto names = module_function(modules[i], "get_func_names")().cast<ffi::Array<ffi::String>>();
    if (!names.empty()) modules[i]->GetFunction(names[0]);
  });
}

}  // namespace

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::~Session() = default;
const std::vector<TensorSpec>& Session::inputs() const { return state_->inputs; }
const std::vector<TensorSpec>& Session::outputs() const { return state_->outputs; }

std::unique_ptr<Session> Session::open(const std::string& path, const SessionOptions& options,
                                       nnef::Diagnostics& diagnostics) {
  auto artefact = ArtefactFile::open(path, diagnostics);
  if (!artefact || !artefact->check_cpu(diagnostics) || !load_tvm_runtime(diagnostics)) {
    return nullptr;
  }
  auto parameters = artefact->map_parameters(diagnostics);
  if (!parameters) return nullptr;
  auto executable = artefact->load_executable(diagnostics);
  if (!executable) return nullptr;
  auto state = std::make_unique<State>();
  state->parameters = std::move(*parameters);
  state->inputs = artefact->metadata().inputs;
  state->outputs = artefact->metadata().outputs;
  state->options = options;
  state->artefact = std::move(artefact);
  try {
    state->start(*executable);
  } catch (const ffi::Error& error) {
    diagnostics.file_error("artefact/load", path, std::nullopt,
                           fmt::format("the model cannot be started: {}", first_line(error)));
    return nullptr;
  }
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

std::unique_ptr<Session> Session::create(ffi::Module executable,
                                         std::vector<ffi::Tensor> parameters,
                                         std::vector<TensorSpec> inputs,
                                         std::vector<TensorSpec> outputs,
                                         const SessionOptions& options,
                                         nnef::Diagnostics& diagnostics) {
  if (!load_tvm_runtime(diagnostics)) return nullptr;
  auto state = std::make_unique<State>();
  state->parameters = std::move(parameters);
  state->inputs = std::move(inputs);
  state->outputs = std::move(outputs);
  state->options = options;
  try {
    make_machine_code(executable);
    state->start(executable);
  } catch (const ffi::Error& error) {
    diagnostics.error("run/start", {},
                      fmt::format("the model cannot be started: {}", first_line(error)));
    return nullptr;
  }
  return std::unique_ptr<Session>(new Session(std::move(state)));
}

std::vector<ffi::Tensor> Session::run(const std::vector<ffi::Tensor>& inputs,
                                      nnef::Diagnostics& diagnostics) {
  State& state = *state_;
  if (inputs.size() != state.inputs.size()) {
    diagnostics.error(
        "run/input-count", {},
        fmt::format("{} inputs given, the model has {}", inputs.size(), state.inputs.size()));
    return {};
  }
  std::vector<ffi::Tensor> ready;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!check_input(inputs[i], state.inputs[i], diagnostics)) return {};
    ready.push_back(ready_for_kernels(inputs[i]));
  }
  for (size_t i = 0; i < ready.size(); ++i) state.arguments[i] = ready[i];
  std::vector<ffi::Tensor> results;
  try {
    configure_threads(state.options.threads);
    ffi::Any result;
    state.main.CallPacked(state.arguments.data(), static_cast<int32_t>(state.arguments.size()),
                          &result);
    results = result_tensors(result);
  } catch (const ffi::Error& error) {
    diagnostics.error("run/failed", {}, fmt::format("the run failed: {}", first_line(error)));
    return {};
  }
  if (results.size() != state.outputs.size()) {
    diagnostics.error("run/outputs", {},
                      fmt::format("the run made {} tensors, the model has {} outputs",
                                  results.size(), state.outputs.size()));
    return {};
  }
  // An output that is an input or a weight passed through must not be the caller's to change.
  auto owned = [&](const ffi::Tensor& result) {
    auto shared = [&](const ffi::Tensor& other) { return shares_memory(result, other); };
    return std::none_of(ready.begin(), ready.end(), shared) &&
           std::none_of(state.parameters.begin(), state.parameters.end(), shared);
  };
  for (ffi::Tensor& result : results) {
    if (!owned(result)) result = copy_of(result);
  }
  return results;
}

}  // namespace nnef_runtime
