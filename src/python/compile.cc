// Import and compilation, as functions of tvm-ffi.
#include <fmt/format.h>
#include <tvm/ffi/reflection/registry.h>

#include "build_graph.h"
#include "compile/cpu_target.h"
#include "compile/device_target.h"
#include "compile/relax_model.h"
#include "database_path.h"
#include "nnef_runtime/devices.h"
#include "python/model.h"
#include "python/session.h"
#include "tvm/target.h"

namespace nnef_tvm::python {
namespace {

void warn_of_renamed(const nnef::Graph& graph, const Imported& imported,
                     nnef::Diagnostics& diagnostics) {
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const ImportedTensor& input = imported.inputs[i];
    if (input.name == input.relax_name) continue;
    diagnostics
        .warning("import/renamed-input", graph[graph.inputs[i]].where,
                 fmt::format("the input '{}' is called '{}' in the module", input.name,
                             input.relax_name))
        .help("sanitize_input_names=False keeps the name");
  }
}

Outcome from_nnef(const String& path, const Map<String, Any>& options, bool keep_params,
                  bool sanitize_inputs) {
  return attempt([&](nnef::Diagnostics& diagnostics) -> Any {
    auto model = load(path, options, diagnostics);
    if (!model || !load_compiler(diagnostics)) return nullptr;
    const auto imported = import_graph(
        model->graph, {keep_params, sanitize_inputs, std::move(model->lowerings)}, diagnostics);
    if (*model->raised) throw **model->raised;
    if (!imported) return nullptr;
    warn_of_renamed(model->graph, *imported, diagnostics);
    return imported->module;
  });
}

/// `target` is a Target, or what --target takes.
CompileOptions compile_options(const Any& target, const String& database, double seconds) {
  CompileOptions options;
  const auto text = target.as<String>();
  options.target = text ? std::string(*text) : target_json(target.cast<Target>());
  options.tuning.database = nnefc::database_path(database);
  options.tuning.seconds = seconds;
  return options;
}

Any as_object(std::optional<Compiled> compiled) {
  if (!compiled) return nullptr;
  return CompiledRef(ffi::make_object<CompiledObj>(std::move(*compiled)));
}

Outcome compile_nnef(const String& path, const Map<String, Any>& options, const Any& target,
                     const String& database, double seconds) {
  return attempt([&](nnef::Diagnostics& diagnostics) -> Any {
    auto model = load(path, options, diagnostics);
    if (!model) return nullptr;
    auto compiled = nnefc::compile_graph(model->graph, compile_options(target, database, seconds),
                                         diagnostics, std::move(model->lowerings));
    if (*model->raised) throw **model->raised;
    return as_object(std::move(compiled));
  });
}

Outcome compile_relax(const IRModule& module, const Array<ffi::Tensor>& params, const Any& target,
                      const String& database, double seconds) {
  return attempt([&](nnef::Diagnostics& diagnostics) -> Any {
    if (!load_compiler(diagnostics)) return nullptr;
    auto model = relax_model(module, {params.begin(), params.end()}, "", diagnostics);
    if (!model) return nullptr;
    return as_object(nnef_tvm::compile(std::move(*model),
                                       compile_options(target, database, seconds), diagnostics));
  });
}

Outcome lower_within(const IRModule& module, const Any& target, const String& database) {
  return attempt([&](nnef::Diagnostics& diagnostics) -> Any {
    const auto kernels = nnef_tvm::lower_within(
        module, compile_options(target, database, /*seconds=*/0), diagnostics);
    return kernels ? Any(*kernels) : Any(nullptr);
  });
}

Outcome build_within(const IRModule& kernels, const Any& target, const String& database) {
  return attempt([&](nnef::Diagnostics& diagnostics) -> Any {
    const auto built = nnef_tvm::build_within(
        kernels, compile_options(target, database, /*seconds=*/0), diagnostics);
    return built ? Any(*built) : Any(nullptr);
  });
}

/// The target that a text stands for.
Outcome chosen_target(const String& text) {
  return attempt([&](nnef::Diagnostics& diagnostics) -> Any {
    const auto chosen = choose_any_target(text, diagnostics);
    return chosen ? Any(chosen->target) : Any(nullptr);
  });
}

Outcome devices() {
  Array<Any> list;
  for (const std::string_view kind : nnef_runtime::device_kinds()) {
    const auto found = nnef_runtime::list_devices(kind);
    for (const auto& device : found.devices) {
      list.push_back(Map<String, Any>{{"target", fmt::format("{}:{}", device.kind, device.index)},
                                      {"name", device.name},
                                      {"driver", device.driver}});
    }
  }
  return outcome(list, {});
}

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef()
      .def("nnef_tvm.from_nnef", from_nnef)
      .def("nnef_tvm.register_operation", register_operation)
      .def("nnef_tvm.compile_nnef", compile_nnef)
      .def("nnef_tvm.compile_relax", compile_relax)
      .def("nnef_tvm.lower_within", lower_within)
      .def("nnef_tvm.build_within", build_within)
      .def("nnef_tvm.target", chosen_target)
      .def("nnef_tvm.version", [] { return String(NNEF_TVM_VERSION); })
      .def("nnef_tvm.devices", devices)
      .def("nnef_tvm.host_target", host_target);
}

}  // namespace
}  // namespace nnef_tvm::python
