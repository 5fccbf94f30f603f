// The devices that models can run on besides the CPU. Each kind of device has a plug-in for TVM's
// runtime, which is loaded when it is first asked for.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnef/diagnostic.h"

namespace nnef_runtime {

struct DeviceInfo {
  std::string kind;  ///< "opencl"
  int index = 0;     ///< among the devices of the kind
  std::string name;
  std::string driver;
  std::string architecture;  ///< of CUDA's devices: "sm_90"
  int64_t max_threads = 0;   ///< of a group
  int64_t shared_bytes = 0;  ///< memory that a group shares
  bool fast_shared = false;  ///< whether that is faster than other memory
  int64_t memory_bytes = 0;
  int64_t compute_units = 0;
  int64_t vector_floats = 0;  ///< of its vector registers, where kernels have such; 0 when unknown
  bool float16 = false;
  bool float64 = false;
  bool int64 = false;
  bool int8 = false;
};

struct DeviceList {
  std::vector<DeviceInfo> devices;
  std::string problem;  ///< why there are none
  std::string help;     ///< what to do about it
};

/// "opencl"; in the order in which they are listed.
std::span<const std::string_view> device_kinds();

/// Loads the plug-in of a kind, and libtvm_runtime.
DeviceList list_devices(std::string_view kind);

/// A device by "KIND", "KIND:INDEX" or "KIND:NAME", where a part of the name will do. Reports
/// "device/..." with what there is instead.
std::optional<DeviceInfo> find_device(const std::string& text, nnef::Diagnostics& diagnostics);

/// "opencl" of "opencl:1"; empty when the text does not begin with a kind of device.
std::string_view device_kind(std::string_view text);

}  // namespace nnef_runtime
