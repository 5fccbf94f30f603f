// How much a call does.
#pragma once

#include <cstdint>

#include "tvm/object.h"

namespace nnef_tvm {

/// Floating-point operations of a call of a Relax operator of known types: two for a multiplication
/// with an addition of convolutions and products, one for an item of other results (of operands,
/// for reductions), none where items only move. Zero for what is no such call.
double work_of(const Expr& call);

/// The bytes of a call's tensors, arguments and results.
uint64_t bytes_of(const Expr& call);

}  // namespace nnef_tvm
