#include "nnef_runtime/session.h"

#include <fmt/format.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/dtype.h>

#include <algorithm>
#include <cstring>

#include "runtime/artefact.h"
#include "runtime/artefact_format.h"
#include "runtime/device_tensors.h"
#include "runtime/error_text.h"
#include "runtime/extents.h"
#include "runtime/kernel_timer.h"
#include "runtime/metadata.h"
#include "runtime/parallel.h"
#include "runtime/threads.h"
#include "runtime/vm.h"

namespace nnef_runtime {

namespace ffi = ::tvm::ffi;

struct Session::Model {
  std::optional<ArtefactFile> artefact;  // outlives the executable that was loaded from it
  std::vector<ffi::Tensor> parameters;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<ShapeCondition> conditions;
  std::vector<StateSpec> states;
  std::vector<ffi::Tensor> values;  // of the states, for the next run
  Program program;
  SessionOptions options;
  DLDevice device{kDLCPU, 0};
  std::vector<ffi::Tensor> uploads;  // on a device: the inputs of the last run
  std::vector<ffi::Tensor> mirrors;  // on a device: the states that were asked for, on the CPU
  ffi::Optional<ffi::Module> machine;
  ffi::Function main;
  std::vector<ffi::AnyView> arguments;  // the inputs of a run, the states, the parameters

  /// Throws tvm::ffi::Error.
  void start(const ffi::Module& executable) {
    machine = start_vm(executable, VmAllocator::pooled, device);
    main = module_function(*machine, "main");
    const size_t before = inputs.size() + states.size();
    arguments.resize(before + parameters.size());
    for (ffi::Tensor& parameter : parameters) parameter = where_kernels_run(parameter);
    for (size_t i = 0; i < parameters.size(); ++i) arguments[before + i] = parameters[i];
    reset();
  }

  void reset() {
    values.clear();
    for (const StateSpec& state : states) values.push_back(where_kernels_run(state.initial));
    mirrors.assign(states.size(), ffi::Tensor());
  }

  bool on_device() const { return device.device_type != kDLCPU; }
  /// A copy on the device; on the CPU, the tensor itself.
  ffi::Tensor where_kernels_run(const ffi::Tensor& tensor) const {
    return on_device() ? copy_to_device(tensor, device) : tensor;
  }

  /// Copies of the inputs on the device, in the memory of the last ones where that fits.
  std::vector<ffi::Tensor> upload(const std::vector<ffi::Tensor>& inputs);
  /// Takes the results apart into outputs, which it returns, and the new states.
  std::vector<ffi::Tensor> keep_states(std::vector<ffi::Tensor> results,
                                       const std::vector<ffi::Tensor>& ready);
  /// The results of main. Throws tvm::ffi::Error.
  std::vector<ffi::Tensor> call(const std::vector<ffi::Tensor>& ready);
};

namespace {

/// Whether a tensor has the extents of a specification; -1 there stands for any.
bool shape_matches(const ffi::Tensor& tensor, const std::vector<int64_t>& shape) {
  ffi::ShapeView actual = tensor.shape();
  return std::equal(actual.begin(), actual.end(), shape.begin(), shape.end(),
                    [](int64_t got, int64_t wanted) { return wanted < 0 || got == wanted; });
}

/// Whether a tensor can be given to the model; reports "run/<what>-..." otherwise.
bool check_tensor(const ffi::Tensor& tensor, const TensorSpec& spec, std::string_view what,
                  nnef::Diagnostics& diagnostics) {
  auto report = [&](const char* fault, std::string message) {
    diagnostics.error(fmt::format("run/{}-{}", what, fault), {}, std::move(message));
    return false;
  };
  if (!tensor.defined()) {
    return report("missing", fmt::format("no tensor for {} '{}'", what, spec.name));
  }
  std::string got = to_string(tensor.dtype(), tensor.shape().data(), tensor.shape().size());
  std::string wanted = to_string(spec);
  if (tensor.dtype() != spec.dtype) {
    return report("dtype", fmt::format("{} '{}' is {}, expected {}", what, spec.name, got, wanted));
  }
  if (!shape_matches(tensor, spec.shape)) {
    return report("shape", fmt::format("{} '{}' is {}, expected {}", what, spec.name, got, wanted));
  }
  if (tensor.device().device_type != kDLCPU || !tensor.IsContiguous()) {
    return report("layout", fmt::format("{} '{}' is not a contiguous tensor in the CPU's memory",
                                        what, spec.name));
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

/// Copies those tensors that share their memory with any of `others`.
void own(std::vector<ffi::Tensor>& tensors,
         std::initializer_list<const std::vector<ffi::Tensor>*> others) {
  for (ffi::Tensor& tensor : tensors) {
    auto shared = [&](const ffi::Tensor& other) { return shares_memory(tensor, other); };
    auto any_shared = [&](const std::vector<ffi::Tensor>* list) {
      return std::any_of(list->begin(), list->end(), shared);
    };
    if (std::any_of(others.begin(), others.end(), any_shared)) tensor = copy_of(tensor);
  }
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

std::vector<ffi::Tensor> Session::Model::call(const std::vector<ffi::Tensor>& ready) {
  std::copy(ready.begin(), ready.end(), arguments.begin());
  std::copy(values.begin(), values.end(), arguments.begin() + static_cast<ptrdiff_t>(ready.size()));
  configure_threads(options.threads, options.pin);
  ffi::Any result;
  main.CallPacked(arguments.data(), static_cast<int32_t>(arguments.size()), &result);
  return result_tensors(result);
}

std::vector<ffi::Tensor> Session::Model::upload(const std::vector<ffi::Tensor>& inputs) {
  uploads.resize(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    ffi::Tensor& copy = uploads[i];
    const ffi::ShapeView shape = inputs[i].shape();
    if (copy.defined() && std::ranges::equal(copy.shape(), shape)) {
      copy_to_device(inputs[i], copy);
    } else {
      copy = copy_to_device(inputs[i], device);
    }
  }
  return uploads;
}

std::vector<ffi::Tensor> Session::Model::keep_states(std::vector<ffi::Tensor> results,
                                                     const std::vector<ffi::Tensor>& ready) {
  const auto count = static_cast<ptrdiff_t>(outputs.size());
  std::vector<ffi::Tensor> next(results.begin() + count, results.end());
  results.resize(outputs.size());
  if (on_device()) {
    for (ffi::Tensor& result : results) result = copy_to_host(result);
    // A state that is an input keeps the memory.
    for (ffi::Tensor& input : uploads) {
      const auto is_input = [&](const ffi::Tensor& t) { return t.data_ptr() == input.data_ptr(); };
      if (std::ranges::any_of(next, is_input)) input = ffi::Tensor();
    }
  } else {
    // Inputs are the caller's to change, so that a state that is one needs memory of its own; an
    // output is, so that one that is an input, a weight or a state does.
    own(next, {&ready});
    own(results, {&ready, &parameters, &values, &next});
  }
  values = std::move(next);
  mirrors.assign(values.size(), ffi::Tensor());
  return results;
}

Session::Session(std::unique_ptr<Model> model) : model_(std::move(model)) {}
Session::~Session() = default;
const std::vector<TensorSpec>& Session::inputs() const { return model_->inputs; }
const std::vector<TensorSpec>& Session::outputs() const { return model_->outputs; }
const std::vector<StateSpec>& Session::states() const { return model_->states; }
const Program& Session::program() const { return model_->program; }

const ffi::Tensor& Session::state(size_t index) const {
  const ffi::Tensor& value = model_->values.at(index);
  if (!model_->on_device()) return value;
  ffi::Tensor& mirror = model_->mirrors.at(index);
  if (!mirror.defined()) mirror = copy_to_host(value);
  return mirror;
}

void Session::reset_states() { model_->reset(); }

bool Session::set_state(size_t index, const ffi::Tensor& value, nnef::Diagnostics& diagnostics) {
  if (!check_tensor(value, model_->states.at(index).tensor, "state", diagnostics)) return false;
  model_->values[index] =
      model_->on_device() ? copy_to_device(value, model_->device) : copy_of(value);
  model_->mirrors[index] = ffi::Tensor();
  return true;
}

std::unique_ptr<Session> Session::open(const std::string& path, const SessionOptions& options,
                                       nnef::Diagnostics& diagnostics) {
  auto artefact = ArtefactFile::open(path, diagnostics);
  if (!artefact || !artefact->check_cpu(diagnostics) || !load_tvm_runtime(diagnostics)) {
    return nullptr;
  }
  const auto device = artefact->choose_device(options.device, diagnostics);
  if (!device) return nullptr;
  auto parameters = artefact->map_parameters(diagnostics);
  if (!parameters) return nullptr;
  auto executable = artefact->load_executable(diagnostics);
  if (!executable) return nullptr;
  auto model = std::make_unique<Model>();
  model->states = artefact->split_states(*parameters);
  model->parameters = std::move(*parameters);
  model->inputs = artefact->metadata().inputs;
  model->outputs = artefact->metadata().outputs;
  model->conditions = artefact->metadata().conditions;
  model->program = artefact->metadata().program;
  model->options = options;
  model->device = *device;
  model->artefact = std::move(artefact);
  try {
    model->start(*executable);
  } catch (const ffi::Error& error) {
    diagnostics.file_error("artefact/load", path, std::nullopt,
                           fmt::format("the model cannot be started: {}", first_line(error)));
    return nullptr;
  }
  return std::unique_ptr<Session>(new Session(std::move(model)));
}

std::unique_ptr<Session> Session::create(
    ffi::Module executable, std::vector<ffi::Tensor> parameters, std::vector<TensorSpec> inputs,
    std::vector<TensorSpec> outputs, const SessionOptions& options, nnef::Diagnostics& diagnostics,
    std::vector<StateSpec> states, Program program, std::vector<ShapeCondition> conditions) {
  if (!load_tvm_runtime(diagnostics)) return nullptr;
  auto model = std::make_unique<Model>();
  model->parameters = std::move(parameters);
  model->inputs = std::move(inputs);
  model->outputs = std::move(outputs);
  model->states = std::move(states);
  model->program = std::move(program);
  model->conditions = std::move(conditions);
  model->options = options;
  if (!options.device.empty()) {
    const auto device = find_device(options.device, diagnostics);
    if (!device) return nullptr;
    model->device = dl_device(*device);
  }
  try {
    make_machine_code(executable);
    model->start(executable);
  } catch (const ffi::Error& error) {
    diagnostics.error("run/start", {},
                      fmt::format("the model cannot be started: {}", first_line(error)));
    return nullptr;
  }
  return std::unique_ptr<Session>(new Session(std::move(model)));
}

std::vector<ffi::Tensor> Session::run(const std::vector<ffi::Tensor>& inputs,
                                      nnef::Diagnostics& diagnostics) {
  Model& model = *model_;
  if (inputs.size() != model.inputs.size()) {
    diagnostics.error(
        "run/input-count", {},
        fmt::format("{} inputs given, the model has {}", inputs.size(), model.inputs.size()));
    return {};
  }
  std::vector<ffi::Tensor> ready;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!check_tensor(inputs[i], model.inputs[i], "input", diagnostics)) return {};
    ready.push_back(ready_for_kernels(inputs[i]));
  }
  if (!check_symbols(inputs, model.inputs, model.conditions, diagnostics)) return {};
  std::vector<ffi::Tensor> results;
  try {
    results = model.call(model.on_device() ? model.upload(ready) : ready);
  } catch (const ffi::Error& error) {
    diagnostics.error("run/failed", {}, fmt::format("the run failed: {}", first_line(error)));
    return {};
  }
  const size_t count = model.outputs.size();
  if (results.size() != count + model.states.size()) {
    diagnostics.error("run/outputs", {},
                      fmt::format("the run made {} tensors, the model has {} outputs and {} states",
                                  results.size(), count, model.states.size()));
    return {};
  }
  try {
    return model.keep_states(std::move(results), ready);
  } catch (const ffi::Error& error) {
    diagnostics.error("run/failed", {}, fmt::format("the run failed: {}", first_line(error)));
    return {};
  }
}

std::vector<ffi::Tensor> Session::run_timed(const std::vector<ffi::Tensor>& inputs,
                                            std::vector<double>& milliseconds,
                                            nnef::Diagnostics& diagnostics) {
  KernelTimer timer(*model_->machine);
  std::vector<ffi::Tensor> results = run(inputs, diagnostics);
  if (diagnostics.has_errors()) return {};
  const std::vector<KernelSpec>& kernels = model_->program.kernels;
  const bool as_told = std::equal(
      timer.calls().begin(), timer.calls().end(), kernels.begin(), kernels.end(),
      [](const KernelTimer::Call& call, const KernelSpec& spec) { return call.name == spec.name; });
  if (!as_told) {
    diagnostics
        .error("run/no-program", {},
               fmt::format("{} kernels were called, and the model tells of {}",
                           timer.calls().size(), kernels.size()))
        .help("compile the model again: artefacts of older versions do not say what they call");
    return {};
  }
  milliseconds.clear();
  for (const KernelTimer::Call& call : timer.calls()) milliseconds.push_back(call.milliseconds);
  return results;
}

}  // namespace nnef_runtime
