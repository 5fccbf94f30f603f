// Multilinear up-sampling, and regions of interest.
#include <array>
#include <cmath>

#include "reference/window.h"

namespace nnef::reference {
namespace {

using Position = std::vector<double>;  ///< one coordinate for each spatial axis

/// The item of a plane at a position between its items: the sum of its neighbours, each weighed by
/// how near it is.
double interpolate(const double* plane, const Index& extents, const Position& position,
                   const std::string& border) {
  double sum = 0;
  each_index(Index(extents.size(), 2), [&](const Index& corner) {
    double weight = 1;
    int64_t at = 0;
    bool constant = false;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      const double below = std::floor(position[axis]);
      const double above = position[axis] - below;
      weight *= corner[axis] == 1 ? above : 1 - above;
      const auto index =
          border_index(static_cast<int64_t>(below) + corner[axis], extents[axis], border);
      constant = constant || !index;
      at = at * extents[axis] + index.value_or(0);
    }
    if (weight != 0 && !constant) sum += weight * plane[at];
  });
  return sum;
}

/// Where item i of `count`, which cover `extent` items, stands between these.
double source_position(int64_t i, double extent, int64_t count, const std::string& method) {
  const auto number = static_cast<double>(i);
  const auto items = static_cast<double>(count);
  if (method == "symmetric") return ((2 * number + 1) * extent - items) / (2 * items);
  if (method == "asymmetric") return number * extent / items;
  return count == 1 ? 0 : number * (extent - 1) / (items - 1);
}

void multilinear_upsample(Evaluation& e) {
  const Items<double> input = e.numbers<double>("input");
  const Index extents(input.shape.begin() + 2, input.shape.end());
  const Index shape = e.result_extents("output");
  std::vector<double> output;
  each_index(shape, [&](const Index& i) {
    const double* plane = &input.values[(i[0] * shape[1] + i[1]) * volume(extents)];
    Position position;
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      position.push_back(source_position(i[axis + 2], static_cast<double>(extents[axis]),
                                         shape[axis + 2], e.string("method")));
    }
    output.push_back(interpolate(plane, extents, position, e.string("border")));
  });
  e.set("output", output);
}

/// A region of the map of one item of the batch.
struct Region {
  Position begin;
  Position end;
  int64_t batch;
};

std::vector<Region> read_regions(const Evaluation& e, int64_t batches) {
  const Items<double> rois = e.numbers<double>("rois");
  const std::vector<Integer> batch_index = e.numbers<Integer>("batch_index").values;
  const int64_t axes = rois.shape[1] / 2;
  std::vector<Region> regions;
  for (int64_t n = 0; n < rois.shape[0]; ++n) {
    const auto begin = rois.values.begin() + n * 2 * axes;
    const Integer batch = std::clamp<Integer>(batch_index[static_cast<size_t>(n)], 0, batches - 1);
    regions.push_back(
        {{begin, begin + axes}, {begin + axes, begin + 2 * axes}, static_cast<int64_t>(batch)});
  }
  return regions;
}

/// Every item of the result is `f(plane, extents, region, cell)`: of one channel of the map.
template <typename F>
void each_cell(Evaluation& e, const F& f) {
  const Items<double> input = e.numbers<double>("input");
  const Index extents(input.shape.begin() + 2, input.shape.end());
  const std::vector<Region> regions = read_regions(e, input.shape[0]);
  std::vector<double> output;
  each_index(e.result_extents("output"), [&](const Index& i) {
    const Region& region = regions[static_cast<size_t>(i[0])];
    const int64_t plane = region.batch * input.shape[1] + i[1];
    output.push_back(
        f(&input.values[plane * volume(extents)], extents, region, Index(i.begin() + 2, i.end())));
  });
  e.set("output", output);
}

/// A coordinate, rounded and clamped to [0, extent].
int64_t rounded_coordinate(double coordinate, int64_t extent) {
  const double nearest = std::floor(coordinate + 0.5);
  if (!(nearest > 0)) return 0;
  return nearest < static_cast<double>(extent) ? static_cast<int64_t>(nearest) : extent;
}

/// The items of a cell of a region that is divided in `size` cells, in row-major order. Cells are
/// ceil(r / size) wide, floor(r / size) apart.
std::vector<double> cell_items(const double* plane, const Index& extents, const Region& region,
                               const Index& cell, const Index& size) {
  Index begin;
  Index cell_extents;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const int64_t first = rounded_coordinate(region.begin[axis], extents[axis]);
    const int64_t last = rounded_coordinate(region.end[axis], extents[axis]);
    const int64_t length = std::max<int64_t>(last - first, 0);
    begin.push_back(first + cell[axis] * (length / size[axis]));
    cell_extents.push_back((length + size[axis] - 1) / size[axis]);
  }
  std::vector<double> items;
  each_index(cell_extents, [&](const Index& i) {
    int64_t at = 0;
    for (size_t axis = 0; axis < i.size(); ++axis) at = at * extents[axis] + begin[axis] + i[axis];
    items.push_back(plane[at]);
  });
  return items;
}

void avg_roi_pool(Evaluation& e) {
  each_cell(
      e, [&](const double* plane, const Index& extents, const Region& region, const Index& cell) {
        const auto items = cell_items(plane, extents, region, cell, e.integers("output_size"));
        double sum = 0;
        for (const double item : items) sum += item;
        return items.empty() ? 0 : sum / static_cast<double>(items.size());
      });
}

void max_roi_pool(Evaluation& e) {
  each_cell(
      e, [&](const double* plane, const Index& extents, const Region& region, const Index& cell) {
        const auto items = cell_items(plane, extents, region, cell, e.integers("output_size"));
        return items.empty() ? 0 : *std::ranges::max_element(items);
      });
}

void roi_resample(Evaluation& e) {
  const Index size = e.integers("output_size");
  each_cell(
      e, [&](const double* plane, const Index& extents, const Region& region, const Index& cell) {
        Position position;
        for (size_t axis = 0; axis < extents.size(); ++axis) {
          const double length = region.end[axis] - region.begin[axis];
          const double at = region.begin[axis] +
                            source_position(cell[axis], length, size[axis], e.string("method"));
          const auto last = static_cast<double>(extents[axis] - 1);
          position.push_back(at > 0 ? std::min(at, last) : 0);
        }
        return interpolate(plane, extents, position, "replicate");
      });
}

constexpr std::array kRows{
    EvaluatorRow{"multilinear_upsample", multilinear_upsample},
    EvaluatorRow{"avg_roi_pool", avg_roi_pool},
    EvaluatorRow{"max_roi_pool", max_roi_pool},
    EvaluatorRow{"roi_resample", roi_resample},
};

}  // namespace

std::span<const EvaluatorRow> resample_evaluators() { return kRows; }

}  // namespace nnef::reference
