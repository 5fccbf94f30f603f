// What this machine could do at most.
#pragma once

namespace nnef_runtime {

/// GFLOP/s of float32 multiplications with additions in registers, measured on so many threads (0:
/// as default_threads() says) for a few hundredths of a second.
double measured_peak(int threads);

}  // namespace nnef_runtime
