#include <cmath>

#include "relax/ops/window.h"

namespace nnef_tvm {
namespace {

using namespace relax::operators;

constexpr size_t image_rank = 4;

/// One factor for every axis, from those of the spatial axes.
Ints full_factors(const LoweringContext& op) {
  Ints factors = op.integers("factor");
  factors.insert(factors.begin(), 2, 1);
  return factors;
}

nnef::Shape spatial_extents(const nnef::Shape& extents) {
  return {extents.begin() + 2, extents.end()};
}

Ints spatial_part(const nnef::Shape& extents) { return to_extents(spatial_extents(extents)); }

Expr lower_nearest_upsample(const LoweringContext& op) {
  const Expr x = op.input("input");
  if (op.rank("input") != image_rank || !known(spatial_extents(op.shape("input")))) {
    return repeat_items(op, x, op.shape("input"), full_factors(op));
  }
  return relax::resize2d(x, spatial_part(op.result_shape()), "nearest_neighbor", "asymmetric",
                         "floor");
}

Expr lower_nearest_downsample(const LoweringContext& op) {
  const nnef::Shape& extents = op.shape("input");
  Ints axes;
  for (size_t axis = 2; axis < extents.size(); ++axis) axes.push_back(static_cast<int64_t>(axis));
  const nnef::Shape spatial = spatial_extents(extents);
  if (!known(spatial)) {
    return relax::slice_inside(op.input("input"), axes, op.dims(nnef::Shape(axes.size(), 0)),
                               op.dims(spatial), op.integers("factor"));
  }
  return relax::strided_slice(op.input("input"), axes, Ints(axes.size(), 0), spatial_part(extents),
                              op.integers("factor"));
}

/// Where an item of the result stands between the items of the input.
double source_position(int64_t i, int64_t extent, int64_t factor, const std::string& method) {
  const auto at = static_cast<double>(i);
  const auto f = static_cast<double>(factor);
  if (method == "asymmetric") return at / f;
  if (method == "symmetric") return (at - (f - 1) / 2) / f;
  // aligned: the first and the last items of both stand at the same places
  if (extent == 1) return 0;
  return at * static_cast<double>(extent - 1) / static_cast<double>(extent * factor - 1);
}

/// Linear interpolation along one axis.
Expr interpolate(const LoweringContext& op, Expr x, const nnef::Shape& extents, size_t axis,
                 int64_t factor, const std::string& method) {
  const int64_t extent = known_extent(extents[axis]);
  std::vector<double> lower;
  std::vector<double> upper;
  std::vector<double> lower_weight;
  std::vector<double> upper_weight;
  for (int64_t i = 0; i < extent * factor; ++i) {
    const double at = source_position(i, extent, factor, method);
    const double below = std::floor(at);
    lower.push_back(below + 1);  // one item of border stands before the first
    upper.push_back(below + 2);
    lower_weight.push_back(below + 1 - at);
    upper_weight.push_back(at - below);
  }
  Pairs padding(extents.size());
  padding[axis] = {1, 1};
  x = pad_border(std::move(x), extents, padding, op.string("border"));
  Ints shape(extents.size(), 1);
  shape[axis] = extent * factor;
  const auto along = static_cast<int64_t>(axis);
  const auto part = [&](const std::vector<double>& indices, const std::vector<double>& weights) {
    const Expr items = relax::take(x, constant(indices, Ints{shape[axis]}, int32), along, "clip");
    return items * constant(weights, shape, op.real());
  };
  return part(lower, lower_weight) + part(upper, upper_weight);
}

const char* tvm_coordinates(const std::string& method) {
  if (method == "symmetric") return "half_pixel";
  return method == "aligned" ? "align_corners" : "asymmetric";
}

Expr lower_multilinear_upsample(const LoweringContext& op) {
  const std::string& method = op.string("method");
  const std::string& border = op.string("border");
  Expr x = op.input("input");
  if (op.rank("input") == image_rank && (border == "replicate" || method == "aligned")) {
    return relax::resize2d(x, spatial_part(op.result_shape()), "linear", tvm_coordinates(method),
                           "");
  }
  nnef::Shape extents = op.shape("input");
  const Ints factors = full_factors(op);
  for (size_t axis = 2; axis < extents.size(); ++axis) {
    if (factors[axis] == 1) continue;
    x = op.let(interpolate(op, op.let(x), extents, axis, factors[axis], method));
    extents[axis] = extents[axis] * factors[axis];
  }
  return x;
}

constexpr LoweringRow rows[] = {
    {"multilinear_upsample", lower_multilinear_upsample},
    {"nearest_downsample", lower_nearest_downsample},
    {"nearest_upsample", lower_nearest_upsample},
};

}  // namespace

std::span<const LoweringRow> resample_lowerings() { return rows; }

}  // namespace nnef_tvm
