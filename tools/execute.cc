// compile, bench, and what every run of a model needs.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "npy.h"
#include "profile.h"
#include "progress.h"
#include "statistics.h"
#include "tensors.h"
#include "tuning.h"

namespace nnefc {
namespace {

using nnef_runtime::Session;
using nnef_runtime::TensorSpec;
using tvm::ffi::Tensor;

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The most memory that this process had in use so far.
double peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

bool time_runs(const BenchOptions& options, nnef::Diagnostics& diagnostics) {
  const auto opening = Clock::now();
  const auto session = open_session(options.model, {options.target, options.tuning},
                                    {options.threads, options.pin}, options.options, diagnostics);
  if (!session) return false;
  const double load_ms = milliseconds_since(opening);
  const auto inputs = gather_inputs(*session, options.inputs, true, diagnostics);
  if (!inputs) return false;
  constexpr int kWarmUp = 2;
  std::vector<double> times;
  double first_ms = 0;
  {
    const Progress progress("timing");
    for (int i = 0; i < kWarmUp + options.repeat; ++i) {
      const auto start = Clock::now();
      const auto outputs = session->run(*inputs, diagnostics);
      const double gone = milliseconds_since(start);
      if (diagnostics.has_errors()) return false;
      if (i == 0) first_ms = gone;
      if (i >= kWarmUp) times.push_back(gone);
    }
  }
  const double peak_mb = peak_megabytes();
  std::optional<Profile> profiled;
  if (options.profile) {
    const Progress progress("timing kernels");
    profiled = profile(*session, *inputs, options.threads, options.repeat, diagnostics);
    if (!profiled) return false;
    if (!options.profile->empty() &&
        !write_text(*options.profile, profile_page(*profiled, options.model), diagnostics)) {
      return false;
    }
  }
  const auto [fastest, slowest] = std::ranges::minmax(times);
  if (options.json) {
    nlohmann::ordered_json json{
        {"model", options.model}, {"threads", options.threads}, {"median_ms", median(times)},
        {"min_ms", fastest},      {"max_ms", slowest},          {"load_ms", load_ms},
        {"first_ms", first_ms},   {"peak_mb", peak_mb},         {"times_ms", times}};
    if (profiled) json["profile"] = profile_json(*profiled);
    fmt::print("{}\n", json.dump());
  } else {
    if (profiled) fmt::print("{}", profile_table(*profiled));
    fmt::print("{} runs: median {:.3f} ms, fastest {:.3f} ms, slowest {:.3f} ms\n", times.size(),
               median(times), fastest, slowest);
  }
  return true;
}

}  // namespace

std::optional<size_t> find_name(const std::vector<std::string>& names, const std::string& name,
                                const char* what, nnef::Diagnostics& diagnostics) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return found - names.begin();
  diagnostics
      .file_error("nnefc/name", "", std::nullopt,
                  fmt::format("the model has no {} '{}'", what, name))
      .help(fmt::format("its {}s are: {}", what, fmt::join(names, ", ")));
  return std::nullopt;
}

std::vector<std::string> names_of(const std::vector<TensorSpec>& specs) {
  std::vector<std::string> names(specs.size());
  std::ranges::transform(specs, names.begin(), &TensorSpec::name);
  return names;
}

std::optional<std::vector<std::optional<InputFile>>> read_inputs(
    const std::vector<std::string>& names, const std::vector<std::string>& files, bool fill,
    nnef::Diagnostics& diagnostics) {
  std::vector<std::optional<InputFile>> inputs(names.size());
  for (const std::string& text : files) {
    const auto assignment = split_assignment(text, "--input", diagnostics);
    const auto index =
        assignment ? find_name(names, assignment->first, "input", diagnostics) : std::nullopt;
    if (!index) continue;
    auto data = read_tensor_any(assignment->second, diagnostics);
    if (data) inputs[*index] = InputFile{assignment->second, std::move(*data)};
  }
  if (diagnostics.has_errors()) return std::nullopt;
  for (size_t i = 0; i < names.size() && !fill; ++i) {
    if (inputs[i]) continue;
    diagnostics
        .file_error("run/input-missing", "", std::nullopt,
                    fmt::format("input '{}' is not given", names[i]))
        .help(fmt::format("add --input {}=FILE.npy", names[i]));
  }
  if (diagnostics.has_errors()) return std::nullopt;
  return inputs;
}

std::optional<std::vector<Tensor>> gather_inputs(const Session& session,
                                                 const std::vector<std::string>& files, bool fill,
                                                 nnef::Diagnostics& diagnostics) {
  const auto& specs = session.inputs();
  const auto given = read_inputs(names_of(specs), files, fill, diagnostics);
  if (!given) return std::nullopt;
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < specs.size(); ++i) {
    const auto& file = (*given)[i];
    if (!file && !specs[i].extents.empty()) {
      diagnostics
          .file_error("nnefc/input-extents", "", std::nullopt,
                      fmt::format("input '{}' has shape {}: no tensor can be drawn for it",
                                  specs[i].name, nnef::to_string(specs[i].extents)))
          .help(fmt::format("give one: --input {}=FILE.npy, or its shape when the model is loaded: "
                            "--shape NAME=1,128",
                            specs[i].name));
      continue;
    }
    const auto tensor = file ? to_tensor(file->data, specs[i], file->path, diagnostics)
                             : random_tensor(specs[i], i);
    if (tensor) inputs.push_back(*tensor);
  }
  if (diagnostics.has_errors()) return std::nullopt;
  return inputs;
}

namespace {

bool write_compiled(const CompileOptions& options, nnef::Diagnostics& diagnostics) {
  const auto compiled =
      compile_model(options.model, {options.target, options.tuning}, options.options, diagnostics);
  if (!compiled || !nnef_tvm::write_artefact(*compiled, options.output, diagnostics)) return false;
  fmt::print("{}: {} bytes\n", options.output, std::filesystem::file_size(options.output));
  const std::string tuning = tuning_summary(compiled->tuning, options.tuning);
  if (!tuning.empty()) fmt::print("{}\n", tuning);
  return true;
}

}  // namespace

int compile(const CompileOptions& options) {
  nnef::Diagnostics diagnostics;
  bool done = true;
  if (!options.output.empty()) done = write_compiled(options, diagnostics);
  if (done && !options.emit.empty()) {
    done = emit_model(options.model, options.target, options.emit, options.options, diagnostics);
    if (done) fmt::print("{}: kernels and manifest.json\n", options.emit);
  }
  report(diagnostics);
  return done ? kDone : kFault;
}

int tune(const TuneOptions& options) {
  nnef::Diagnostics diagnostics;
  const auto compiled =
      compile_model(options.model, {options.target, options.tuning}, options.options, diagnostics);
  report(diagnostics);
  if (!compiled) return kFault;
  fmt::print("{}: {}\n", options.model, tuning_summary(compiled->tuning, options.tuning));
  return kDone;
}

int bench(const BenchOptions& options) {
  nnef::Diagnostics diagnostics;
  const bool good = time_runs(options, diagnostics);
  report(diagnostics);
  return good ? kDone : kFault;
}

}  // namespace nnefc
