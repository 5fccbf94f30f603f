// Which device to compile for.
#pragma once

#include <optional>
#include <string>

#include "nnef/diagnostic.h"
#include "nnef_runtime/devices.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// Whether a target is of a kind that runs on devices, with kernels.
bool is_device_target(const Target& target);

/// What TVM may know of a device when it lowers kernels: where only the driver knows how many
/// threads run in step, nothing may rest on it.
Target lowering_target(const Target& target);

/// A device of this machine as a target, with its limits.
Target device_target(const nnef_runtime::DeviceInfo& device);

/// A target of any kind: "llvm", "opencl", "opencl:1" (a device of this machine), "cuda:sm_90" (an
/// architecture), or TVM's JSON. Reports "compile/target" and "device/...".
struct ChosenTarget {
  Target target;
  std::optional<nnef_runtime::DeviceInfo> device;  ///< when one was named
};
std::optional<ChosenTarget> choose_any_target(const std::string& text,
                                              nnef::Diagnostics& diagnostics);

/// Whether the device has all item types of tensors that the module's kernels use; reports
/// "compile/device-type" otherwise.
bool check_item_types(const IRModule& kernels, const nnef_runtime::DeviceInfo& device,
                      nnef::Diagnostics& diagnostics);

}  // namespace nnef_tvm
