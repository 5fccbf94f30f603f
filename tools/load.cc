// What several commands share: arguments, models and sessions.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <utility>

#include "build_graph.h"
#include "commands.h"
#include "nnef/quantization.h"
#include "nnef/reference.h"
#include "nnef_runtime/devices.h"
#include "progress.h"
#include "relax/import.h"

namespace nnefc {
namespace {

std::optional<nnef::Shape> parse_shape(std::string_view text) {
  nnef::Shape shape;
  while (!text.empty()) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc()) return std::nullopt;
    shape.emplace_back(extent);
    text.remove_prefix(end - text.data());
    if (text.empty()) break;
    if (text.front() != ',' || text.size() == 1) return std::nullopt;
    text.remove_prefix(1);
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

std::optional<nnef::Graph> load(const std::string& path, const ModelOptions& options,
                                nnef::Diagnostics& diagnostics) {
  nnef::LoadOptions load_options;
  load_options.read_data = options.read_data;
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
          .help("write --shape NAME=1,3,224,224");
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

std::optional<nnef_tvm::Compiled> compile_model(const std::string& model, const std::string& target,
                                                const ModelOptions& options,
                                                nnef::Diagnostics& diagnostics) {
  const Progress progress("compiling " + model);
  ModelOptions as_lowered = options;
  as_lowered.compounds = Compounds::as_lowered;
  const auto graph = load(model, as_lowered, diagnostics);
  if (!graph) return std::nullopt;
  return compile_graph(*graph, {.target = target}, diagnostics);
}

std::unique_ptr<nnef_runtime::Session> open_session(const std::string& model,
                                                    const std::string& target, int threads,
                                                    const ModelOptions& options,
                                                    nnef::Diagnostics& diagnostics) {
  if (nnef_runtime::is_artefact(model)) {
    const char* option = options.every_tensor           ? "--dump-all"
                         : !options.shapes.empty()      ? "--shape"
                         : !options.types.empty()       ? "--type"
                         : options.quant != Quant::fake ? "--quant"
                                                        : nullptr;
    if (option != nullptr) {
      diagnostics
          .file_error("nnefc/argument", model, std::nullopt,
                      fmt::format("{} has no effect on a compiled artefact", option))
          .help(options.every_tensor
                    ? "an artefact keeps no other tensors than outputs: run the model itself"
                    : fmt::format("give {} to 'nnefc compile'", option));
      return nullptr;
    }
    // Targets that are no devices have no effect on what is compiled already.
    const bool names_device = !nnef_runtime::device_kind(target).empty();
    return nnef_runtime::Session::open(
        model, {.threads = threads, .device = names_device ? target : ""}, diagnostics);
  }
  auto compiled = compile_model(model, target, options, diagnostics);
  if (!compiled) return nullptr;
  return create_session(std::move(*compiled), threads, diagnostics);
}

}  // namespace nnefc
