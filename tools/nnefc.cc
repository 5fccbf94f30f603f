// nnefc: checks, inspects, imports, compiles and runs NNEF models.
#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <map>
#include <string>

#include "commands.h"

namespace {

using nnefc::Compounds;

constexpr const char* kModelHelp =
    "a folder with graph.nnef, a graph.nnef file, a .tar or .tgz archive of such a folder";
constexpr const char* kCompilableHelp =
    "a folder with graph.nnef, a graph.nnef file, a .tar or .tgz archive of such a folder; or "
    "TVM's "
    "JSON of a Relax module (tvm.ir.save_json)";
constexpr const char* kRunnableHelp =
    "a model (folder, graph.nnef, .tar, .tgz, or TVM's JSON of a Relax module; compiled first) or "
    "an artefact of 'nnefc compile'";

void add_inputs(CLI::App& command, nnefc::ModelOptions& options) {
  command
      .add_option("--type", options.types,
                  "Replace the item type of an input: x=float16, float64, int64, uint8, ...")
      ->type_name("NAME=TYPE")
      ->allow_extra_args(false);
  command
      .add_option("--shape", options.shapes,
                  "Replace the shape of an input; the rank stays: x=1,3,224,224. A name "
                  "stands for any extent, the same one wherever it stands: x=B,3,H,W")
      ->type_name("NAME=EXTENTS")
      ->allow_extra_args(false);
  command
      .add_option("--plugin", options.plugins,
                  "A shared library that registers operations (examples/custom-op)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  const std::map<std::string, nnef::Dialect> dialects{{"khronos", nnef::Dialect::khronos},
                                                      {"tract", nnef::Dialect::tract}};
  command
      .add_option_function<nnef::Dialect>(
          "--dialect", [&options](nnef::Dialect dialect) { options.dialect = dialect; },
          "Read the text as the standard has it, or as tract and torch-to-nnef write it "
          "(default: by its extension lines)")
      ->transform(CLI::CheckedTransformer(dialects).description(""))
      ->type_name("khronos|tract");
}

void add_quant(CLI::App& command, nnefc::ModelOptions& options) {
  options.quant = nnefc::Quant::fake;
  const std::map<std::string, nnefc::Quant> choices{{"fake", nnefc::Quant::fake},
                                                    {"ignore", nnefc::Quant::untouched}};
  command
      .add_option("--quant", options.quant,
                  "Entries of graph.quant: round values to their grids, or ignore them")
      ->transform(CLI::CheckedTransformer(choices).description(""))
      ->default_str("fake")
      ->type_name("fake|ignore");
}

void add_target(CLI::App& command, std::string& target) {
  command
      .add_option(
          "--target", target,
          "llvm (this machine's CPU), a device (opencl, vulkan:1, opencl:NAME), or TVM's JSON "
          "target")
      ->capture_default_str()
      ->type_name("TARGET");
}

/// "" for a positive number.
std::string check_seconds(const std::string& text) {
  double seconds = 0;
  if (CLI::detail::lexical_cast(text, seconds) && seconds > 0) return "";
  return "'" + text + "' is no positive number of seconds";
}

void add_database(CLI::App& command, nnefc::TuningChoice& tuning) {
  command
      .add_option("--tuning", tuning.database,
                  "Database of measured kernels, or none; default: $NNEF_TVM_TUNING, else "
                  "tvm-nnef/tuning.jsonl in the cache folder")
      ->type_name("FILE");
}

void add_threads(CLI::App& command, int& threads, bool& pin) {
  command.add_option("--threads", threads, "Threads to run on; 0 is one for each core")
      ->capture_default_str()
      ->check(CLI::Range(0, 4096));
  command.add_flag("--pin,!--no-pin", pin,
                   "Keep each thread on a processor of its own, or let the system place them (the "
                   "default)");
}

void add_compounds(CLI::App& command, nnefc::ModelOptions& options) {
  auto* expand = command.add_flag_callback(
      "--expand-all", [&options] { options.compounds = Compounds::expand; },
      "Replace every compound operation by its body");
  command
      .add_flag_callback(
          "--keep-compounds", [&options] { options.compounds = Compounds::keep; },
          "Keep the standard's compound operations whole (the default)")
      ->excludes(expand);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("NNEF compiler on Apache TVM: checks, imports, compiles and runs NNEF models.",
               "nnefc");
  app.set_version_flag("--version", "nnefc " NNEFC_VERSION " (TVM 0.27.0.post1)");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 done; 1 the model or the data is at fault (see stderr); 2 the command line "
      "is at fault.\n"
      "First steps:\n"
      "  nnefc check model/                                  is it a valid model?\n"
      "  nnefc compile model/ -o model.so                    make one file with code and weights\n"
      "  nnefc run model.so --input x=x.npy --output out/    writes out/NAME.npy for each output");
  std::function<int()> action;

  nnefc::CheckOptions check;
  auto* command = app.add_subcommand(
      "check", "Parse, resolve and infer; print what is wrong, or 'ok' with counts");
  command->add_option("MODEL", check.models, kModelHelp)->required();
  add_inputs(*command, check.model);
  command->callback([&] { action = [&] { return nnefc::check(check); }; });

  nnefc::InfoOptions info;
  command = app.add_subcommand(
      "info", "Print inputs, outputs, operators, parameters and multiply-accumulates");
  command->add_option("MODEL", info.model, "a model, or an artefact of 'nnefc compile'")
      ->required();
  auto* json = command->add_flag("--json", info.json, "Print one JSON object");
  command
      ->add_flag("--graph", info.graph, "Print the flat graph, with types and shapes as comments")
      ->excludes(json);
  add_compounds(*command, info.options);
  add_inputs(*command, info.options);
  command->callback([&] { action = [&] { return nnefc::info(info); }; });

  nnefc::ImportOptions import;
  command = app.add_subcommand("import", "Print or write the Relax module of a model");
  command->add_option("MODEL", import.model, kCompilableHelp)->required();
  command->add_option("-o,--output", import.output, "Where to write it (default: stdout)")
      ->type_name("FILE");
  command->add_option("--format", import.format, "TVMScript, or JSON for tvm.ir.load_json")
      ->check(CLI::IsMember({"script", "json"}))
      ->capture_default_str();
  command->add_flag("--keep-params", import.keep_params,
                    "Weights as parameters of main instead of constants");
  add_inputs(*command, import.options);
  add_quant(*command, import.options);
  command->callback([&] { action = [&] { return nnefc::import(import); }; });

  nnefc::CompileOptions compile;
  command = app.add_subcommand(
      "compile", "Compile a model to an artefact: one file with code, weights and metadata");
  command->add_option("MODEL", compile.model, kCompilableHelp)->required();
  auto* artefact = command->add_option("-o,--output", compile.output, "The artefact to write");
  artefact->type_name("FILE");
  auto* emit = command->add_option(
      "--emit", compile.emit,
      "A folder for every kernel as OpenCL C, SPIR-V and CUDA C++, with the weights and a manifest "
      "of what to run, for applications without TVM");
  emit->type_name("DIR");
  command->callback([&, artefact, emit] {
    if (artefact->count() + emit->count() == 0) throw CLI::RequiredError("--output or --emit");
    action = [&] { return nnefc::compile(compile); };
  });
  command
      ->add_option("--tune", compile.tuning.seconds,
                   "Measure kernels that the database does not know, at most so long")
      ->type_name("SECONDS")
      ->check(check_seconds);
  add_database(*command, compile.tuning);
  add_target(*command, compile.target);
  add_inputs(*command, compile.options);
  add_quant(*command, compile.options);

  nnefc::TuneOptions tune;
  command = app.add_subcommand(
      "tune", "Measure the kernels of a model; later compilations use what was fastest");
  command->add_option("MODEL", tune.model, kCompilableHelp)->required();
  command->add_option("--seconds", tune.tuning.seconds, "How long to measure at most")
      ->capture_default_str()
      ->type_name("SECONDS")
      ->check(check_seconds);
  add_database(*command, tune.tuning);
  add_target(*command, tune.target);
  add_inputs(*command, tune.options);
  add_quant(*command, tune.options);
  command->callback([&] { action = [&] { return nnefc::tune(tune); }; });

  nnefc::RunOptions run;
  command = app.add_subcommand(
      "run", "Run a model once; write its outputs, or compare them with expected ones");
  command->add_option("MODEL", run.model, kRunnableHelp)->required();
  command->add_option("--input", run.inputs, "The .npy or .dat file of an input")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  command->add_option("--output", run.output, "Folder for NAME.npy of each output")
      ->type_name("DIR");
  command->add_flag("--reference", run.reference,
                    "Evaluate by the specification's formulas: slow, exact, without compiling");
  command
      ->add_option(
          "--dump-all", run.dump_all,
          "Folder for NAME.npy of every tensor of the graph, with --reference also of those "
          "inside of compounds")
      ->type_name("DIR");
  command->add_option("--expect", run.expects, "The .npy or .dat file that an output must equal")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  command->add_option("--rtol", run.rtol, "Relative tolerance of --expect")->capture_default_str();
  command->add_option("--atol", run.atol, "Absolute tolerance of --expect")->capture_default_str();
  command
      ->add_option("--load-state", run.load_state,
                   "Folder with LABEL.dat for each variable that the model updates")
      ->type_name("DIR");
  command
      ->add_option("--save-state", run.save_state,
                   "Folder for LABEL.dat of each such variable after the run; may be the same")
      ->type_name("DIR");
  add_database(*command, run.tuning);
  add_target(*command, run.target);
  add_threads(*command, run.threads, run.pin);
  add_inputs(*command, run.options);
  add_quant(*command, run.options);
  command->callback([&] { action = [&] { return nnefc::run(run); }; });

  nnefc::BenchOptions bench;
  command = app.add_subcommand("bench", "Time inferences after a warm-up");
  command->add_option("MODEL", bench.model, kRunnableHelp)->required();
  command
      ->add_option("--input", bench.inputs,
                   "The .npy or .dat file of an input (default: random, seeded)")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  add_database(*command, bench.tuning);
  add_target(*command, bench.target);
  add_threads(*command, bench.threads, bench.pin);
  command->add_option("--repeat", bench.repeat, "How many inferences to time")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000));
  command
      ->add_option_function<std::vector<std::string>>(
          "--profile",
          [&bench](const std::vector<std::string>& files) {
            bench.profile = files.empty() ? "" : files[0];
          },
          "Also time each kernel: a table, and a page where a file is named")
      ->expected(0, 1)
      ->type_name("[FILE.html]");
  command->add_flag("--json", bench.json, "End with one JSON object: {\"times_ms\": [...], ...}");
  add_inputs(*command, bench.options);
  add_quant(*command, bench.options);
  command->callback([&] { action = [&] { return nnefc::bench(bench); }; });

  nnefc::ConvertOptions convert;
  command = app.add_subcommand(
      "convert",
      "Write a model as a folder or an archive (.tar, .tgz by suffix), flat and canonical");
  command->add_option("IN", convert.input, kModelHelp)->required();
  command->add_option("OUT", convert.output, "the folder or archive to write")->required();
  add_compounds(*command, convert.options);
  add_inputs(*command, convert.options);
  command->callback([&] { action = [&] { return nnefc::convert(convert); }; });

  bool operations_json = false;
  command =
      app.add_subcommand("ops", "Print the operations of the standard and what supports each");
  command->add_flag("--json", operations_json, "Print one JSON array");
  command->callback([&] { action = [&] { return nnefc::operations(operations_json); }; });

  command = app.add_subcommand("devices",
                               "Print the targets usable on this machine, and why others are not");
  command->callback([&] { action = [&] { return nnefc::devices(); }; });

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? nnefc::kDone : nnefc::kUsage;
  }
  try {
    return action();
  } catch (const std::exception& error) {
    nnef::Diagnostics diagnostics;
    diagnostics.file_error("nnefc/internal", "", std::nullopt, error.what())
        .help(
            "this is a fault of nnefc, not of the model: please report it with the model's "
            "graph.nnef");
    nnefc::report(diagnostics);
    return nnefc::kFault;
  }
}
