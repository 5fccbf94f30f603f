// Matrix products and normalisations.
#pragma once

#include "compile/kernels/kernel_call.h"

namespace nnef_tvm {

Expr matmul(ObjectRef builder, Expr call);

Expr batch_norm(ObjectRef builder, Expr call);
Expr group_norm(ObjectRef builder, Expr call);
Expr instance_norm(ObjectRef builder, Expr call);
Expr layer_norm(ObjectRef builder, Expr call);
Expr rms_norm(ObjectRef builder, Expr call);

}  // namespace nnef_tvm
