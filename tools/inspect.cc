// check, info, import, convert, ops: everything that does not run a model.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "commands.h"
#include "compile/relax_model.h"
#include "nnef/operations.h"
#include "nnef_runtime/devices.h"
#include "progress.h"
#include "relax/import.h"
#include "tvm/ir.h"
#include "tvm/json.h"

namespace nnefc {
namespace {

using nlohmann::ordered_json;

struct Summary {
  std::map<std::string, size_t> operators;  ///< without external, variable and constant
  size_t operations = 0;
  size_t variables = 0;
  int64_t parameters = 0;
  nnef::Dim macs = 0;
};

Summary summarise(const nnef::Graph& graph) {
  static const std::set<std::string_view> kSources{"external", "variable", "constant"};
  Summary summary;
  for (const nnef::Operation& operation : graph.operations) {
    const nnef::OpView view(graph, operation);
    summary.macs = summary.macs + nnef::multiply_accumulates(view);
    if (operation.name == "variable") {
      ++summary.variables;
      summary.parameters += nnef::volume(*graph[view.result("output")].shape).value();
    }
    if (!kSources.contains(operation.name)) {
      ++summary.operators[operation.name];
      ++summary.operations;
    }
  }
  return summary;
}

std::string describe(const nnef::Tensor& tensor) {
  return fmt::format("{}: {} {}", tensor.name, nnef::to_string(tensor.dtype),
                     nnef::to_string(*tensor.shape));
}

ordered_json tensor_json(const nnef::Tensor& tensor) {
  auto shape = ordered_json::array();
  for (const nnef::Dim& extent : *tensor.shape) {
    shape.push_back(extent.known() ? ordered_json(extent.value())
                                   : ordered_json(nnef::to_string(extent)));
  }
  return {{"name", tensor.name}, {"dtype", nnef::to_string(tensor.dtype)}, {"shape", shape}};
}

std::string with_unit(double value) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  while (value >= 1000 && unit + 1 < std::size(kUnits)) {
    value /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}{}", value, kUnits[unit]);
}

void print_text(const nnef::Graph& graph, const Summary& summary) {
  fmt::print("graph {}\n", graph.name);
  for (const nnef::TensorRef input : graph.inputs)
    fmt::print("input  {}\n", describe(graph[input]));
  for (const nnef::TensorRef output : graph.outputs)
    fmt::print("output {}\n", describe(graph[output]));
  for (const auto& [state, label] : nnef::state_variables(graph))
    fmt::print("state  {}, label '{}'\n", describe(graph[state]), label);
  fmt::print("parameters {} in {} variables\n", with_unit(static_cast<double>(summary.parameters)),
             summary.variables);
  fmt::print("multiply-accumulates {}\n", summary.macs.known()
                                              ? with_unit(static_cast<double>(summary.macs.value()))
                                          : summary.macs.valid() ? nnef::to_string(summary.macs)
                                                                 : "beyond 64 bits");
  for (const nnef::Condition& condition : graph.conditions)
    fmt::print("requires {}\n", nnef::to_string(condition));
  fmt::print("operations {}\n", summary.operations);
  for (const auto& [name, count] : summary.operators) fmt::print("  {:5} {}\n", count, name);
}

void print_json(const nnef::Graph& graph, const Summary& summary) {
  ordered_json json{
      {"graph", graph.name}, {"inputs", ordered_json::array()}, {"outputs", ordered_json::array()}};
  for (const nnef::TensorRef input : graph.inputs)
    json["inputs"].push_back(tensor_json(graph[input]));
  for (const nnef::TensorRef output : graph.outputs)
    json["outputs"].push_back(tensor_json(graph[output]));
  json["states"] = ordered_json::array();
  for (const auto& [state, label] : nnef::state_variables(graph)) {
    json["states"].push_back(tensor_json(graph[state]));
    json["states"].back()["label"] = label;
  }
  json["parameters"] = summary.parameters;
  json["variables"] = summary.variables;
  json["macs"] = summary.macs.known()   ? ordered_json(summary.macs.value())
                 : summary.macs.valid() ? ordered_json(nnef::to_string(summary.macs))
                                        : ordered_json(nullptr);
  json["operations"] = summary.operations;
  json["operators"] = summary.operators;
  fmt::print("{}\n", json.dump());
}

int finish(const nnef::Diagnostics& diagnostics, bool done) {
  report(diagnostics);
  return done ? kDone : kFault;
}

bool print_artefact(const std::string& path, bool json, nnef::Diagnostics& diagnostics) {
  const auto metadata = nnef_runtime::artefact_metadata(path, diagnostics);
  if (metadata) fmt::print("{}\n", ordered_json::parse(*metadata).dump(json ? -1 : 2));
  return metadata.has_value();
}

}  // namespace

bool write_text(const std::string& path, const std::string& text, nnef::Diagnostics& diagnostics) {
  if (path.empty()) {
    fmt::print("{}", text);
    return true;
  }
  const std::string temporary = path + ".part";
  std::ofstream file(temporary, std::ios::binary);
  file << text;
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0) {
    std::remove(temporary.c_str());
    diagnostics.file_error("nnefc/write", path, std::nullopt, "the file cannot be written");
    return false;
  }
  return true;
}

int check(const CheckOptions& options) {
  bool good = true;
  for (const std::string& model : options.models) {
    nnef::Diagnostics diagnostics;
    const auto graph = load(model, options.model, diagnostics);
    report(diagnostics);
    good = good && graph.has_value();
    if (!graph) continue;
    const Summary summary = summarise(*graph);
    fmt::print("{}: ok: {} operations, {} tensors, {} variables\n", model, summary.operations,
               graph->tensors.size(), summary.variables);
  }
  return good ? kDone : kFault;
}

int info(const InfoOptions& options) {
  nnef::Diagnostics diagnostics;
  if (nnef_runtime::is_artefact(options.model)) {
    return finish(diagnostics, print_artefact(options.model, options.json, diagnostics));
  }
  ModelOptions structure = options.options;
  structure.read_data = false;
  const auto graph = load(options.model, structure, diagnostics);
  if (graph && options.graph) fmt::print("{}", nnef::write_graph(*graph, true));
  if (graph && !options.graph) (options.json ? print_json : print_text)(*graph, summarise(*graph));
  return finish(diagnostics, graph.has_value());
}

namespace {

std::optional<nnef_tvm::IRModule> relax_module(const ImportOptions& options,
                                               nnef::Diagnostics& diagnostics) {
  const Progress progress("importing " + options.model);
  if (nnef_tvm::is_relax_file(options.model)) {
    if (refuse_relax_options(options.model, options.options, diagnostics) ||
        !nnef_tvm::load_compiler(diagnostics)) {
      return std::nullopt;
    }
    const auto read = nnef_tvm::read_relax(options.model, diagnostics);
    if (!read) return std::nullopt;
    return nnef_tvm::as_module(*read, options.keep_params);
  }
  ModelOptions model = options.options;
  model.compounds = Compounds::as_lowered;
  const auto graph = load(options.model, model, diagnostics);
  if (!graph || !nnef_tvm::load_compiler(diagnostics)) return std::nullopt;
  const auto imported =
      nnef_tvm::import_graph(*graph, {.keep_params = options.keep_params}, diagnostics);
  if (!imported) return std::nullopt;
  return imported->module;
}

}  // namespace

int import(const ImportOptions& options) {
  nnef::Diagnostics diagnostics;
  const auto module = relax_module(options, diagnostics);
  if (!module) return finish(diagnostics, false);
  std::string text =
      options.format == "json" ? nnef_tvm::to_json(*module) : nnef_tvm::script(*module);
  if (!text.ends_with('\n')) text += '\n';
  return finish(diagnostics, write_text(options.output, text, diagnostics));
}

int convert(const ConvertOptions& options) {
  nnef::Diagnostics diagnostics;
  const auto graph = load(options.input, options.options, diagnostics);
  return finish(diagnostics, graph && nnef::save_model(*graph, options.output, diagnostics));
}

namespace {

/// How each operation of the standard is lowered: by a row of the tables, through its body where
/// everything in the body is lowered, or not at all.
std::map<std::string, std::string, std::less<>> lowering_kinds(
    const std::vector<nnef::OperationInfo>& operations) {
  std::map<std::string, std::string, std::less<>> kinds;
  for (const auto& row : nnef_tvm::lowerings()) kinds[std::string(row.operation)] = row.kind;
  const auto lowered =
      nnef::supported(operations, [&](std::string_view name) { return kinds.contains(name); });
  for (const nnef::OperationInfo& operation : operations) {
    kinds.try_emplace(operation.name, lowered.contains(operation.name) ? "expanded" : "none");
  }
  return kinds;
}

}  // namespace

int operations(bool json) {
  const auto standard = nnef::standard_operations();
  const auto lowerings = lowering_kinds(standard);
  // Kernels are made from the same Relax for all of them.
  std::vector<std::string> targets = {"llvm"};
  for (std::string_view kind : nnef_runtime::device_kinds()) targets.emplace_back(kind);
  auto rows = ordered_json::array();
  for (const nnef::OperationInfo& operation : standard) {
    const std::string& lowering = lowerings.at(operation.name);
    rows.push_back({{"operation", operation.name},
                    {"kind", operation.compound ? "compound" : "primitive"},
                    {"shape_rule", operation.shape_rule},
                    {"evaluator", operation.evaluator},
                    {"lowering", lowering},
                    {"targets", lowering == "none" ? std::vector<std::string>() : targets}});
  }
  if (json) {
    fmt::print("{}\n", rows.dump());
    return kDone;
  }
  constexpr const char* kLine = "{:30} {:10} {:6} {:9} {:9} {}\n";
  fmt::print(kLine, "operation", "kind", "shapes", "evaluator", "lowering", "targets");
  for (const auto& row : rows) {
    fmt::print(kLine, row["operation"].get<std::string>(), row["kind"].get<std::string>(),
               row["shape_rule"].get<bool>() ? "yes" : "no",
               row["evaluator"].get<bool>() ? "yes" : "no", row["lowering"].get<std::string>(),
               row["targets"].empty() ? "-" : fmt::format("{}", fmt::join(targets, ", ")));
  }
  return kDone;
}

}  // namespace nnefc
