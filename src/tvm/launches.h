// What the host does for a function whose kernels run on a device: which buffers it makes, and
// which kernels it starts on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

struct KernelArgument {
  Var buffer;  ///< undefined for numbers
  double number = 0;
};

struct KernelLaunch {
  std::string kernel;
  std::vector<KernelArgument> arguments;
  std::vector<std::string> tags;  ///< "blockIdx.x", ...
  std::vector<int64_t> extents;   ///< one for each tag
};

struct HostPlan {
  std::vector<Var> params;
  std::vector<Var> temporaries;  ///< buffers that live while the function runs
  std::vector<KernelLaunch> launches;
};

/// Of the host's half of a function after tirx.transform.SplitHostDevice. Nullopt when the host
/// does anything else, as it does for extents that are not known.
std::optional<HostPlan> host_plan(const Expr& host);

/// Items of a buffer.
struct BufferSpec {
  DLDataType dtype{};
  std::vector<int64_t> shape;  ///< 0 for symbolic extents
};
BufferSpec buffer_spec(const Var& buffer);

}  // namespace nnef_tvm
