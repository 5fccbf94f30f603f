// Threads of TVM's runtime.
#pragma once

namespace nnef_runtime {

/// Physical cores that this process may use; at least 1.
int physical_cores();

/// $TVM_NUM_THREADS if set, else one for each physical core.
int default_threads();

/// Makes kernels that the calling thread starts use that many threads; 0: as default_threads()
/// says. With `pin`, each stays on a processor, of a core of its own as far as there are enough.
/// Needs libtvm_runtime. Throws tvm::ffi::Error.
void configure_threads(int threads, bool pin = false);

}  // namespace nnef_runtime
