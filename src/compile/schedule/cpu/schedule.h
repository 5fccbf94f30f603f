// CPU schedules: chosen for each fused PrimFunc by its structure and the target's properties.
#pragma once

#include <map>
#include <string>

#include "tvm/object.h"

namespace nnef_tvm {

/// What the schedules need to know of a CPU.
struct CpuTraits {
  int vector_bytes = 16;  ///< 16 (SSE, NEON), 32 (AVX2), 64 (AVX-512)
  int vector_registers = 16;
  int cores = 1;
  int l1_bytes = 32 << 10;
  int l2_bytes = 512 << 10;
};

/// From the target's attributes (mcpu, mattr, triple), not from the machine that compiles.
CpuTraits cpu_traits(const Target& target);

/// What becomes of weights whose layout does not suit the kernel.
enum class WeightLayout {
  kKeep,  ///< kernels take them as they are
  kPack,  ///< "main" calls kernels that lay them out anew; LiftTransformParams moves these calls to
          ///< compile time
};

/// Which 3 x 3 convolutions are computed by Winograd's minimal filtering.
enum class WinogradUse {
  kWherePays,
  kNever,
  kSmallTiles,  ///< all that can be, in tiles of 2 x 2 results
  kLargeTiles,  ///< all that can be, in tiles of 4 x 4 results
};

struct KernelPlan;
/// By kernel_key(); see plan.h.
using KernelPlans = std::map<std::string, KernelPlan>;

/// Schedules every PrimFunc of the module that is not scheduled yet: parallel, vectorised, tiled
/// reductions. A function that no rule takes gets the general rule; one that even that cannot take
/// stays as it is. With kPack, "main" must still be in dataflow form, with the attribute num_input.
IRModule schedule_cpu(IRModule module, const Target& target,
                      WeightLayout layout = WeightLayout::kKeep);
/// The same; functions that have a plan get that one instead of the cost rule's.
IRModule schedule_cpu(IRModule module, const Target& target, WeightLayout layout,
                      const KernelPlans& plans);

}  // namespace nnef_tvm
