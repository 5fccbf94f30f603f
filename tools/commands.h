// The commands of nnefc. Each returns the exit status: 0 done, 1 the model or the data is at fault.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"
#include "nnef/diagnostic.h"
#include "nnef/graph.h"
#include "nnef/model.h"
#include "nnef_runtime/session.h"

namespace nnefc {

inline constexpr int kDone = 0;
inline constexpr int kFault = 1;
inline constexpr int kUsage = 2;

/// Which compounds of the standard stay whole.
enum class Compounds : uint8_t { keep, expand, as_lowered, as_evaluated };

/// What becomes of the entries of graph.quant.
enum class Quant : uint8_t { untouched, fake };

struct ModelOptions {
  std::vector<std::string> shapes;       ///< NAME=1,3,H,W
  std::vector<std::string> types;        ///< NAME=float16
  std::vector<std::string> plugins;      ///< files
  std::optional<nnef::Dialect> dialect;  ///< default: as the text says
  Compounds compounds = Compounds::keep;
  Quant quant = Quant::untouched;
  bool read_data = true;
  bool every_tensor = false;  ///< as an output, after the graph's own
};

struct CheckOptions {
  std::vector<std::string> models;
  ModelOptions model;
};

struct InfoOptions {
  std::string model;
  bool json = false;
  bool graph = false;
  ModelOptions options;
};

struct ImportOptions {
  std::string model;
  std::string output;
  std::string format = "script";
  bool keep_params = false;
  ModelOptions options;
};

/// Measured plans for kernels.
struct TuningChoice {
  std::string database;  ///< a file, or "none"; empty: the usual place
  double seconds = 0;    ///< to measure what is not in it
};

struct CompileOptions {
  std::string model;
  std::string output;  ///< empty: no artefact
  std::string emit;    ///< folder for kernels as files; empty: none
  std::string target = "llvm";
  TuningChoice tuning;
  ModelOptions options;
};

struct TuneOptions {
  std::string model;
  std::string target = "llvm";
  TuningChoice tuning{.database = "", .seconds = 60};
  ModelOptions options;
};

struct RunOptions {
  std::string model;
  std::vector<std::string> inputs;   ///< NAME=FILE
  std::string output;                ///< folder
  std::string dump_all;              ///< folder
  std::vector<std::string> expects;  ///< NAME=FILE
  double rtol = 1e-3;
  double atol = 1e-5;
  std::string load_state;  ///< folder
  std::string save_state;  ///< folder
  bool reference = false;  ///< by the evaluator, without compiling
  std::string target = "llvm";
  TuningChoice tuning;
  int threads = 0;
  bool pin = false;
  ModelOptions options;
};

struct BenchOptions {
  std::string model;
  std::vector<std::string> inputs;
  std::string target = "llvm";
  TuningChoice tuning;
  int threads = 0;
  bool pin = false;
  int repeat = 20;
  bool json = false;
  std::optional<std::string> profile;  ///< where to write the page; empty: nowhere
  ModelOptions options;
};

struct ConvertOptions {
  std::string input;
  std::string output;
  ModelOptions options;
};

int check(const CheckOptions& options);
int info(const InfoOptions& options);
int import(const ImportOptions& options);
int compile(const CompileOptions& options);
int tune(const TuneOptions& options);
int run(const RunOptions& options);
int bench(const BenchOptions& options);
int convert(const ConvertOptions& options);
int operations(bool json);
int devices();

/// Prints diagnostics to stderr, coloured on a terminal.
void report(const nnef::Diagnostics& diagnostics);

/// Loads shared libraries that register operations, each once ("plugin/...").
bool load_plugins(const std::vector<std::string>& files, nnef::Diagnostics& diagnostics);

/// A model file as a graph; nothing after reporting to `diagnostics`.
std::optional<nnef::Graph> load(const std::string& path, const ModelOptions& options,
                                nnef::Diagnostics& diagnostics);

/// True after reporting "nnefc/argument" when one of the options is for NNEF models alone.
bool refuse_relax_options(const std::string& model, const ModelOptions& options,
                          nnef::Diagnostics& diagnostics);

/// Writes text to a file, or to stdout when `path` is empty. Leaves no partial file behind.
bool write_text(const std::string& path, const std::string& text, nnef::Diagnostics& diagnostics);

/// Splits NAME=VALUE; reports "nnefc/argument" when there is no '='.
std::optional<std::pair<std::string, std::string>> split_assignment(const std::string& text,
                                                                    const char* option,
                                                                    nnef::Diagnostics& diagnostics);

/// How to compile: for which target, and with which plans.
struct Backend {
  std::string target;
  TuningChoice tuning;
};

/// A model file, compiled; shows progress.
std::optional<nnef_tvm::Compiled> compile_model(const std::string& model, const Backend& backend,
                                                const ModelOptions& options,
                                                nnef::Diagnostics& diagnostics);

/// A model file's kernels, for any device or for one, into a folder; shows progress.
bool emit_model(const std::string& model, const std::string& target, const std::string& folder,
                const ModelOptions& options, nnef::Diagnostics& diagnostics);

/// A session for a compiled artefact or for a model, which is compiled first.
std::unique_ptr<nnef_runtime::Session> open_session(const std::string& model,
                                                    const Backend& backend,
                                                    const nnef_runtime::SessionOptions& threads,
                                                    const ModelOptions& options,
                                                    nnef::Diagnostics& diagnostics);

/// The index of `name`; reports "nnefc/name" when the model has no such input or output (`what`).
std::optional<size_t> find_name(const std::vector<std::string>& names, const std::string& name,
                                const char* what, nnef::Diagnostics& diagnostics);
std::vector<std::string> names_of(const std::vector<nnef_runtime::TensorSpec>& specs);

struct InputFile {
  std::string path;
  nnef::TensorData data;
};

/// The files of --input arguments, in the order of `names`. Those that are not given are an error
/// unless `fill` is set.
std::optional<std::vector<std::optional<InputFile>>> read_inputs(
    const std::vector<std::string>& names, const std::vector<std::string>& files, bool fill,
    nnef::Diagnostics& diagnostics);

/// The tensors for a session's inputs: from NAME=FILE; those that are not given are random (seeded)
/// when `fill` is set, else an error.
std::optional<std::vector<tvm::ffi::Tensor>> gather_inputs(const nnef_runtime::Session& session,
                                                           const std::vector<std::string>& files,
                                                           bool fill,
                                                           nnef::Diagnostics& diagnostics);

}  // namespace nnefc
