// Legalisation: a kernel in TE for each Relax operator (TVM's own legalisations are Python and not
// in this process).
#pragma once

#include <span>
#include <string_view>

#include "tvm/object.h"

namespace nnef_tvm {

/// Returns the replacement of a Relax call: usually call_tir of a PrimFunc added through `builder`,
/// else an expression of other Relax operators. The call itself when it cannot be legalised.
using Legalisation = Expr (*)(ObjectRef builder, Expr call);

struct LegalisationRow {
  std::string_view op;  ///< "relax.nn.conv2d"
  Legalisation legalise;
};

std::span<const LegalisationRow> elementwise_kernels();
std::span<const LegalisationRow> reduce_kernels();
std::span<const LegalisationRow> window_kernels();
std::span<const LegalisationRow> resample_kernels();
std::span<const LegalisationRow> movement_kernels();
std::span<const LegalisationRow> linear_kernels();

/// Map<String, Function> of all rows, for relax.transform.LegalizeOps.
Map<String, ffi::Function> legalisation_map();

}  // namespace nnef_tvm
