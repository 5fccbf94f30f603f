// Resizing of images: where in the image an output position lies, and what is made of the pixels
// around it.
#include <array>

#include "compile/kernels/window.h"

namespace nnef_tvm {
namespace {

/// Keeps floors and ceilings of positions that should be whole from slipping by rounding errors.
constexpr double kRoundingMargin = 1e-5;

/// The position in the image (a float) of an output index along one axis.
class Coordinate {
 public:
  /// `axis` of 0 (height) or 1 (width).
  Coordinate(const KernelCall& kernel, const PrimExpr& extent, const PrimExpr& result_extent,
             size_t axis)
      : mode_(kernel.text("coordinate_transformation_mode")),
        extent_(extent),
        result_extent_(result_extent) {
    const auto roi = as<Array<PrimExpr>>(kernel.object("roi"));
    start_ = roi[static_cast<int64_t>(axis)];
    end_ = roi[static_cast<int64_t>(axis + 2)];
  }

  PrimExpr at(const PrimExpr& index) const {
    const PrimExpr x = cast(index, float32);
    const PrimExpr extent = cast(extent_, float32);
    const PrimExpr result_extent = cast(result_extent_, float32);
    const PrimExpr scale = extent / result_extent;
    const PrimExpr last = extent - 1;
    const PrimExpr result_last = max(result_extent - 1, 1);
    const PrimExpr is_many = gt(result_extent, 1);
    if (mode_ == "half_pixel") return (x + 0.5) * scale - 0.5;
    if (mode_ == "tf_half_pixel_for_nn") return (x + 0.5) * scale;
    if (mode_ == "align_corners") return last / result_last * x;
    if (mode_ == "asymmetric") return scale * x;
    if (mode_ == "pytorch_half_pixel") {
      return select(is_many, (x + 0.5) * scale - 0.5, float_imm(0));
    }
    return select(is_many, start_ * last + x * (end_ - start_) * last / result_last,
                  0.5 * (start_ + end_) * last);
  }

  /// The nearest pixel, for whole factors of magnification without any rounding.
  PrimExpr nearest(const PrimExpr& index, std::string rounding) const {
    if (rounding.empty()) rounding = mode_ == "align_corners" ? "round" : "floor";
    const auto extent = known_int(extent_);
    const auto result_extent = known_int(result_extent_);
    if (mode_ == "asymmetric" && rounding == "floor" && extent && result_extent &&
        *result_extent % *extent == 0) {
      return floordiv(index, *result_extent / *extent);
    }
    const PrimExpr position = at(index);
    PrimExpr pixel = round_half_to_even(position);
    if (rounding == "round_prefer_floor") pixel = ceil(position - 0.5);
    if (rounding == "round_prefer_ceil") pixel = floor(position + 0.5);
    if (rounding == "floor") pixel = floor(position + kRoundingMargin);
    if (rounding == "ceil") pixel = ceil(position - kRoundingMargin);
    return inside(cast(pixel, int64));
  }

  PrimExpr inside(const PrimExpr& pixel) const { return max(min(pixel, extent_ - 1), 0); }
  PrimExpr is_outside(const PrimExpr& position) const {
    return either(lt(position, 0), gt(position, cast(extent_ - 1, float32)));
  }
  const PrimExpr& extent() const { return extent_; }

 private:
  std::string mode_;
  PrimExpr extent_;
  PrimExpr result_extent_;
  PrimExpr start_;  ///< of the region of interest
  PrimExpr end_;
};

/// The pixel of the image at a row and a column.
using Pixel = std::function<PrimExpr(const PrimExpr& row, const PrimExpr& column)>;

PrimExpr linear(const Coordinate& rows, const Coordinate& columns, const PrimExpr& y,
                const PrimExpr& x, const Pixel& pixel) {
  const PrimExpr top = cast(floor(y), int64);
  const PrimExpr left = cast(floor(x), int64);
  const PrimExpr down = y - floor(y);
  const PrimExpr right = x - floor(x);
  const auto between_columns = [&](const PrimExpr& row) {
    const PrimExpr a = pixel(rows.inside(row), columns.inside(left));
    const PrimExpr b = pixel(rows.inside(row), columns.inside(left + 1));
    return a * (1 - right) + b * right;
  };
  return between_columns(top) * (1 - down) + between_columns(top + 1) * down;
}

using CubicWeights = std::array<PrimExpr, 4>;

/// Weights of the pixels at -1, 0, 1 and 2 from the floor of a position with fraction t.
CubicWeights cubic_weights(const PrimExpr& t, double alpha) {
  const PrimExpr t2 = t * t;
  const PrimExpr t3 = t2 * t;
  return {alpha * (t3 - 2 * t2 + t), (alpha + 2) * t3 - (3 + alpha) * t2 + 1,
          (3 + 2 * alpha) * t2 - (alpha + 2) * t3 - alpha * t, alpha * t2 - alpha * t3};
}

/// Leaves out pixels outside of the image.
CubicWeights renormalised(CubicWeights weights, const PrimExpr& first, const PrimExpr& extent) {
  PrimExpr sum = float_imm(0);
  for (int64_t i = 0; i < 4; ++i) {
    PrimExpr& weight = weights[static_cast<size_t>(i)];
    weight = select(both(ge(first + i, 0), lt(first + i, extent)), weight, float_imm(0));
    sum = sum + weight;
  }
  for (PrimExpr& weight : weights) weight = weight / sum;
  return weights;
}

PrimExpr cubic(const Coordinate& rows, const Coordinate& columns, const PrimExpr& y,
               const PrimExpr& x, const Pixel& pixel, double alpha, bool exclude_outside) {
  const PrimExpr top = cast(floor(y), int64) - 1;
  const PrimExpr left = cast(floor(x), int64) - 1;
  CubicWeights down = cubic_weights(y - floor(y), alpha);
  CubicWeights right = cubic_weights(x - floor(x), alpha);
  if (exclude_outside) {
    down = renormalised(down, top, rows.extent());
    right = renormalised(right, left, columns.extent());
  }
  PrimExpr sum = float_imm(0);
  for (size_t i = 0; i < 4; ++i) {
    PrimExpr row = float_imm(0);
    for (size_t j = 0; j < 4; ++j) {
      row = row + right[j] * pixel(rows.inside(top + static_cast<int64_t>(i)),
                                   columns.inside(left + static_cast<int64_t>(j)));
    }
    sum = sum + down[i] * row;
  }
  return sum;
}

Expr resize2d(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const Layout layout(kernel.text("layout"));
  if (!layout.is_plain()) return call;
  const te::Tensor x = kernel.input(0);
  const te::Shape shape = kernel.shape();
  const std::string method = kernel.text("method");
  const size_t height = layout.axis('H');
  const size_t width = layout.axis('W');
  const Coordinate rows(kernel, x.extent(height), shape[height], 0);
  const Coordinate columns(kernel, x.extent(width), shape[width], 1);
  const bool crops = kernel.text("coordinate_transformation_mode") == "tf_crop_and_resize";

  return kernel.finish(te::compute(shape, "resize2d_" + method, [&](const te::Indices& indices) {
    const auto load = [&](const PrimExpr& row, const PrimExpr& column) {
      te::Indices source = indices;
      source[height] = row;
      source[width] = column;
      return x(source);
    };
    const Pixel pixel = [&](const PrimExpr& row, const PrimExpr& column) {
      return cast(load(row, column), float32);
    };
    const PrimExpr row = rows.at(indices[height]);
    const PrimExpr column = columns.at(indices[width]);
    PrimExpr value;
    if (method == "nearest_neighbor") {
      const std::string rounding = kernel.text("rounding_method");
      value =
          load(rows.nearest(indices[height], rounding), columns.nearest(indices[width], rounding));
    } else if (method == "linear") {
      value = linear(rows, columns, row, column, pixel);
    } else {
      value = cubic(rows, columns, row, column, pixel, kernel.real("cubic_alpha"),
                    kernel.flag("cubic_exclude"));
    }
    value = cast(value, kernel.dtype());
    if (!crops) return value;
    return select(either(rows.is_outside(row), columns.is_outside(column)),
                  number(kernel.real("extrapolation_value"), kernel.dtype()), value);
  }));
}

constexpr LegalisationRow kRows[] = {
    {"relax.image.resize2d", resize2d},
};

}  // namespace

std::span<const LegalisationRow> resample_kernels() { return kRows; }

}  // namespace nnef_tvm
