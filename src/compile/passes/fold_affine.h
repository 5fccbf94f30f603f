// Multiplications and additions of weights, folded into the weights of the linear operator before
// them.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// Multiplications (divisions, negations) of each output channel of a convolution, transposed or
/// not, or of a product of matrices, go into its weight; additions after it become one bias:
/// batch normalisation, in any of the forms that frontends write it, costs nothing then. Factors
/// that are one number also pass through operators that only move items. The results of the
/// operators must have no other use, and all factors and summands must depend on weights alone.
IRModule fold_affine(const IRModule& module);

}  // namespace nnef_tvm
