// exp, log, tanh, erf, sigmoid and pow of 32-bit floats as arithmetic, in place of calls of the C
// library: straight code that becomes vectors.
#pragma once

#include "tvm/te.h"

namespace nnef_tvm {

// At most a few units in the last place from the true value, everywhere: infinities, zeros,
// subnormal operands and results, and what is not a number included. Of float32, or vectors of it.
PrimExpr exp_float32(const PrimExpr& x);
PrimExpr log_float32(const PrimExpr& x);
PrimExpr tanh_float32(const PrimExpr& x);
PrimExpr erf_float32(const PrimExpr& x);
PrimExpr sigmoid_float32(const PrimExpr& x);
/// As C's powf: computed in 64 bits, since the exponent multiplies the logarithm's error.
PrimExpr pow_float32(const PrimExpr& base, const PrimExpr& exponent);

/// What C's powf makes of a base and an exponent, given the power of the base's magnitude.
PrimExpr pow_of_magnitude(const PrimExpr& base, const PrimExpr& exponent,
                          const PrimExpr& magnitude);

/// Makes these the meaning of TVM's functions in LLVM code, for float32; other types keep theirs.
/// TVM's tables of such rules are of the whole process. Once is enough.
void register_transcendentals();

}  // namespace nnef_tvm
