// Files of what drivers compiled, kept from one process to the next. A cache: whatever goes wrong,
// the work is done anew.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nnef_plugin {

/// A folder of $NNEF_CACHE_DIR, else of $XDG_CACHE_HOME/tvm-nnef, else of ~/.cache/tvm-nnef; none
/// of them when $NNEF_CACHE_DIR is empty text or there is no home.
class FileCache {
 public:
  explicit FileCache(const char* folder);

  /// What was stored under the same key, which may be long: files hold all of it.
  std::optional<std::string> find(std::string_view key) const;
  /// Replaces what is there. Of many files, the oldest go.
  void store(std::string_view key, std::string_view value) const;

 private:
  std::string path(std::string_view key) const;
  void remove_oldest() const;

  std::string folder_;  ///< empty: no cache
};

}  // namespace nnef_plugin
