// What fusion put together.
#pragma once

#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

/// A call that becomes one call of a kernel.
struct FusionGroup {
  std::string kernel;                ///< the name of the kernel, or what it begins with
  std::vector<std::string> members;  ///< the variables of the calls that were fused, in order
};

/// The groups of the fused function, in the order of its calls. FuseOps drops names, and calls that
/// look alike share one function: members are found again by what they call and what they use.
std::vector<FusionGroup> fusion_groups(const IRModule& before, const IRModule& after,
                                       const std::string& entry);

}  // namespace nnef_tvm
