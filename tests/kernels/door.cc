// Gives a Python process that imported tvm the kernels: both share the registry of tvm-ffi.
#include "compile/kernels/kernels.h"
#include "compile/kernels/transcendental.h"

extern "C" __attribute__((visibility("default"))) void nnef_register_kernels() {
  namespace ffi = tvm::ffi;
  ffi::Function::SetGlobal("nnef_tvm.testing.legalisations",
                           ffi::Function::FromTyped(nnef_tvm::legalisation_map),
                           /*can_override=*/true);
  nnef_tvm::register_transcendentals();
}
