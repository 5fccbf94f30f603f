// What several commands share: arguments, models and sessions.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "build_graph.h"
#include "commands.h"
#include "compile/relax_model.h"
#include "nnef/quantization.h"
#include "nnef/reference.h"
#include "nnef_runtime/devices.h"
#include "progress.h"
#include "relax/import.h"
#include "tuning.h"

namespace nnefc {
namespace {

/// Integers and symbols: "B,3,224,224"
std::optional<nnef::Shape> parse_shape(std::string_view text) {
  nnef::Shape shape;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    shape.push_back(nnef::parse_dim(text.substr(0, comma)));
    if (!shape.back().valid() || comma + 1 == text.size()) return std::nullopt;
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return shape;
}

void add_all_outputs(nnef::Graph& graph) {
  for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
    const nnef::TensorRef tensor{i};
    if (std::ranges::find(graph.outputs, tensor) == graph.outputs.end()) {
      graph.outputs.push_back(tensor);
    }
  }
}

/// `hint` may have a place for the option's name.
void report_without_effect(const std::string& model, const char* option, const char* what,
                           const char* hint, nnef::Diagnostics& diagnostics) {
  diagnostics
      .file_error("nnefc/argument", model, std::nullopt,
                  fmt::format("{} has no effect on {}", option, what))
      .help(fmt::format(fmt::runtime(hint), option));
}

/// Options that change a graph before it is compiled mean nothing for what is no NNEF model. True
/// when one was given.
bool refuse_graph_options(const std::string& model, const ModelOptions& options, const char* what,
                          const char* hint, nnef::Diagnostics& diagnostics) {
  const char* option = options.every_tensor           ? "--dump-all"
                       : !options.shapes.empty()      ? "--shape"
                       : !options.types.empty()       ? "--type"
                       : options.dialect              ? "--dialect"
                       : options.quant != Quant::fake ? "--quant"
                                                      : nullptr;
  if (option == nullptr) return false;
  report_without_effect(model, option, what, hint, diagnostics);
  return true;
}

}  // namespace

void report(const nnef::Diagnostics& diagnostics) {
  fmt::print(stderr, "{}", nnef::format(diagnostics, isatty(STDERR_FILENO) != 0));
}

std::optional<std::pair<std::string, std::string>> split_assignment(
    const std::string& text, const char* option, nnef::Diagnostics& diagnostics) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    diagnostics
        .file_error("nnefc/argument", "", std::nullopt,
                    fmt::format("{} '{}' has no NAME=", option, text))
        .help(fmt::format("write {} NAME=VALUE; 'nnefc info MODEL' lists the names", option));
    return std::nullopt;
  }
  return std::pair(text.substr(0, equals), text.substr(equals + 1));
}

bool refuse_relax_options(const std::string& model, const ModelOptions& options,
                          nnef::Diagnostics& diagnostics) {
  return refuse_graph_options(model, options, "a Relax module",
                              options.every_tensor ? "have main return the tensors of interest"
                                                   : "the frontend that makes the module decides",
                              diagnostics);
}

std::optional<nnef::Graph> load(const std::string& path, const ModelOptions& options,
                                nnef::Diagnostics& diagnostics) {
  if (nnef_tvm::is_relax_file(path)) {
    diagnostics
        .file_error("nnefc/relax-module", path, std::nullopt,
                    "it is JSON, as of a Relax module, not an NNEF model")
        .help("import, compile, run (without --reference) and bench take Relax modules");
    return std::nullopt;
  }
  if (!load_plugins(options.plugins, diagnostics)) return std::nullopt;
  nnef::LoadOptions load_options;
  load_options.read_data = options.read_data;
  load_options.dialect = options.dialect;
  if (options.compounds == Compounds::expand)
    load_options.keep_compound = [](std::string_view) { return false; };
  if (options.compounds == Compounds::as_lowered)
    load_options.keep_compound = nnef_tvm::has_lowering;
  if (options.compounds == Compounds::as_evaluated)
    load_options.keep_compound = nnef::has_evaluator;
  for (const std::string& text : options.shapes) {
    const auto assignment = split_assignment(text, "--shape", diagnostics);
    if (!assignment) return std::nullopt;
    const auto shape = parse_shape(assignment->second);
    if (!shape) {
      diagnostics
          .file_error(
              "nnefc/argument", "", std::nullopt,
              fmt::format("--shape '{}': '{}' is no list of extents", text, assignment->second))
          .help(
              "write --shape NAME=1,3,224,224, or a symbol where any extent will do: "
              "NAME=B,3,224,224");
      return std::nullopt;
    }
    load_options.input_shapes[assignment->first] = *shape;
  }
  for (const std::string& text : options.types) {
    const auto assignment = split_assignment(text, "--type", diagnostics);
    if (!assignment) return std::nullopt;
    const auto type = nnef::parse_item_type(assignment->second);
    if (!type) {
      diagnostics
          .file_error("nnefc/argument", "", std::nullopt,
                      fmt::format("--type '{}': '{}' is no item type", text, assignment->second))
          .help(
              "write --type NAME=float16; types are float16 to float64, int8 to int64, uint8 to "
              "uint64, bool8");
      return std::nullopt;
    }
    load_options.input_types[assignment->first] = *type;
  }
  auto graph = nnef::load_model(path, load_options, diagnostics);
  if (graph && options.quant == Quant::fake &&
      !nnef::fake_quantize(*graph, load_options.keep_compound, diagnostics)) {
    return std::nullopt;
  }
  if (graph && options.every_tensor) add_all_outputs(*graph);
  return graph;
}

std::optional<nnef_tvm::Compiled> compile_model(const std::string& model, const Backend& backend,
                                                const ModelOptions& options,
                                                nnef::Diagnostics& diagnostics) {
  std::optional<Progress> progress;
  std::optional<Measuring> measuring;
  nnef_tvm::CompileOptions compile_options{.target = backend.target};
  compile_options.tuning.database = database_path(backend.tuning.database);
  compile_options.tuning.seconds = backend.tuning.seconds;
  if (backend.tuning.seconds > 0) {
    measuring.emplace();
    compile_options.tuning.progress = [&](const auto& state) { measuring->show(state); };
    compile_options.tuning.stop = [&] { return measuring->interrupted(); };
  } else {
    progress.emplace("compiling " + model);
  }
  if (nnef_tvm::is_relax_file(model)) {
    if (refuse_relax_options(model, options, diagnostics)) return std::nullopt;
    return compile_relax(model, compile_options, diagnostics);
  }
  ModelOptions as_lowered = options;
  as_lowered.compounds = Compounds::as_lowered;
  const auto graph = load(model, as_lowered, diagnostics);
  if (!graph) return std::nullopt;
  return compile_graph(*graph, compile_options, diagnostics);
}

bool emit_model(const std::string& model, const std::string& target, const std::string& folder,
                const ModelOptions& options, nnef::Diagnostics& diagnostics) {
  const Progress progress("writing kernels of " + model);
  if (nnef_tvm::is_relax_file(model)) {
    diagnostics.error("nnefc/argument", {}, "--emit is for NNEF models alone")
        .help("compile TVM's JSON of a Relax module to an artefact: -o FILE");
    return false;
  }
  ModelOptions as_lowered = options;
  as_lowered.compounds = Compounds::as_lowered;
  const auto graph = load(model, as_lowered, diagnostics);
  if (!graph) return false;
  const auto program = emit_graph(*graph, {.target = target}, diagnostics);
  return program && nnef_tvm::write_program(*program, folder, diagnostics);
}

std::unique_ptr<nnef_runtime::Session> open_session(const std::string& model,
                                                    const Backend& backend,
                                                    const nnef_runtime::SessionOptions& threads,
                                                    const ModelOptions& options,
                                                    nnef::Diagnostics& diagnostics) {
  if (nnef_runtime::is_artefact(model)) {
    constexpr const char* kArtefact = "a compiled artefact";
    constexpr const char* kEarlier = "give {} to 'nnefc compile'";
    const char* hint = options.every_tensor
                           ? "an artefact keeps no other tensors than outputs: run "
                             "the model itself"
                           : kEarlier;
    if (refuse_graph_options(model, options, kArtefact, hint, diagnostics)) return nullptr;
    if (!backend.tuning.database.empty()) {
      report_without_effect(model, "--tuning", kArtefact, kEarlier, diagnostics);
      return nullptr;
    }
    nnef_runtime::SessionOptions session = threads;
    // Targets that are no devices have no effect on what is compiled already.
    if (!nnef_runtime::device_kind(backend.target).empty()) session.device = backend.target;
    return nnef_runtime::Session::open(model, session, diagnostics);
  }
  auto compiled = compile_model(model, backend, options, diagnostics);
  if (!compiled) return nullptr;
  return create_session(std::move(*compiled), threads, diagnostics);
}

}  // namespace nnefc
