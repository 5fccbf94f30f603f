// Kernels that move items without computing.
#pragma once

#include "compile/kernels/kernel_call.h"

namespace nnef_tvm {

// Of whole tensors.
Expr broadcast_to(ObjectRef builder, Expr call);
Expr concat(ObjectRef builder, Expr call);
Expr flip(ObjectRef builder, Expr call);
Expr layout_transform(ObjectRef builder, Expr call);
Expr pad(ObjectRef builder, Expr call);
Expr permute_dims(ObjectRef builder, Expr call);
Expr pixel_shuffle(ObjectRef builder, Expr call);
Expr repeat(ObjectRef builder, Expr call);
/// Also flatten: any operator that keeps the items in row-major order.
Expr reshape(ObjectRef builder, Expr call);
Expr split(ObjectRef builder, Expr call);
Expr stack(ObjectRef builder, Expr call);
Expr strided_slice(ObjectRef builder, Expr call);
Expr tile(ObjectRef builder, Expr call);

// By indices that are tensors.
Expr gather_elements(ObjectRef builder, Expr call);
Expr gather_nd(ObjectRef builder, Expr call);
Expr one_hot(ObjectRef builder, Expr call);
Expr scatter_elements(ObjectRef builder, Expr call);
Expr scatter_nd(ObjectRef builder, Expr call);
Expr take(ObjectRef builder, Expr call);

// From nothing, or from shapes.
Expr arange(ObjectRef builder, Expr call);
Expr eye(ObjectRef builder, Expr call);
Expr full(ObjectRef builder, Expr call);
Expr ones(ObjectRef builder, Expr call);
Expr zeros(ObjectRef builder, Expr call);
Expr tril(ObjectRef builder, Expr call);
Expr triu(ObjectRef builder, Expr call);

}  // namespace nnef_tvm
