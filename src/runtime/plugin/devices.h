// What the plug-ins' lists of devices have in common.
#pragma once

#include <tvm/ffi/error.h>

#include <string>
#include <vector>

namespace nnef_plugin {

/// The device of that number; throws RuntimeError, with `problem` where there are none at all.
template <typename Device>
Device& device_at(const std::vector<Device*>& all, int index, const char* kind,
                  const std::string& problem) {
  if (index < 0 || static_cast<size_t>(index) >= all.size()) {
    TVM_FFI_THROW(RuntimeError) << "no " << kind << " device " << index << ": "
                                << (all.empty() ? problem
                                                : "there are " + std::to_string(all.size()));
  }
  return *all[static_cast<size_t>(index)];
}

}  // namespace nnef_plugin
