// Emitted programs as files.
#include <fmt/format.h>
#include <sys/stat.h>
#include <tvm/ffi/dtype.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "compile/emit.h"
#include "compile/files.h"

namespace nnef_tvm {

namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr uint64_t kWeightAlignment = 256;  // what any device's storage buffers ask for at most
constexpr int64_t kMaxGroups = 65535;       // in each direction, of Vulkan

struct Language {
  std::string_view name;
  const char* extension;
};
constexpr std::array<Language, 3> kLanguages = {
    {{"opencl", ".cl"}, {"vulkan", ".spv"}, {"cuda", ".cu"}}};

const char* extension_of(const std::string& language) {
  for (const Language& row : kLanguages) {
    if (row.name == language) return row.extension;
  }
  return "";
}

std::string type_name(DLDataType type) { return std::string(tvm::ffi::DLDataTypeToString(type)); }

/// Writes files into one folder; the first that cannot be written is the problem.
class Folder {
 public:
  explicit Folder(std::string path) : path_(std::move(path)) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) problem_ = fmt::format("cannot make the folder: {}", error.message());
  }

  void write(const std::string& name, const std::string& content) {
    OutputFile file((fs::path(path_) / name).string());
    file.write(content.data(), content.size());
    commit(file, name);
  }

  void commit(OutputFile& file, const std::string& name) {
    if (!problem_.empty() || file.commit()) return;
    problem_ = fmt::format("cannot write '{}': {}", name, std::strerror(file.error()));
  }

  fs::path path(const std::string& name) const { return fs::path(path_) / name; }
  const std::string& problem() const { return problem_; }

 private:
  std::string path_;
  std::string problem_;
};

/// The text of SPIR-V, where SPIRV-Tools are installed.
bool disassemble(const Folder& folder, const std::string& name) {
  const TemporaryFolder scratch;
  if (scratch.path().empty()) return false;
  const ProcessResult result = run_process({"spirv-dis", folder.path(name + ".spv").string(), "-o",
                                            folder.path(name + ".spvasm").string()},
                                           scratch.path() / "log");
  return result.started && result.status == 0;
}

json write_kernel(const EmittedKernel& kernel, Folder& folder) {
  json object = {{"name", kernel.name}};
  json arguments = json::array();
  size_t binding = 0, number = 0;
  for (size_t i = 0; i < kernel.arguments.size(); ++i) {
    // In SPIR-V, buffers are the bindings of set 0, numbers 8 bytes each of the push constants.
    if (kernel.is_buffer[i]) {
      arguments.push_back({{"buffer_of", type_name(kernel.arguments[i])}, {"binding", binding++}});
    } else {
      arguments.push_back({{"number", type_name(kernel.arguments[i])}, {"offset", 8 * number++}});
    }
  }
  object["arguments"] = std::move(arguments);
  for (const EmittedCode& code : kernel.code) {
    if (!code.problem.empty()) {
      object["missing"][code.language] = code.problem;
      continue;
    }
    const std::string file = kernel.name + extension_of(code.language);
    folder.write(file, code.code);
    object["files"][code.language] = file;
    if (code.language == "vulkan" && disassemble(folder, kernel.name)) {
      object["files"]["assembly"] = kernel.name + ".spvasm";
    }
  }
  return object;
}

int64_t items_of(const nnef_runtime::TensorSpec& tensor) {
  int64_t items = 1;
  for (int64_t extent : tensor.shape) items *= extent;
  return items;
}

json buffer_json(const EmittedBuffer& buffer) {
  const DLDataType type = buffer.tensor.dtype;
  json object = {{"name", buffer.tensor.name},
                 {"dtype", type_name(type)},
                 {"shape", buffer.tensor.shape},
                 {"bytes", items_of(buffer.tensor) * ((type.bits * type.lanes + 7) / 8)}};
  if (buffer.shares) object["shares"] = *buffer.shares;
  return object;
}

json step_json(const EmittedProgram& program, const EmittedStep& step) {
  json arguments = json::array();
  for (const EmittedArgument& argument : step.arguments) {
    if (argument.buffer) {
      arguments.push_back({{"buffer", *argument.buffer}});
    } else {
      arguments.push_back({{"number", argument.number}});
    }
  }
  // The SPIR-V continues in z where Vulkan allows no more groups in x.
  json dispatch = step.groups;
  if (step.groups[0] > kMaxGroups) {
    const int64_t rows = (step.groups[0] + kMaxGroups - 1) / kMaxGroups;
    dispatch = {(step.groups[0] + rows - 1) / rows, step.groups[1], rows};
  }
  return {{"kernel", program.kernels[step.kernel].name},
          {"groups", step.groups},
          {"threads", step.threads},
          {"dispatch", std::move(dispatch)},
          {"arguments", std::move(arguments)}};
}

json write_weights(const EmittedProgram& program, Folder& folder) {
  json list = json::array();
  const std::string name = "weights.bin";
  OutputFile file(folder.path(name).string());
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const ffi::Tensor& value = program.weight_values[i];
    file.pad_to(kWeightAlignment);
    const uint64_t offset = file.size();
    const uint64_t bytes = ffi::GetDataSize(*value.GetDLTensorPtr());
    file.write(value.data_ptr(), bytes);
    list.push_back({{"buffer", program.weights[i]}, {"offset", offset}, {"bytes", bytes}});
  }
  folder.commit(file, name);
  return {{"file", name}, {"values", std::move(list)}};
}

}  // namespace

bool write_program(const EmittedProgram& program, const std::string& path,
                   nnef::Diagnostics& diagnostics) {
  Folder folder(path);
  json manifest = {{"format", kFormat}};
  manifest["inputs"] = program.inputs;
  manifest["outputs"] = program.outputs;
  manifest["buffers"] = json::array();
  for (const EmittedBuffer& buffer : program.buffers) {
    manifest["buffers"].push_back(buffer_json(buffer));
  }
  manifest["weights"] = write_weights(program, folder);
  manifest["kernels"] = json::array();
  for (const EmittedKernel& kernel : program.kernels) {
    manifest["kernels"].push_back(write_kernel(kernel, folder));
  }
  manifest["steps"] = json::array();
  for (const EmittedStep& step : program.steps) {
    manifest["steps"].push_back(step_json(program, step));
  }
  folder.write("manifest.json",
               manifest.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  if (folder.problem().empty()) return true;
  diagnostics.file_error("emit/write", path, std::nullopt, folder.problem());
  return false;
}

}  // namespace nnef_tvm
