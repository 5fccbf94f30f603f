// Where TVM's libraries are looked for, the same for the compiler and the runtime.
#pragma once

#include <dlfcn.h>
#include <tvm/ffi/c_api.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "nnef/diagnostic.h"

namespace nnef_runtime {

/// The folders to search, in order: $NNEF_TVM_LIBRARY_PATH, that of the package tvm beside the
/// loaded tvm_ffi, the one known when this was built.
inline std::vector<std::string> tvm_library_folders(const char* build_time_folder) {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("NNEF_TVM_LIBRARY_PATH"); path != nullptr && *path != 0) {
    folders.emplace_back(path);
  }
  Dl_info ffi_library;
  if (dladdr(reinterpret_cast<void*>(&TVMFFIGetVersion), &ffi_library) != 0) {
    std::string folder = ffi_library.dli_fname;
    folder.erase(folder.find_last_of('/') == std::string::npos ? 0 : folder.find_last_of('/'));
    if (folder.empty()) folder = ".";
    folders.push_back(folder);
    folders.push_back(folder + "/../../tvm/lib");
  }
  folders.emplace_back(build_time_folder);
  return folders;
}

/// Loads `file` for the whole life of the process. Reports "tvm/load".
inline bool load_tvm_library(const char* file, const char* build_time_folder,
                             nnef::Diagnostics& diagnostics) {
  std::vector<std::string> reasons;
  for (const std::string& folder : tvm_library_folders(build_time_folder)) {
    if (dlopen((folder + "/" + file).c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return true;
    reasons.emplace_back(dlerror());
  }
  auto& report = diagnostics.error("tvm/load", {}, std::string("cannot load ").append(file));
  for (std::string& reason : reasons) report.note(std::move(reason));
  report.help(
      "install apache-tvm==0.27.0.post1 with apache-tvm-ffi==0.1.14.post1, or name the folder of "
      "its libraries in NNEF_TVM_LIBRARY_PATH");
  return false;
}

}  // namespace nnef_runtime
