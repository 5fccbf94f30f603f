// devices: what models can run on here.
#include <fmt/format.h>

#include <thread>

#include "commands.h"
#include "nnef_runtime/devices.h"
#include "tvm/target.h"

namespace nnefc {
namespace {

std::string types(const nnef_runtime::DeviceInfo& device) {
  std::string names = "float32";
  for (const auto& [name, present] : {std::pair{"float16", device.float16},
                                      {"float64", device.float64},
                                      {"int64", device.int64},
                                      {"int8", device.int8}}) {
    if (present) names += std::string(", ") + name;
  }
  return names;
}

void print(const nnef_runtime::DeviceInfo& device) {
  fmt::print("{}:{}  usable: {}, {}\n", device.kind, device.index, device.name, device.driver);
  fmt::print("          groups of {} threads that share {} KiB, {} compute units, {} MiB; {}\n",
             device.max_threads, device.shared_bytes >> 10, device.compute_units,
             device.memory_bytes >> 20, types(device));
}

}  // namespace

int devices() {
  nnef::Diagnostics diagnostics;
  if (!nnef_tvm::load_compiler(diagnostics)) {
    report(diagnostics);
    return kFault;
  }
  fmt::print("llvm      usable: {}, {} threads\n", nnef_tvm::host_cpu_name(),
             std::thread::hardware_concurrency());
  for (const std::string_view kind : nnef_runtime::device_kinds()) {
    const nnef_runtime::DeviceList list = nnef_runtime::list_devices(kind);
    for (const nnef_runtime::DeviceInfo& device : list.devices) print(device);
    if (!list.devices.empty()) continue;
    fmt::print("{:9} not usable: {}\n          {}\n", kind, list.problem, list.help);
  }
  return kDone;
}

}  // namespace nnefc
