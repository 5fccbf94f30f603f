// Regions of interest. Kernels work on tensors with their channels last, so that what a region's
// coordinates say holds for a whole row of items.
#include "tvm/emit_te.h"

#include <algorithm>

#include "relax/lowering.h"

namespace nnef_tvm {
namespace {

/// Moves axis 1 to the end.
Expr channels_last(Expr x, size_t rank) {
  Ints axes{0};
  for (size_t axis = 2; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  axes.push_back(1);
  return relax::permute_dims(std::move(x), axes);
}

/// Moves the last axis to place 1.
Expr channels_second(Expr x, size_t rank) {
  Ints axes{0, static_cast<int64_t>(rank) - 1};
  for (size_t axis = 1; axis + 1 < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  return relax::permute_dims(std::move(x), axes);
}

PrimExpr clamped(const PrimExpr& value, const PrimExpr& low, const PrimExpr& high) {
  return max(min(value, high), low);
}

/// An integer in [0, highest], whatever the value is; not-a-numbers too.
PrimExpr inside_integer(const PrimExpr& value, int64_t highest) {
  const PrimExpr near =
      clamped(value, number_like(0, value), number_like(static_cast<double>(highest), value));
  return clamped(cast(near, int64), int_imm(0), int_imm(highest));
}

/// What an operation on regions has to know of them.
class Regions {
 public:
  explicit Regions(const LoweringContext& op)
      : op_(op),
        input_(op.extents("input")),
        spatial_(input_.size() - 2),
        count_(op.extents("rois").front()) {}

  size_t spatial() const { return spatial_; }
  int64_t extent(size_t axis) const { return input_[axis + 2]; }

  /// For each region and each of `places` along a spatial axis, something made of the region's
  /// begin and end there.
  using Along =
      std::function<PrimExpr(const PrimExpr& begin, const PrimExpr& end, const PrimExpr& place)>;
  Expr along(size_t axis, const std::string& name, int64_t places, const Along& value) const {
    return emit_te(op_.builder(), name, {op_.input("rois")}, [&](const auto& args) {
      return te::compute({int_imm(count_), int_imm(places)}, name, [&](const te::Indices& i) {
        const auto coordinate = [&](size_t column) {
          return args[0]({i[0], int_imm(static_cast<int64_t>(column))});
        };
        return value(coordinate(axis), coordinate(axis + spatial_), i[1]);
      });
    });
  }

  /// The result of a kernel over [region, result's spatial axes, channel] from the input with its
  /// channels last and the tensors `along` each axis.
  struct Source {
    const te::Tensor& x;
    PrimExpr batch;
    std::vector<te::Tensor> along;
    te::Indices at;  ///< region, spatial axes, channel
  };
  using Kernel =
      std::function<te::Tensor(const te::Shape&, const std::function<Source(const te::Indices&)>&)>;
  Expr kernel(const std::vector<Expr>& along, const Kernel& make) const {
    std::vector<Expr> args{channels_last(op_.input("input"), input_.size()),
                           op_.input("batch_index")};
    args.insert(args.end(), along.begin(), along.end());
    const std::string name(op_.name());
    const Expr result = emit_te(op_.builder(), name, args, [&](const auto& tensors) {
      te::Shape shape{int_imm(count_)};
      for (int64_t extent : op_.integers("output_size")) shape.push_back(int_imm(extent));
      shape.push_back(int_imm(input_[1]));
      const te::Tensor& index = tensors[1];
      return make(shape, [&](const te::Indices& i) {
        te::Indices place(index.rank(), int_imm(0));
        place[0] = i[0];
        return Source{tensors[0],
                      inside_integer(index(place), input_[0] - 1),
                      {tensors.begin() + 2, tensors.end()},
                      i};
      });
    });
    return channels_second(result, input_.size());
  }

 private:
  const LoweringContext& op_;
  Ints input_;
  size_t spatial_;
  int64_t count_;
};

// Pooling.

/// The nearest integer, halves up, by the exact difference: x + 0.5 would be rounded.
PrimExpr nearest(const PrimExpr& x) {
  const PrimExpr below = floor(x);
  return below + select(ge(x - below, 0.5), number_like(1, x), number_like(0, x));
}

enum class Side { begin, end };

/// Where each cell along an axis begins or ends, as [region, cell].
Expr cells_along(const Regions& regions, size_t axis, int64_t cells, Side side) {
  const int64_t extent = regions.extent(axis);
  return regions.along(axis, "roi_cells", cells,
                       [&](const PrimExpr& begin, const PrimExpr& end, const PrimExpr& cell) {
                         const PrimExpr first = inside_integer(nearest(begin), extent);
                         const PrimExpr last = inside_integer(nearest(end), extent);
                         const PrimExpr length = max(last - first, 0);
                         const PrimExpr at = first + cell * floordiv(length, cells);
                         return cast(side == Side::begin ? at : at + ceildiv(length, cells), int32);
                       });
}

enum class Pooling { average, maximum };

/// Of the items that are really in the cell; 0 where there are none.
template <Pooling pooling>
Expr lower_roi_pool(const LoweringContext& op) {
  const Regions regions(op);
  const Ints size = op.integers("output_size");
  std::vector<Expr> cells;
  std::vector<te::ReduceAxis> offsets;
  for (size_t axis = 0; axis < regions.spatial(); ++axis) {
    const int64_t longest = (regions.extent(axis) + size[axis] - 1) / size[axis];
    cells.push_back(cells_along(regions, axis, size[axis], Side::begin));
    cells.push_back(cells_along(regions, axis, size[axis], Side::end));
    offsets.push_back(te::reduce_axis(int_imm(longest), "k" + std::to_string(axis)));
  }
  return regions.kernel(cells, [&](const te::Shape& shape, const auto& source) {
    const auto bound = [](const Regions::Source& from, size_t axis, Side side) {
      const te::Tensor& bounds = from.along[2 * axis + (side == Side::begin ? 0 : 1)];
      return cast(bounds({from.at[0], from.at[axis + 1]}), int64);
    };
    const te::Tensor pooled = te::compute(shape, "roi_pool", [&](const te::Indices& i) {
      const Regions::Source from = source(i);
      te::Indices at{from.batch};
      std::vector<PrimExpr> inside;
      for (size_t axis = 0; axis < offsets.size(); ++axis) {
        at.push_back(bound(from, axis, Side::begin) + offsets[axis].index);
        inside.push_back(lt(at.back(), bound(from, axis, Side::end)));
      }
      at.push_back(i.back());
      const DLDataType type = from.x.dtype();
      const auto item = [&](const PrimExpr& outside) {
        return if_then_else(all_of(inside), from.x(at), outside);
      };
      return pooling == Pooling::maximum ? te::maximum(item(lowest(type)), offsets)
                                         : te::sum(item(number(0, type)), offsets);
    });
    return te::compute(shape, "roi_pool_of_items", [&](const te::Indices& i) {
      const Regions::Source from = source(i);
      PrimExpr count = int_imm(1);
      for (size_t axis = 0; axis < offsets.size(); ++axis) {
        count = count * (bound(from, axis, Side::end) - bound(from, axis, Side::begin));
      }
      if (pooling == Pooling::maximum) {
        return select(eq(count, 0), number(0, pooled.dtype()), pooled(i));
      }
      return pooled(i) / cast(max(count, 1), pooled.dtype());
    });
  });
}

// Resampling.

/// Where each of `size` items along an axis stands in the input, as [region, item].
Expr positions_along(const Regions& regions, size_t axis, int64_t size, const std::string& method) {
  const auto last = static_cast<double>(regions.extent(axis) - 1);
  return regions.along(
      axis, "roi_positions", size,
      [&](const PrimExpr& begin, const PrimExpr& end, const PrimExpr& place) {
        const PrimExpr item = cast(place, item_type(begin));
        PrimExpr position = begin + item * (end - begin) / size;
        if (method == "symmetric") position = begin + (item + 0.5) * (end - begin) / size - 0.5;
        if (method == "aligned") {
          position = begin + item * (end - begin - 1) / std::max<int64_t>(size - 1, 1);
        }
        return clamped(position, number_like(0, position), number_like(last, position));
      });
}

/// The value between the items around the position; `index` has the item of each spatial axis.
PrimExpr interpolated(const Regions& regions, const Regions::Source& from,
                      const te::Indices& index) {
  const std::function<PrimExpr(te::Indices)> value = [&](te::Indices at) -> PrimExpr {
    const size_t axis = at.size() - 1;
    if (axis == regions.spatial()) {
      at.push_back(from.at.back());
      return from.x(at);
    }
    const PrimExpr position = from.along[axis]({from.at[0], index[axis]});
    const int64_t last = regions.extent(axis) - 1;
    const PrimExpr below = inside_integer(floor(position), last);
    const PrimExpr weight = cast(position - floor(position), from.x.dtype());
    te::Indices above = at;
    at.push_back(below);
    above.push_back(min(below + 1, last));
    return value(at) * (1 - weight) + value(above) * weight;
  };
  return value({from.batch});
}

Expr lower_roi_resample(const LoweringContext& op) {
  const Regions regions(op);
  const Ints size = op.integers("output_size");
  std::vector<Expr> positions;
  for (size_t axis = 0; axis < regions.spatial(); ++axis) {
    positions.push_back(positions_along(regions, axis, size[axis], op.string("method")));
  }
  return regions.kernel(positions, [&](const te::Shape& shape, const auto& source) {
    return te::compute(shape, "roi_resample", [&](const te::Indices& i) {
      return interpolated(regions, source(i), {i.begin() + 1, i.end() - 1});
    });
  });
}

/// Resampled to output_size * sampling_rate and pooled over cells of sampling_rate, without storing
/// the resampled items.
template <Pooling pooling>
Expr lower_roi_align(const LoweringContext& op) {
  const Regions regions(op);
  const Ints size = op.integers("output_size");
  const Ints rate = op.integers("sampling_rate");
  std::vector<Expr> positions;
  std::vector<te::ReduceAxis> samples;
  int64_t cell = 1;
  for (size_t axis = 0; axis < regions.spatial(); ++axis) {
    positions.push_back(
        positions_along(regions, axis, size[axis] * rate[axis], op.string("resize_method")));
    samples.push_back(te::reduce_axis(int_imm(rate[axis]), "k" + std::to_string(axis)));
    cell *= rate[axis];
  }
  return regions.kernel(positions, [&](const te::Shape& shape, const auto& source) {
    const te::Tensor pooled = te::compute(shape, "roi_align", [&](const te::Indices& i) {
      te::Indices index;
      for (size_t axis = 0; axis < samples.size(); ++axis) {
        index.push_back(i[axis + 1] * rate[axis] + samples[axis].index);
      }
      const PrimExpr value = interpolated(regions, source(i), index);
      return pooling == Pooling::maximum ? te::maximum(value, samples) : te::sum(value, samples);
    });
    if (pooling == Pooling::maximum) return pooled;
    return te::compute(shape, "roi_align_mean",
                       [&](const te::Indices& i) { return pooled(i) / cell; });
  });
}

constexpr LoweringRow rows[] = {
    {"avg_roi_pool", lower_roi_pool<Pooling::average>},
    {"max_roi_pool", lower_roi_pool<Pooling::maximum>},
    {"roi_resample", lower_roi_resample},
    {"avg_roi_align", lower_roi_align<Pooling::average>},
    {"max_roi_align", lower_roi_align<Pooling::maximum>},
};

}  // namespace

std::span<const LoweringRow> roi_lowerings() { return rows; }

}  // namespace nnef_tvm
