#include "database_path.h"

#include <cstdlib>
#include <filesystem>

namespace nnefc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNone = "none";

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

}  // namespace

std::string database_path(const std::string& option) {
  if (!option.empty()) return option == kNone ? "" : option;
  if (const char* chosen = environment("NNEF_TVM_TUNING")) {
    return std::string(chosen) == kNone ? "" : chosen;
  }
  const fs::path file = fs::path("tvm-nnef") / "tuning.jsonl";
  if (const char* cache = environment("XDG_CACHE_HOME")) return (cache / file).string();
  if (const char* home = environment("HOME")) return (fs::path(home) / ".cache" / file).string();
  return "";
}

}  // namespace nnefc
