#include <array>
#include <string>

#include "compile/schedule/cpu/schedule.h"
#include "tvm/target.h"

namespace nnef_tvm {
namespace {

struct FeatureTraits {
  const char* feature;  ///< LLVM's name
  int vector_bytes;
  int vector_registers;
  int l1_bytes;
  int l2_bytes;
};

// The first that the target has.
constexpr std::array<FeatureTraits, 4> kFeatures = {{
    {"avx512f", 64, 32, 48 << 10, 1 << 20},
    {"avx2", 32, 16, 32 << 10, 512 << 10},
    {"avx", 32, 16, 32 << 10, 256 << 10},
    {"neon", 16, 32, 32 << 10, 512 << 10},
}};

}  // namespace

CpuTraits cpu_traits(const Target& target) {
  constexpr int kAssumedCores = 4;
  CpuTraits traits;
  for (const FeatureTraits& row : kFeatures) {
    if (!has_feature(target, row.feature)) continue;
    traits.vector_bytes = row.vector_bytes;
    traits.vector_registers = row.vector_registers;
    traits.l1_bytes = row.l1_bytes;
    traits.l2_bytes = row.l2_bytes;
    break;
  }
  const auto cores = target_attr(target, "num-cores").as<int64_t>();
  traits.cores = static_cast<int>(cores.value_or(kAssumedCores));
  return traits;
}

}  // namespace nnef_tvm
