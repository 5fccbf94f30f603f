// run: a model compiled, or by the reference evaluator; its outputs written, compared or summed up.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "commands.h"
#include "nnef/reference.h"
#include "npy.h"
#include "progress.h"
#include "states.h"
#include "tensors.h"

namespace nnefc {
namespace {

using nnef_runtime::Session;

struct NamedTensor {
  std::string name;
  nnef::TensorData data;
};

struct Results {
  std::vector<NamedTensor> outputs;
  std::vector<NamedTensor> all;    ///< every tensor of the graph, for --dump-all
  std::vector<NamedState> states;  ///< that the next run begins with, for --save-state
};

/// Compares an output with the file of its expected values; reports the worst item.
bool matches(const std::string& name, const nnef::TensorData& got, const std::string& path,
             const RunOptions& options, nnef::Diagnostics& diagnostics) {
  const auto expected = read_tensor_any(path, diagnostics);
  if (!expected) return false;
  if (got.shape != expected->shape) {
    diagnostics.file_error(
        "run/expect-shape", path, std::nullopt,
        fmt::format("output '{}' has shape {}, the expected values have {}", name,
                    nnef::to_string(got.shape), nnef::to_string(expected->shape)));
    return false;
  }
  const auto want = nnef::to_doubles(*expected);
  const auto have = nnef::to_doubles(got);
  if (!want || !have) {
    diagnostics.file_error(
        "run/expect-dtype", path, std::nullopt,
        fmt::format("items of type {} cannot be compared", nnef::to_string(expected->type)));
    return false;
  }
  // Tolerances are for what computing in floating point rounds.
  const bool exact = got.type.code != nnef::ItemCode::float_;
  const double rtol = exact ? 0 : options.rtol;
  const double atol = exact ? 0 : options.atol;
  size_t wrong = 0;
  size_t worst = 0;
  double worst_excess = -1;
  double largest = 0;
  for (size_t i = 0; i < want->size(); ++i) {
    const double a = (*have)[i];
    const double b = (*want)[i];
    const bool same = a == b || (std::isnan(a) && std::isnan(b));
    const double difference = same ? 0 : std::abs(a - b);
    const double excess = difference - (atol + rtol * std::abs(b));
    largest = std::max(largest, difference);
    // A NaN on one side only compares false with everything: count it as wrong.
    if (!same && !(excess <= 0)) ++wrong;
    if (!same && !(excess <= worst_excess)) {
      worst_excess = excess;
      worst = i;
    }
  }
  if (wrong == 0) {
    fmt::print("{}: as expected (largest difference {:.3g})\n", name, largest);
    return true;
  }
  diagnostics.file_error(
      "run/expect", path, std::nullopt,
      fmt::format("output '{}': {} of {} items differ beyond rtol {:g}, atol "
                  "{:g}; worst at item {}: {} instead of {}",
                  name, wrong, want->size(), rtol, atol, worst, (*have)[worst], (*want)[worst]));
  return false;
}

/// Names of tensors are identifiers in a graph, but anything in an artefact.
std::string file_name(std::string name) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  };
  std::ranges::replace_if(
      name, [&](char c) { return !is_plain(c); }, '_');
  return name + ".npy";
}

/// NAME.npy of each tensor, in a folder that is made when it is missing.
bool write_tensors(const std::vector<NamedTensor>& tensors, const std::string& folder,
                   nnef::Diagnostics& diagnostics) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    diagnostics.file_error("nnefc/write", folder, std::nullopt,
                           "the folder cannot be made: " + error.message());
    return false;
  }
  return std::ranges::all_of(tensors, [&](const NamedTensor& tensor) {
    const auto path = std::filesystem::path(folder) / file_name(tensor.name);
    return write_npy(path.string(), tensor.data, diagnostics);
  });
}

bool load_into(Session& session, const std::string& folder, nnef::Diagnostics& diagnostics) {
  auto states = states_of(session);
  return load_states(states, folder, diagnostics) && set_states(session, states, diagnostics);
}

/// How many of the tensors of a model that was loaded before are its outputs.
size_t count_outputs(const RunOptions& options) {
  ModelOptions headers = options.options;
  headers.read_data = false;
  nnef::Diagnostics known;
  return load(options.model, headers, known)->outputs.size();
}

std::optional<Results> run_compiled(const RunOptions& options, nnef::Diagnostics& diagnostics) {
  ModelOptions model = options.options;
  model.every_tensor = !options.dump_all.empty();
  const auto session = open_session(options.model, {options.target, options.tuning},
                                    {options.threads, options.pin}, model, diagnostics);
  if (!session) return std::nullopt;
  const auto inputs = gather_inputs(*session, options.inputs, false, diagnostics);
  if (!inputs) return std::nullopt;
  if (!options.load_state.empty() && !load_into(*session, options.load_state, diagnostics))
    return std::nullopt;
  const auto outputs = session->run(*inputs, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  Results results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    results.outputs.push_back({session->outputs()[i].name, tensor_data(outputs[i])});
  }
  if (model.every_tensor) {
    results.all = results.outputs;
    results.outputs.resize(count_outputs(options));
  }
  results.states = states_of(*session);
  return results;
}

std::optional<std::vector<nnef::TensorValue>> input_values(const nnef::Graph& graph,
                                                           const std::vector<std::string>& files,
                                                           nnef::Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const nnef::TensorRef input : graph.inputs) names.push_back(graph[input].name);
  const auto given = read_inputs(names, files, false, diagnostics);
  if (!given) return std::nullopt;
  std::vector<nnef::TensorValue> values;
  for (size_t i = 0; i < names.size(); ++i) {
    const nnef::Tensor& tensor = graph[graph.inputs[i]];
    const InputFile& file = *(*given)[i];
    const auto data = converted_input(file.data, tensor.item, names[i], file.path, diagnostics);
    auto value = data ? nnef::to_value(*data, tensor.dtype, tensor.item) : std::nullopt;
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  return values;
}

/// Gives inputs with symbols the shapes of their files, unless options do; whether there were any.
bool add_input_shapes(const nnef::Graph& graph, const std::vector<std::string>& files,
                      ModelOptions& options, nnef::Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const nnef::TensorRef input : graph.inputs) names.push_back(graph[input].name);
  if (std::ranges::all_of(graph.inputs,
                          [&](const auto input) { return nnef::known(*graph[input].shape); })) {
    return false;
  }
  const auto given = read_inputs(names, files, false, diagnostics);
  if (!given) return false;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string shape = nnef::to_string((*given)[i]->data.shape);
    if (!nnef::known(*graph[graph.inputs[i]].shape))
      options.shapes.push_back(names[i] + "=" + shape.substr(1, shape.size() - 2));
  }
  return true;
}

std::vector<NamedState> states_of(const nnef::Graph& graph, const nnef::Reference& reference) {
  std::vector<NamedState> states;
  for (const auto& [variable, label] : nnef::state_variables(graph)) {
    states.push_back({graph[variable].name, label, nnef::to_data(reference.state(variable))});
  }
  return states;
}

bool load_into(const nnef::Graph& graph, nnef::Reference& reference, const std::string& folder,
               nnef::Diagnostics& diagnostics) {
  auto states = states_of(graph, reference);
  if (!load_states(states, folder, diagnostics)) return false;
  for (size_t i = 0; const auto& [variable, label] : nnef::state_variables(graph)) {
    const nnef::Tensor& tensor = graph[variable];
    auto value = nnef::to_value(states[i++].value, tensor.dtype, tensor.item);
    if (!value) return false;
    reference.set_state(variable, std::move(*value));
  }
  return true;
}

std::optional<Results> run_reference(const RunOptions& options, nnef::Diagnostics& diagnostics) {
  const Progress progress("evaluating " + options.model);
  ModelOptions as_evaluated = options.options;
  as_evaluated.compounds = Compounds::as_evaluated;
  auto graph = load(options.model, as_evaluated, diagnostics);
  if (graph && add_input_shapes(*graph, options.inputs, as_evaluated, diagnostics))
    graph = load(options.model, as_evaluated, diagnostics);
  if (!graph || diagnostics.has_errors()) return std::nullopt;
  const auto reference = nnef::Reference::create(*graph, diagnostics);
  const auto inputs = reference ? input_values(*graph, options.inputs, diagnostics) : std::nullopt;
  const bool loaded = inputs && (options.load_state.empty() ||
                                 load_into(*graph, *reference, options.load_state, diagnostics));
  const auto values = loaded ? reference->run(*inputs, diagnostics) : std::nullopt;
  if (!values) return std::nullopt;
  Results results;
  const auto named = [&](size_t index) {
    return NamedTensor{graph->tensors[index].name, nnef::to_data((*values)[index])};
  };
  for (const nnef::TensorRef output : graph->outputs)
    results.outputs.push_back(named(output.index));
  for (size_t i = 0; i < values->size() && !options.dump_all.empty(); ++i) {
    results.all.push_back(named(i));
  }
  results.states = states_of(*graph, *reference);
  return results;
}

bool expected(const std::vector<NamedTensor>& outputs, const RunOptions& options,
              nnef::Diagnostics& diagnostics) {
  std::vector<std::string> names(outputs.size());
  std::ranges::transform(outputs, names.begin(), &NamedTensor::name);
  bool good = true;
  for (const std::string& text : options.expects) {
    const auto expect = split_assignment(text, "--expect", diagnostics);
    const auto index =
        expect ? find_name(names, expect->first, "output", diagnostics) : std::nullopt;
    good = index &&
           matches(names[*index], outputs[*index].data, expect->second, options, diagnostics) &&
           good;
  }
  return good;
}

bool run_once(const RunOptions& options, nnef::Diagnostics& diagnostics) {
  const auto results =
      options.reference ? run_reference(options, diagnostics) : run_compiled(options, diagnostics);
  if (!results) return false;
  bool good =
      options.output.empty() || write_tensors(results->outputs, options.output, diagnostics);
  good = (options.dump_all.empty() || write_tensors(results->all, options.dump_all, diagnostics)) &&
         good;
  good = expected(results->outputs, options, diagnostics) && good;
  if (options.output.empty() && options.expects.empty()) {
    for (const NamedTensor& output : results->outputs) {
      fmt::print("{}: {}\n", output.name, summary(output.data));
    }
  }
  // Last, so that a run that is not as expected can be tried again from the same state.
  return good && (options.save_state.empty() ||
                  save_states(results->states, options.save_state, diagnostics));
}

}  // namespace

int run(const RunOptions& options) {
  nnef::Diagnostics diagnostics;
  const bool good = run_once(options, diagnostics);
  report(diagnostics);
  return good ? kDone : kFault;
}

}  // namespace nnefc
