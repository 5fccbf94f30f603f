#include "runtime/artefact_format.h"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "compile/compile.h"
#include "compile/cpu_target.h"
#include "compile/device_target.h"
#include "compile/files.h"
#include "runtime/crc32.h"
#include "runtime/error_text.h"
#include "runtime/metadata.h"
#include "runtime/parallel.h"
#include "runtime/threads.h"
#include "tvm/build.h"
#include "tvm/target.h"

namespace nnef_tvm {

namespace {

namespace fs = std::filesystem;

/// The modules of machine code among an executable's imports.
void collect_code(const ffi::Module& module, std::vector<ffi::Module>& code) {
  if (std::strcmp(module->kind(), "llvm") == 0) code.push_back(module);
  for (const Any& import : module->imports()) collect_code(import.cast<ffi::Module>(), code);
}

/// Writes the object files that make up the library. Throws tvm::ffi::Error.
std::vector<std::string> write_objects(const Compiled& compiled, const fs::path& folder) {
  std::vector<ffi::Module> code;
  collect_code(compiled.executable, code);
  const Target target = target_from_json(compiled.target_json);
  code.push_back(
      pack_imports(compiled.executable, is_device_target(target) ? host_target() : target));
  std::vector<std::string> objects;
  for (size_t i = 0; i < code.size(); ++i) {
    objects.push_back((folder / fmt::format("{}.o", i)).string());
  }
  nnef_runtime::parallel_for(code.size(), static_cast<size_t>(nnef_runtime::physical_cores()),
                             [&](size_t i) { code[i]->WriteToFile(objects[i], "o"); });
  return objects;
}

/// The system's compilers, in the order in which they are tried as linkers.
constexpr const char* kLinkers[] = {"cc", "gcc", "clang"};
// posix_spawnp's child exits with this status when it cannot execute the program.
constexpr int kNotFound = 127;

bool link(const std::vector<std::string>& objects, const fs::path& folder,
          const std::string& library, const std::string& path, nnef::Diagnostics& diagnostics) {
  for (const char* linker : kLinkers) {
    std::vector<std::string> arguments = {linker, "-shared", "-o", library};
    arguments.insert(arguments.end(), objects.begin(), objects.end());
    arguments.insert(arguments.end(), {"-Wl,--strip-debug", "-lm"});
    ProcessResult result = run_process(arguments, folder / "link.log");
    if (!result.started || result.status == kNotFound) continue;
    if (result.status == 0) return true;
    auto& report = diagnostics.file_error(
        "artefact/link", path, std::nullopt,
        fmt::format("'{}' failed to link the machine code (status {})", linker, result.status));
    std::istringstream lines(result.output);
    for (std::string line; report.notes.size() < 8 && std::getline(lines, line);) report.note(line);
    return false;
  }
  diagnostics
      .file_error("artefact/linker", path, std::nullopt,
                  "no C compiler was found to link the machine code: tried cc, gcc, clang")
      .help(
          "install one (on Debian: apt install gcc libc6-dev), or run the model without an "
          "artefact");
  return false;
}

void append_file(OutputFile& out, const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || in.gcount() > 0) {
    out.write(buffer.data(), static_cast<uint64_t>(in.gcount()));
  }
}

/// Where a tensor's items are put.
nnef_runtime::ParameterSpec append_tensor(OutputFile& out, nnef_runtime::TensorSpec spec,
                                          const ffi::Tensor& tensor) {
  out.pad_to(nnef_runtime::kWeightAlignment);
  nnef_runtime::ParameterSpec stored;
  stored.tensor = std::move(spec);
  stored.offset = out.size();
  stored.bytes = ffi::GetDataSize(*tensor.GetDLTensorPtr());
  out.write(tensor.data_ptr(), stored.bytes);
  return stored;
}

void append_weights(OutputFile& out, const Compiled& compiled,
                    nnef_runtime::ArtefactMetadata& metadata) {
  out.pad_to(nnef_runtime::kWeightsPageAlignment);
  for (const nnef_runtime::StateSpec& state : compiled.states) {
    metadata.states.push_back({append_tensor(out, state.tensor, state.initial), state.label});
  }
  for (size_t i = 0; i < compiled.parameters.size(); ++i) {
    const ffi::Tensor& tensor = compiled.parameters[i];
    ffi::ShapeView shape = tensor.shape();
    metadata.parameters.push_back(append_tensor(
        out, {compiled.parameter_names[i], tensor.dtype(), {shape.begin(), shape.end()}}, tensor));
  }
}

/// The library, the weights, the metadata and the footer.
bool assemble(const Compiled& compiled, const std::string& library, const std::string& path,
              nnef::Diagnostics& diagnostics) {
  OutputFile out(path);
  nnef_runtime::ArtefactFooter footer{};
  append_file(out, library);
  footer.library_bytes = out.size();

  nnef_runtime::ArtefactMetadata metadata;
  metadata.target_json = compiled.target_json;
  metadata.cpu_features = compiled.cpu_features;
  metadata.inputs = compiled.inputs;
  metadata.outputs = compiled.outputs;
  metadata.conditions = compiled.conditions;
  metadata.program = compiled.program;
  append_weights(out, compiled, metadata);

  std::string text = nnef_runtime::metadata_to_json(metadata);
  footer.metadata_offset = out.size();
  footer.metadata_bytes = text.size();
  footer.metadata_crc32 = nnef_runtime::crc32(text);
  out.write(text.data(), text.size());

  footer.file_bytes = out.size() + sizeof(footer);
  footer.format = nnef_runtime::kArtefactFormat;
  std::memcpy(footer.magic, nnef_runtime::kArtefactMagic, sizeof(footer.magic));
  out.write(&footer, sizeof(footer));
  if (out.commit()) return true;
  diagnostics.file_error("artefact/write", path, std::nullopt,
                         fmt::format("cannot write: {}", std::strerror(out.error())));
  return false;
}

}  // namespace

bool write_artefact(const Compiled& compiled, const std::string& path,
                    nnef::Diagnostics& diagnostics) {
  TemporaryFolder folder;
  if (folder.path().empty()) {
    diagnostics.file_error("artefact/write", path, std::nullopt,
                           fmt::format("cannot make a temporary folder: {}", std::strerror(errno)));
    return false;
  }
  std::string library = (folder.path() / "library.so").string();
  try {
    std::vector<std::string> objects = write_objects(compiled, folder.path());
    return link(objects, folder.path(), library, path, diagnostics) &&
           assemble(compiled, library, path, diagnostics);
  } catch (const ffi::Error& error) {
    diagnostics.file_error(
        "artefact/write", path, std::nullopt,
        fmt::format("TVM could not write the machine code: {}", nnef_runtime::first_line(error)));
    return false;
  }
}

}  // namespace nnef_tvm
