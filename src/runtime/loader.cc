#include <mutex>

#include "nnef_runtime/session.h"
#include "runtime/tvm_library.h"

namespace nnef_runtime {

bool load_tvm_runtime(nnef::Diagnostics& diagnostics) {
  static std::mutex mutex;
  static bool loaded = false;
  std::lock_guard lock(mutex);
  if (!loaded) loaded = load_tvm_library("libtvm_runtime.so", NNEF_TVM_LIBRARY_DIR, diagnostics);
  return loaded;
}

}  // namespace nnef_runtime
