// What tvm-ffi's errors say, in one line.
#pragma once

#include <tvm/ffi/error.h>

#include <string>

namespace nnef_runtime {

/// The kind and the first line that says anything.
inline std::string first_line(const ::tvm::ffi::Error& error) {
  std::string message = error.message();
  size_t begin = message.find_first_not_of(" \n\t");
  if (begin == std::string::npos) return error.kind();
  return error.kind() + ": " + message.substr(begin, message.find('\n', begin) - begin);
}

}  // namespace nnef_runtime
