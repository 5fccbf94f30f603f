// Programs: OpenCL C built for a device, with the device's binaries kept on disk.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "runtime/opencl/device.h"

namespace nnef_opencl {

class Program {
 public:
  /// Throws tvm::ffi::Error with the driver's log when the source does not build.
  Program(Device& device, const std::string& source);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Use it under the device's launch_mutex(). Throws tvm::ffi::Error when there is none.
  cl_kernel kernel(const std::string& name);

 private:
  bool build_from_binary(const std::string& binary);
  void build_from_source(const std::string& source);
  std::string binary() const;
  std::string build_log() const;

  Device& device_;
  cl_program program_ = nullptr;
  std::mutex mutex_;
  std::map<std::string, cl_kernel> kernels_;
};

}  // namespace nnef_opencl
