#include "compile/device_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "compile/cpu_target.h"
#include "compile/cuda.h"
#include "tvm/ir_module.h"
#include "tvm/target.h"

namespace nnef_tvm {

namespace {

/// Kinds of TVM's that have kernels and a schedule here.
constexpr std::array<std::string_view, 3> kDeviceKinds = {"opencl", "vulkan", "cuda"};

/// More threads in a group than this do not help, and some drivers then lack registers.
constexpr int64_t kMostThreads = 1024;
/// What kernels share at most: every device has it.
constexpr int64_t kMostSharedBytes = 16 << 10;
/// Where TVM has no such number for a device whose threads run in step.
constexpr int64_t kCommonWarp = 32;

struct ItemType {
  DLDataType type;
  const char* name;
  bool nnef_runtime::DeviceInfo::*present;
};

constexpr std::array<ItemType, 7> kOptionalTypes = {{
    {{kDLFloat, 16, 1}, "float16", &nnef_runtime::DeviceInfo::float16},
    {{kDLFloat, 64, 1}, "float64", &nnef_runtime::DeviceInfo::float64},
    {{kDLInt, 64, 1}, "int64", &nnef_runtime::DeviceInfo::int64},
    {{kDLUInt, 64, 1}, "uint64", &nnef_runtime::DeviceInfo::int64},
    {{kDLInt, 8, 1}, "int8", &nnef_runtime::DeviceInfo::int8},
    {{kDLUInt, 8, 1}, "uint8", &nnef_runtime::DeviceInfo::int8},
    {{kDLBool, 8, 1}, "boolean", &nnef_runtime::DeviceInfo::int8},
}};

bool is_same_kind(DLDataType a, DLDataType b) { return a.code == b.code && a.bits == b.bits; }

}  // namespace

bool is_device_target(const Target& target) {
  return std::find(kDeviceKinds.begin(), kDeviceKinds.end(), target_kind(target)) !=
         kDeviceKinds.end();
}

Target lowering_target(const Target& target) {
  return target_kind(target) == "cuda" ? target : with_attr(target, "thread_warp_size", 1);
}

Target device_target(const nnef_runtime::DeviceInfo& device) {
  const int64_t threads = std::min(device.max_threads, kMostThreads);
  if (device.kind == "cuda") return cuda::target_for(device.architecture);
  return make_target(
      {{"kind", String(device.kind)},
       {"max_num_threads", threads},
       {"max_threads_per_block", threads},
       {"thread_warp_size", device.fast_shared ? kCommonWarp : int64_t{1}},
       {"max_shared_memory_per_block", std::min(device.shared_bytes, kMostSharedBytes)}});
}

namespace {

/// "cuda:sm_90", or "cuda" where no device says which architecture: nothing but nvcc is needed.
std::optional<Target> architecture_target(const std::string& text) {
  constexpr std::string_view kArchitecture = "cuda:sm_";
  if (text.starts_with(kArchitecture)) return cuda::target_for(text.substr(text.find(':') + 1));
  if (text == "cuda" && nnef_runtime::list_devices("cuda").devices.empty()) {
    return cuda::target_for(cuda::kCommonArchitecture);
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChosenTarget> choose_any_target(const std::string& text,
                                              nnef::Diagnostics& diagnostics) {
  if (const auto target = architecture_target(text)) return ChosenTarget{*target, std::nullopt};
  if (!nnef_runtime::device_kind(text).empty()) {
    auto device = nnef_runtime::find_device(text, diagnostics);
    if (!device) return std::nullopt;
    return ChosenTarget{device_target(*device), device};
  }
  auto target = choose_target(text, diagnostics);
  if (!target) return std::nullopt;
  // For what is compiled to be runnable, the plug-in must be there when it is built.
  if (is_device_target(*target)) nnef_runtime::list_devices(target_kind(*target));
  return ChosenTarget{*target, std::nullopt};
}

bool check_item_types(const IRModule& kernels, const nnef_runtime::DeviceInfo& device,
                      nnef::Diagnostics& diagnostics) {
  std::set<const char*> missing;
  const auto note = [&](const ObjectRef& type) -> ObjectRef {
    const auto dtype = field<DLDataType>(field<ObjectRef>(type, "dtype"), "dtype");
    for (const ItemType& row : kOptionalTypes) {
      if (is_same_kind(dtype, row.type) && !(device.*row.present)) missing.insert(row.name);
    }
    return type;
  };
  for (const NamedFunction& item : functions_of(kernels)) {
    if (is_prim_func(item.function)) replace_objects(item.function, "tirx.BufferType", note);
  }
  for (const char* name : missing) {
    diagnostics
        .error("compile/device-type", {},
               fmt::format("the model computes with {}, which {}:{} ({}) lacks", name, device.kind,
                           device.index, device.name))
        .help("choose another device ('nnefc devices' lists them), or --target llvm");
  }
  return missing.empty();
}

}  // namespace nnef_tvm
