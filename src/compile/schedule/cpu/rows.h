// Kernels that work along rows: what chains of them may become one kernel, which has each row in
// the cache (softmax, normalisations).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compile/schedule/cpu/block.h"
#include "compile/schedule/cpu/schedule.h"
#include "tvm/schedule.h"

namespace nnef_tvm {

/// The rows: what the last axes of a kernel's stages run over.
struct Rows {
  int64_t count;
  int64_t length;

  bool operator==(const Rows&) const = default;
};

/// The rows of a chain of stages with a reduction; nullopt when they are not of one kind, or when
/// each stage by itself occupies the cores better.
std::optional<Rows> rows_of(const std::vector<BlockInfo>& stages, const CpuTraits& traits);

/// The same for a whole function.
std::optional<Rows> rows_of(const PrimFunc& function, const CpuTraits& traits);

/// Whether a function without reductions has one result for each item of the rows or one for each
/// row.
bool runs_along(const PrimFunc& function, const Rows& rows);

}  // namespace nnef_tvm
