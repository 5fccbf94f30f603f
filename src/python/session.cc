#include "python/session.h"

#include <tvm/ffi/reflection/registry.h>

#include "build_graph.h"

namespace nnef_tvm::python {
namespace {

nnef_runtime::SessionOptions session_options(int64_t threads, bool pin, const String& device) {
  return {.threads = static_cast<int>(threads), .pin = pin, .device = device};
}

Any as_object(std::unique_ptr<nnef_runtime::Session> session) {
  if (session == nullptr) return nullptr;
  return SessionRef(ffi::make_object<SessionObj>(std::move(session)));
}

Outcome open(const String& path, int64_t threads, bool pin, const String& device) {
  return attempt([&](nnef::Diagnostics& diagnostics) {
    return as_object(
        nnef_runtime::Session::open(path, session_options(threads, pin, device), diagnostics));
  });
}

Outcome start(const CompiledRef& model, int64_t threads, bool pin) {
  return attempt([&](nnef::Diagnostics& diagnostics) {
    return as_object(nnefc::create_session(model.get()->compiled, session_options(threads, pin, ""),
                                           diagnostics));
  });
}

Map<String, Any> describe_session(const SessionRef& self) {
  const nnef_runtime::Session& session = *self.get()->session;
  return {{"inputs", describe(session.inputs())},
          {"outputs", describe(session.outputs())},
          {"states", describe(session.states())}};
}

Outcome run(SessionRef self, const Array<ffi::Tensor>& inputs) {
  const std::scoped_lock lock(self.get()->mutex);
  return attempt([&](nnef::Diagnostics& diagnostics) {
    const auto outputs = self.get()->session->run({inputs.begin(), inputs.end()}, diagnostics);
    return Any(Array<ffi::Tensor>(outputs.begin(), outputs.end()));
  });
}

ffi::Tensor state(SessionRef self, int64_t index) {
  const std::scoped_lock lock(self.get()->mutex);
  return self.get()->session->state(static_cast<size_t>(index));
}

Outcome set_state(SessionRef self, int64_t index, const ffi::Tensor& value) {
  const std::scoped_lock lock(self.get()->mutex);
  return attempt([&](nnef::Diagnostics& diagnostics) {
    return Any(self.get()->session->set_state(static_cast<size_t>(index), value, diagnostics));
  });
}

void reset_states(SessionRef self) {
  const std::scoped_lock lock(self.get()->mutex);
  self.get()->session->reset_states();
}

Map<String, Any> describe_compiled(const CompiledRef& self) {
  const Compiled& compiled = self.get()->compiled;
  return {{"inputs", describe(compiled.inputs)},
          {"outputs", describe(compiled.outputs)},
          {"states", describe(compiled.states)},
          {"target", compiled.target_json}};
}

Outcome save(const CompiledRef& self, const String& path) {
  return attempt([&](nnef::Diagnostics& diagnostics) {
    return Any(write_artefact(self.get()->compiled, path, diagnostics));
  });
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::ObjectDef<CompiledObj>(ffi::reflection::init(false));
  ffi::reflection::ObjectDef<SessionObj>(ffi::reflection::init(false));
  ffi::reflection::GlobalDef()
      .def("nnef_tvm.session_open", open)
      .def("nnef_tvm.session_start", start)
      .def("nnef_tvm.session_describe", describe_session)
      .def("nnef_tvm.session_run", run)
      .def("nnef_tvm.session_state", state)
      .def("nnef_tvm.session_set_state", set_state)
      .def("nnef_tvm.session_reset_states", reset_states)
      .def("nnef_tvm.compiled_describe", describe_compiled)
      .def("nnef_tvm.compiled_save", save);
}

}  // namespace
}  // namespace nnef_tvm::python
