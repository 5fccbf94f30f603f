#include "compile/kernels/kernels.h"

#include "compile/kernels/kernel_call.h"

namespace nnef_tvm {

Map<String, ffi::Function> legalisation_map() {
  Map<String, ffi::Function> functions;
  for (const auto& family : {elementwise_kernels(), reduce_kernels(), window_kernels(),
                             resample_kernels(), movement_kernels(), linear_kernels()}) {
    for (const LegalisationRow& row : family) {
      const auto legalise = [legalise = row.legalise](ObjectRef builder, Expr call) {
        return has_known_types(call) ? legalise(builder, call) : call;
      };
      functions.Set(String(std::string(row.op)), ffi::Function::FromTyped(legalise));
    }
  }
  return functions;
}

}  // namespace nnef_tvm
