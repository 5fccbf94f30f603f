// Which plans are worth a measurement.
#pragma once

#include <vector>

#include "compile/schedule/cpu/plan.h"

namespace nnef_tvm {

/// The cost rule's plan, with all that it chose, then what the rule holds for next best: at most
/// `limit` in all.
std::vector<KernelPlan> first_candidates(const KernelChoices& choices, size_t limit);

/// Plans that differ from a good one in what the rule does not rate: other orders of loops, how
/// many pieces run in parallel, the vectors of loops without reductions. Not all are possible.
std::vector<KernelPlan> variations(const KernelPlan& plan, const KernelChoices& choices,
                                   size_t limit);

}  // namespace nnef_tvm
