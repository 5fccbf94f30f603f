// Arithmetic on indices.
#pragma once

#include <span>

#include "tvm/te.h"

namespace nnef_tvm {

/// A shape of known extents.
te::Shape te_shape(std::span<const int64_t> extents);

/// Whether two extents are known to be equal.
bool same_extent(const PrimExpr& a, const PrimExpr& b);

/// The place of an item in row-major order, and back.
PrimExpr ravel(const te::Indices& indices, const te::Shape& shape);
te::Indices unravel(const PrimExpr& position, const te::Shape& shape);

/// Where an item of a tensor of shape `to` is found in the same items laid out as `from`. Divides
/// only where axes are really merged or cut.
te::Indices reshaped(const te::Indices& indices, const te::Shape& to, const te::Shape& from);

/// An index brought inside an axis: negative ones count from the end, and those beyond are clipped.
PrimExpr inside(const PrimExpr& index, const PrimExpr& extent);

}  // namespace nnef_tvm
