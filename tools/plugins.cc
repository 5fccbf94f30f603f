// Plug-ins: shared libraries that register operations.
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "commands.h"

namespace nnefc {

bool load_plugins(const std::vector<std::string>& files, nnef::Diagnostics& diagnostics) {
  static std::set<std::string> loaded;
  constexpr const char* kEntry = "nnef_register";
  using Register = bool (*)(nnef::Diagnostics&);
  for (const std::string& file : files) {
    if (loaded.contains(file)) continue;
    // A name without a slash would be looked for among the system's libraries.
    const std::string path = std::filesystem::absolute(file).string();
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      diagnostics.file_error("plugin/load", file, std::nullopt,
                             fmt::format("cannot load the plug-in: {}", dlerror()));
      return false;
    }
    const auto entry = reinterpret_cast<Register>(dlsym(library, kEntry));
    if (entry == nullptr) {
      diagnostics
          .file_error("plugin/entry", file, std::nullopt,
                      fmt::format("the library has no function '{}'", kEntry))
          .help("examples/custom-op shows a plug-in");
      return false;
    }
    if (!entry(diagnostics)) {
      diagnostics.file_error("plugin/register", file, std::nullopt,
                             "the plug-in could not register its operations");
      return false;
    }
    loaded.insert(file);
  }
  return true;
}

}  // namespace nnefc
