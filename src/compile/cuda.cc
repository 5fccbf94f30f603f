#include "compile/cuda.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "compile/files.h"
#include "tvm/target.h"

namespace nnef_tvm::cuda {

namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) { return access(path.c_str(), X_OK) == 0; }

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string first_error(const std::string& output) {
  std::istringstream lines(output);
  std::string first;
  for (std::string line; std::getline(lines, line);) {
    if (first.empty()) first = line;
    if (line.find("error") != std::string::npos) return line;
  }
  return first;
}

}  // namespace

std::string architecture(const Target& target) {
  const auto arch = target_attr(target, "arch").as<String>();
  return arch ? std::string(*arch) : kCommonArchitecture;
}

Target target_for(const std::string& architecture) {
  // What every device of sm_50 and later has; TVM's own numbers for CUDA are the same.
  return make_target({{"kind", String("cuda")},
                      {"arch", String(architecture)},
                      {"max_num_threads", int64_t{1024}},
                      {"max_threads_per_block", int64_t{1024}},
                      {"thread_warp_size", int64_t{32}},
                      {"max_shared_memory_per_block", int64_t{48 << 10}}});
}

std::optional<std::string> find_nvcc() {
  std::vector<fs::path> folders;
  if (const char* home = std::getenv("CUDA_HOME"); home != nullptr && *home != 0) {
    folders.push_back(fs::path(home) / "bin");
  } else {
    const char* path = std::getenv("PATH");
    std::istringstream list(path == nullptr ? "" : path);
    for (std::string folder; std::getline(list, folder, ':');) folders.emplace_back(folder);
    folders.emplace_back("/usr/local/cuda/bin");
  }
  for (const fs::path& folder : folders) {
    if (!folder.empty() && is_program(folder / "nvcc")) return (folder / "nvcc").string();
  }
  return std::nullopt;
}

bool check_toolkit(nnef::Diagnostics& diagnostics) {
  if (find_nvcc()) return true;
  diagnostics
      .error("compile/cuda-toolkit", {},
             "kernels for CUDA need nvcc, which is not in $CUDA_HOME/bin, or, without CUDA_HOME, "
             "neither in $PATH nor in /usr/local/cuda/bin")
      .help(
          "install the CUDA toolkit (on Debian: apt install nvidia-cuda-toolkit) or set CUDA_HOME; "
          "'nnefc compile --emit DIR' writes the kernels' CUDA C++ without it");
  return false;
}

std::string compile_to_cubin(const std::string& source, const std::string& architecture) {
  const auto nvcc = find_nvcc();
  const TemporaryFolder folder;
  if (!nvcc || folder.path().empty()) {
    TVM_FFI_THROW(RuntimeError) << (nvcc ? "no temporary folder" : "no nvcc");
  }
  const fs::path code = folder.path() / "kernels.cu";
  const fs::path cubin = folder.path() / "kernels.cubin";
  std::ofstream(code, std::ios::binary) << source;
  const ProcessResult result = run_process(
      {*nvcc, "-cubin", "-O3", "-arch=" + architecture, "-o", cubin.string(), code.string()},
      folder.path() / "nvcc.log");
  if (!result.started || result.status != 0) {
    TVM_FFI_THROW(DeviceLimit) << "nvcc refuses the kernels for " << architecture << ": "
                               << first_error(result.output);
  }
  return read_file(cubin);
}

}  // namespace nnef_tvm::cuda
