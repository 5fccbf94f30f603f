#include "nnef_runtime/devices.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>
#include <tvm/runtime/device_api.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "nnef_runtime/session.h"
#include "runtime/error_text.h"
#include "runtime/tvm_library.h"

namespace nnef_runtime {

namespace {

namespace ffi = ::tvm::ffi;

struct Kind {
  std::string_view name;
  const char* plugin;
  const char* lister;  ///< the global function that the plug-in has; none for TVM's own plug-in
  const char* help;
};

constexpr std::array<Kind, 3> kKinds = {{
    {"opencl", "libtvm_runtime_opencl.so", "nnef.devices.opencl",
     "install a driver; on Debian for CPUs: apt install pocl-opencl-icd"},
    {"vulkan", "libtvm_runtime_vulkan.so", "nnef.devices.vulkan",
     "install a driver; on Debian for CPUs and many GPUs: apt install libvulkan1 "
     "mesa-vulkan-drivers"},
    {"cuda", "libtvm_runtime_cuda.so", nullptr,
     "to run: an NVIDIA GPU, its driver and the CUDA 13 runtime (libcudart.so.13); compiling, for "
     "cuda:sm_80 and the like, needs only nvcc"},
}};

constexpr std::array<std::string_view, kKinds.size()> kNames = [] {
  std::array<std::string_view, kKinds.size()> names;
  for (size_t i = 0; i < kKinds.size(); ++i) names[i] = kKinds[i].name;
  return names;
}();

const Kind* find_kind(std::string_view name) {
  const auto found =
      std::find_if(kKinds.begin(), kKinds.end(), [&](const Kind& k) { return k.name == name; });
  return found == kKinds.end() ? nullptr : found;
}

/// The folders to search: $NNEF_PLUGIN_PATH, that of the program or library that this code is in,
/// the one known when this was built.
std::vector<std::string> plugin_folders() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("NNEF_PLUGIN_PATH"); path != nullptr && *path != 0) {
    folders.emplace_back(path);
  }
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&device_kinds), &self) != 0) {
    const std::string file = self.dli_fname;
    const size_t slash = file.rfind('/');
    if (slash != std::string::npos) folders.push_back(file.substr(0, slash));
  }
  folders.emplace_back(NNEF_PLUGIN_DIR);
  return folders;
}

/// Why the plug-in could not be loaded; empty when it was.
std::string load_plugin(const Kind& kind) {
  nnef::Diagnostics diagnostics;
  if (!load_tvm_runtime(diagnostics)) return diagnostics.items().front().message;
  std::string reason;
  for (const std::string& folder :
       kind.lister == nullptr ? tvm_library_folders(NNEF_TVM_LIBRARY_DIR) : plugin_folders()) {
    const std::string path = folder + "/" + kind.plugin;
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return "";
    // That a folder has no such file says less than what the file lacks that another one has.
    const std::string problem = dlerror();
    if (reason.empty() || !problem.starts_with(path)) reason = problem;
  }
  return reason;
}

DeviceInfo read_device(const nlohmann::json& object, const Kind& kind, int index) {
  DeviceInfo device;
  device.kind = kind.name;
  device.index = index;
  object.at("name").get_to(device.name);
  object.at("driver").get_to(device.driver);
  object.at("max_threads").get_to(device.max_threads);
  object.at("shared_bytes").get_to(device.shared_bytes);
  object.at("fast_shared").get_to(device.fast_shared);
  object.at("memory_bytes").get_to(device.memory_bytes);
  object.at("compute_units").get_to(device.compute_units);
  object.at("vector_floats").get_to(device.vector_floats);
  object.at("float16").get_to(device.float16);
  object.at("float64").get_to(device.float64);
  object.at("int64").get_to(device.int64);
  object.at("int8").get_to(device.int8);
  return device;
}

/// Those of TVM's plug-in, which has no list.
std::vector<DeviceInfo> cuda_devices() {
  static const ffi::Function attribute = ffi::Function::GetGlobalRequired("runtime.GetDeviceAttr");
  std::vector<DeviceInfo> devices;
  for (int index = 0;; ++index) {
    const auto ask = [&](tvm::runtime::DeviceAttrKind kind) {
      return attribute(static_cast<int>(kDLCUDA), index, static_cast<int>(kind));
    };
    const auto exists = ask(tvm::runtime::kExist).as<int64_t>();
    if (!exists || *exists == 0) return devices;
    DeviceInfo device;
    device.kind = "cuda";
    device.index = index;
    device.name = ask(tvm::runtime::kDeviceName).cast<ffi::String>();
    std::string version = ask(tvm::runtime::kComputeVersion).cast<ffi::String>();
    std::erase(version, '.');
    device.architecture = "sm_" + version;
    device.driver = device.architecture;
    device.max_threads = ask(tvm::runtime::kMaxThreadsPerBlock).cast<int64_t>();
    device.shared_bytes = ask(tvm::runtime::kMaxSharedMemoryPerBlock).cast<int64_t>();
    device.fast_shared = true;
    device.memory_bytes = ask(tvm::runtime::kTotalGlobalMemory).as<int64_t>().value_or(0);
    device.compute_units = ask(tvm::runtime::kMultiProcessorCount).cast<int64_t>();
    device.float16 = device.float64 = device.int64 = device.int8 = true;
    devices.push_back(device);
  }
}

DeviceList ask_plugin(const Kind& kind) {
  DeviceList list;
  list.help = kind.help;
  if (std::string reason = load_plugin(kind); !reason.empty()) {
    list.problem = fmt::format("the plug-in cannot be loaded: {}", reason);
    if (kind.lister == nullptr) return list;
    list.help = fmt::format(
        "{} stands beside nnefc when both are built; name its folder in NNEF_PLUGIN_PATH",
        kind.plugin);
    return list;
  }
  try {
    if (kind.lister == nullptr) {
      list.devices = cuda_devices();
      if (list.devices.empty()) list.problem = "the driver finds no GPU";
      return list;
    }
    const auto text = ffi::Function::GetGlobalRequired(kind.lister)().cast<ffi::String>();
    const auto object = nlohmann::json::parse(std::string(text));
    object.at("problem").get_to(list.problem);
    for (const auto& device : object.at("devices")) {
      list.devices.push_back(read_device(device, kind, static_cast<int>(list.devices.size())));
    }
  } catch (const ffi::Error& error) {
    list.problem = first_line(error);
  }
  return list;
}

bool contains(std::string_view text, std::string_view part) {
  const auto same = [](unsigned char a, unsigned char b) {
    return std::tolower(a) == std::tolower(b);
  };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

std::optional<int> to_index(std::string_view text) {
  int index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

}  // namespace

std::span<const std::string_view> device_kinds() { return kNames; }

std::string_view device_kind(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  return find_kind(name) == nullptr ? std::string_view() : name;
}

DeviceList list_devices(std::string_view name) {
  const Kind* kind = find_kind(name);
  if (kind == nullptr) return {{}, fmt::format("there is no kind of device '{}'", name), ""};
  static std::mutex mutex;
  static auto& known = *new std::map<std::string_view, DeviceList>;
  const std::lock_guard lock(mutex);
  const auto found = known.find(kind->name);
  return found != known.end() ? found->second
                              : known.emplace(kind->name, ask_plugin(*kind)).first->second;
}

std::optional<DeviceInfo> find_device(const std::string& text, nnef::Diagnostics& diagnostics) {
  const std::string_view kind = device_kind(text);
  if (kind.empty()) {
    diagnostics.error("device/kind", {}, fmt::format("'{}' names no device", text))
        .help(fmt::format("devices are: {}", fmt::join(kNames, ", ")));
    return std::nullopt;
  }
  const DeviceList list = list_devices(kind);
  if (list.devices.empty()) {
    diagnostics.error("device/none", {}, fmt::format("no device for '{}': {}", text, list.problem))
        .help(list.help);
    return std::nullopt;
  }
  const std::string_view wanted =
      std::string_view(text).substr(std::min(text.size(), kind.size() + 1));
  if (wanted.empty()) return list.devices.front();
  const auto index = to_index(wanted);
  const auto found =
      std::find_if(list.devices.begin(), list.devices.end(), [&](const DeviceInfo& device) {
        return index ? device.index == *index : contains(device.name, wanted);
      });
  if (found != list.devices.end()) return *found;
  auto& report = diagnostics.error(
      "device/choice", {},
      fmt::format("no device '{}' among the {} of '{}'", wanted, list.devices.size(), kind));
  for (const DeviceInfo& device : list.devices) {
    report.note(fmt::format("{}:{} is {}", device.kind, device.index, device.name));
  }
  report.help(fmt::format("name one by its number or a part of its name, as in '{}:0'", kind));
  return std::nullopt;
}

}  // namespace nnef_runtime
