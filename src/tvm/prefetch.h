// Fetching what a loop reads later into the second cache while it computes.
#pragma once

#include "tvm/object.h"

namespace nnef_tvm {

/// Annotates a loop over tiles of a reduction: each of its iterations begins by fetching so many
/// items...
inline constexpr const char* kPrefetchItems = "nnef_tvm.prefetch_items";
/// ...of those that come so many after the first vector that the reduction reads...
inline constexpr const char* kPrefetchAhead = "nnef_tvm.prefetch_ahead";
/// ...and so many more for each iteration of this loop, which is the same one or one around it.
inline constexpr const char* kPrefetchStep = "nnef_tvm.prefetch_step";

/// Puts prefetches into annotated loops of kernels whose vectors are vectors already and whose
/// buffers are flat. What is fetched may lie outside of the buffer.
IRModule insert_prefetches(const IRModule& module);

}  // namespace nnef_tvm
