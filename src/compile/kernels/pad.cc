// Padding by a constant, or by items of the tensor itself.
#include <algorithm>

#include "compile/kernels/movement.h"
#include "compile/kernels/window.h"

namespace nnef_tvm {
namespace {

/// Where an index outside of [0, extent) takes its item from.
using Wrap = PrimExpr (*)(const PrimExpr& index, const PrimExpr& extent);

PrimExpr nearest_item(const PrimExpr& index, const PrimExpr& extent) {
  return max(min(index, extent - 1), 0);
}

PrimExpr around(const PrimExpr& index, const PrimExpr& extent) { return floormod(index, extent); }

/// Mirrored at the border items, which are not repeated.
PrimExpr reflected(const PrimExpr& index, const PrimExpr& extent) {
  const PrimExpr period = max(2 * (extent - 1), 1);
  const PrimExpr place = floormod(index, period);
  return min(place, period - place);
}

/// Mirrored at the borders, so that border items are repeated.
PrimExpr mirrored(const PrimExpr& index, const PrimExpr& extent) {
  const PrimExpr place = floormod(index, 2 * extent);
  return min(place, 2 * extent - 1 - place);
}

struct Mode {
  std::string_view name;
  Wrap wrap;
};

constexpr Mode kModes[] = {
    {"circular", around}, {"edge", nearest_item},      {"reflect", reflected},
    {"wrap", around},     {"replicate", nearest_item}, {"symmetric", mirrored},
};

}  // namespace

Expr pad(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const std::vector<int64_t> width = kernel.integers("pad_width");
  const std::string name = kernel.text("pad_mode");
  const te::Tensor x = kernel.input(0);
  if (name == "constant") {
    std::vector<Padding> paddings;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
      paddings.push_back({axis, int_imm(width[2 * axis]), int_imm(width[2 * axis + 1])});
    }
    const te::Tensor padded = pad_stage(x, paddings, number(kernel.real("pad_value"), x.dtype()));
    return padded.handle().same_as(x.handle()) ? kernel.arg(0) : kernel.finish(padded);
  }
  const auto* mode = std::find_if(std::begin(kModes), std::end(kModes),
                                  [&](const Mode& candidate) { return candidate.name == name; });
  if (mode == std::end(kModes)) return call;
  return kernel.finish(te::compute(kernel.shape(), "pad_" + name, [&](te::Indices i) {
    for (size_t axis = 0; axis < x.rank(); ++axis) {
      if (width[2 * axis] == 0 && width[2 * axis + 1] == 0) continue;
      i[axis] = mode->wrap(i[axis] - width[2 * axis], x.extent(axis));
    }
    return x(i);
  }));
}

}  // namespace nnef_tvm
