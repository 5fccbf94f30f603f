#include "tvm/indices.h"

#include <algorithm>

namespace nnef_tvm {

te::Shape te_shape(std::span<const int64_t> extents) {
  te::Shape shape;
  for (int64_t extent : extents) shape.push_back(int_imm(extent));
  return shape;
}

bool same_extent(const PrimExpr& a, const PrimExpr& b) {
  if (a.same_as(b)) return true;
  const auto known = known_int(a);
  return known && known == known_int(b);
}

PrimExpr ravel(const te::Indices& indices, const te::Shape& shape) {
  PrimExpr position = int_imm(0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    position = position * shape[axis] + indices[axis];
  }
  return position;
}

te::Indices unravel(const PrimExpr& position, const te::Shape& shape) {
  te::Indices indices(shape.size());
  PrimExpr rest = position;
  for (size_t axis = shape.size(); axis-- > 0;) {
    indices[axis] = axis == 0 ? rest : floormod(rest, shape[axis]);
    rest = floordiv(rest, shape[axis]);
  }
  return indices;
}

namespace {

/// Axes [from_begin, from_end) hold the same items as axes [to_begin, to_end).
struct Group {
  size_t from_begin;
  size_t from_end;
  size_t to_begin;
  size_t to_end;
};

/// The smallest group that starts at two axes, whose extents are not 1. What symbolic extents leave
/// unknown goes into one group to the end.
Group next_group(const te::Shape& from, const te::Shape& to, size_t i, size_t j) {
  Group group{i, i + 1, j, j + 1};
  PrimExpr from_count = from[i];
  PrimExpr to_count = to[j];
  while (!same_extent(from_count, to_count)) {
    const auto a = known_int(from_count);
    const auto b = known_int(to_count);
    if (a && b && *a < *b && group.from_end < from.size()) {
      from_count = from_count * from[group.from_end++];
    } else if (a && b && *a > *b && group.to_end < to.size()) {
      to_count = to_count * to[group.to_end++];
    } else {
      return {i, from.size(), j, to.size()};
    }
  }
  return group;
}

}  // namespace

te::Indices reshaped(const te::Indices& indices, const te::Shape& to, const te::Shape& from) {
  te::Indices result(from.size(), int_imm(0));
  size_t i = 0;
  size_t j = 0;
  while (i < from.size() && j < to.size()) {
    if (is_known(from[i], 1)) {
      ++i;
      continue;
    }
    if (is_known(to[j], 1)) {
      ++j;
      continue;
    }
    const Group group = next_group(from, to, i, j);
    const auto part = [](const std::vector<PrimExpr>& list, size_t begin, size_t end) {
      return std::vector<PrimExpr>(list.begin() + static_cast<std::ptrdiff_t>(begin),
                                   list.begin() + static_cast<std::ptrdiff_t>(end));
    };
    const PrimExpr position =
        ravel(part(indices, group.to_begin, group.to_end), part(to, group.to_begin, group.to_end));
    const te::Indices found = unravel(position, part(from, group.from_begin, group.from_end));
    std::copy(found.begin(), found.end(),
              result.begin() + static_cast<std::ptrdiff_t>(group.from_begin));
    i = group.from_end;
    j = group.to_end;
  }
  return result;
}

PrimExpr inside(const PrimExpr& index, const PrimExpr& extent) {
  const PrimExpr wide = cast(index, int64);
  return max(min(select(lt(wide, 0), wide + extent, wide), extent - 1), 0);
}

}  // namespace nnef_tvm
