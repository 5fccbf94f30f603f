// OpenCL's devices on this machine.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "runtime/opencl/api.h"

namespace nnef_opencl {

/// What a device is and can do.
struct Properties {
  std::string name;
  std::string vendor;
  std::string version;
  std::string driver;
  std::string platform;
  std::string platform_version;
  std::string extensions;
  cl_device_type type = 0;
  uint64_t max_group = 0;  ///< work-items of a group
  uint64_t local_bytes = 0;
  bool local_is_fast = false;  ///< memory of its own, not part of the global one
  uint64_t global_bytes = 0;
  uint64_t compute_units = 0;
  uint64_t vector_floats = 0;     ///< of a vector that is one instruction
  std::vector<size_t> max_items;  ///< of a group, by dimension

  bool has_extension(const std::string& extension) const;
};

/// A device with a context and a queue of its own, made when first asked for. All threads share the
/// queue, which keeps the order of what is put into it.
class Device {
 public:
  Device(cl_platform_id platform, cl_device_id id);

  const Properties& properties() const { return properties_; }
  cl_device_id id() const { return id_; }
  cl_context context();
  cl_command_queue queue();
  /// Held while a kernel's arguments are set and the kernel is enqueued: kernels keep their
  /// arguments, and threads share kernels.
  std::mutex& launch_mutex() { return launch_mutex_; }

 private:
  void start();

  cl_platform_id platform_;
  cl_device_id id_;
  Properties properties_;
  std::once_flag started_;
  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  std::mutex launch_mutex_;
};

/// The devices of all platforms: GPUs, then accelerators, then CPUs; within each kind in the order
/// of the platforms. The same for the life of the process.
const std::vector<Device*>& devices();
/// Why devices() is empty, if it is.
const std::string& devices_problem();
/// Throws tvm::ffi::Error when there is no such device.
Device& device(int index);

/// Memory of a device, as TVM's tensors hold it.
struct Buffer {
  cl_mem memory;
  Device* device;
  size_t bytes;
};

}  // namespace nnef_opencl
