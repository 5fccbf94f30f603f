// Tensor constants become parameters, so that an executable holds code alone.
#pragma once

#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

struct HoistedConstants {
  IRModule module;                 ///< the entry takes the constants after its other parameters
  std::vector<std::string> names;  ///< of these parameters
  std::vector<ffi::Tensor> values;
};

HoistedConstants hoist_constants(const IRModule& module, const std::string& entry);

}  // namespace nnef_tvm
