// Tensor constants become parameters, so that an executable holds code alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

struct HoistedConstants {
  IRModule module;                 ///< the entry takes the constants after its other parameters
  std::vector<std::string> names;  ///< of these parameters
  std::vector<ffi::Tensor> values;
};

enum class Hoist : uint8_t { kAll, kArrays };  ///< kArrays: those of more than one item

HoistedConstants hoist_constants(const IRModule& module, const std::string& entry,
                                 Hoist which = Hoist::kAll);

}  // namespace nnef_tvm
