// Operations of tract that move items.
#include <algorithm>
#include <array>
#include <cmath>

#include "relax/lowering.h"
#include "tvm/emit_te.h"

namespace nnef_tvm {
namespace {

using namespace relax::operators;

Expr lower_broadcast(const LoweringContext& op) {
  const Extents extents = op.result_dims();
  return relax::broadcast_to(op.input("input", extents.size()), extents);
}

/// Negative indices count from the end; nothing checks the others when the model runs.
Expr counted(const LoweringContext& op, const Expr& index, const Expr& extent) {
  return relax::where(relax::less(index, integer_constant(0, op.whole())), index + extent, index);
}

Expr axis_indices(const LoweringContext& op, int64_t axis) {
  const Expr extent = op.extent_item(op.shape("input")[static_cast<size_t>(axis)], op.whole());
  return counted(op, op.let(op.input("indices")), extent);
}

/// Rows of indices, whose items count axes from `first` on.
Expr row_indices(const LoweringContext& op, int64_t first) {
  const nnef::Shape& extents = op.shape("input");
  const int64_t depth = known_extent(op.shape("indices").back());
  const nnef::Shape indexed(extents.begin() + first, extents.begin() + first + depth);
  return counted(op, op.let(op.input("indices")), op.extent_items(indexed, op.whole()));
}

Expr lower_gather_elements(const LoweringContext& op) {
  const int64_t axis = op.integer("axis");
  return relax::gather_elements(op.input("input"), axis_indices(op, axis), axis);
}

Expr lower_gather_nd(const LoweringContext& op) {
  const int64_t batch = op.integer("batch_dims");
  return relax::gather_nd(op.input("input"), row_indices(op, batch), batch);
}

/// TVM's names of reductions.
const char* reduction(const LoweringContext& op) {
  const std::string& name = op.string("reduction");
  return name == "none" ? "update" : name.c_str();
}

Expr lower_scatter_elements(const LoweringContext& op) {
  const int64_t axis = op.integer("axis");
  return relax::scatter_elements(op.input("input"), axis_indices(op, axis), op.input("updates"),
                                 axis, reduction(op));
}

Expr lower_scatter_nd(const LoweringContext& op) {
  return relax::scatter_nd(op.input("input"), row_indices(op, 0), op.input("updates"),
                           reduction(op));
}

Expr lower_trilu(const LoweringContext& op) {
  const auto part = op.logical("upper") ? relax::triu : relax::tril;
  return part(op.input("input"), op.integer("k"));
}

double number(const nnef::Value& value) {
  const int64_t* integer = value.get<int64_t>();
  return integer != nullptr ? static_cast<double>(*integer) : *value.get<double>();
}

Expr lower_range(const LoweringContext& op) {
  if (!nnef::known(op.result_shape())) {
    const PrimExpr start = op.dim(nnef::extent_of(op.value("start")));
    const PrimExpr step = op.dim(nnef::extent_of(op.value("step")));
    return emit_te(op.builder(), "range", {},
                   [&](const auto&) {
                     return te::compute(op.result_dims(), "range", [&](const te::Indices& i) {
                       return cast(start + i[0] * step, op.whole());
                     });
                   },
                   {start});
  }
  const Ints extents = op.result_extents();
  const double start = number(op.value("start"));
  const double step = number(op.value("step"));
  std::vector<double> items;
  for (int64_t i = 0; i < extents[0]; ++i) items.push_back(start + static_cast<double>(i) * step);
  return constant(items, extents, op.computed(op.graph()[op.result("output")].dtype));
}

std::vector<Expr> lower_topk(const LoweringContext& op) {
  const Expr both = op.let(
      relax::topk(op.input("input"), op.integer("k"), op.integer("axis"), op.logical("largest")));
  return {tuple_get_item(both, 0), tuple_get_item(both, 1)};
}

/// The items of an axis that one of the result is made of: as many for each, as columns.
struct Taps {
  std::vector<std::vector<double>> places;
  std::vector<std::vector<double>> weights;
};

double source_position(const LoweringContext& op, double i, int64_t from, int64_t to,
                       double scale) {
  const std::string& transformer = op.string("coord_transformer");
  if (transformer == "asymmetric") return i / scale;
  const bool single = to == 1;
  if (transformer == "align_corners") return single ? 0 : i * double(from - 1) / double(to - 1);
  return single && transformer == "pytorch_half_pixel" ? 0 : (i + 0.5) / scale - 0.5;
}

double nearest_position(const std::string& mode, double x) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  return mode == "round_prefer_floor" ? std::ceil(x - 0.5) : std::floor(x + 0.5);
}

/// Weights of the items around a position that is `t` beyond the first of them (linear), or the
/// second (cubic, Keys' with -0.75).
std::vector<double> tap_weights(const std::string& interpolator, double t) {
  if (interpolator == "nearest") return {1};
  if (interpolator == "linear") return {1 - t, t};
  constexpr double a = -0.75;
  const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
  const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
  return {far(1 + t), near(t), near(1 - t), far(2 - t)};
}

Taps axis_taps(const LoweringContext& op, int64_t from, int64_t to, double scale) {
  const std::string& interpolator = op.string("interpolator");
  Taps taps;
  for (int64_t i = 0; i < to; ++i) {
    double x = source_position(op, double(i), from, to, scale);
    if (interpolator == "nearest") x = nearest_position(op.string("nearest_mode"), x);
    const double below = std::floor(x);
    const auto weights = tap_weights(interpolator, x - below);
    const double first = interpolator == "cubic" ? below - 1 : below;
    taps.places.resize(weights.size());
    taps.weights.resize(weights.size());
    for (size_t k = 0; k < weights.size(); ++k) {
      taps.places[k].push_back(std::clamp(first + double(k), 0.0, double(from - 1)));
      taps.weights[k].push_back(weights[k]);
    }
  }
  return taps;
}

/// One axis after the other: each item of the result is a weighted sum of items of the input.
Expr lower_resize(const LoweringContext& op) {
  const nnef::Shape& from = op.shape("input");
  const nnef::Shape& to = op.result_shape();
  const auto& scales = op.items("scales");
  const bool nearest = op.string("interpolator") == "nearest";
  Expr x = op.input("input");
  for (size_t axis = 0; axis < from.size(); ++axis) {
    const double scale = !scales.empty() ? *scales[axis].get<double>()
                         : to[axis] == from[axis]
                             ? 1
                             : double(known_extent(to[axis])) / double(known_extent(from[axis]));
    if (scale == 1) continue;
    const int64_t made = known_extent(to[axis]);
    const Taps taps = axis_taps(op, known_extent(from[axis]), made, scale);
    Ints along(from.size(), 1);
    along[axis] = made;
    x = op.let(x);
    Expr sum;
    for (size_t k = 0; k < taps.places.size(); ++k) {
      const Expr part = relax::take(x, constant(taps.places[k], Ints{made}, int64),
                                    static_cast<int64_t>(axis), "clip");
      const Expr term = nearest ? part : part * constant(taps.weights[k], along, op.real());
      sum = k == 0 ? term : sum + term;
    }
    x = sum;
  }
  return x;
}

constexpr LoweringRow rows[] = {
    {"tract_core_resize", lower_resize},
    {"tract_core_broadcast", lower_broadcast},
    {"tract_core_gather_elements", lower_gather_elements},
    {"tract_core_gather_nd", lower_gather_nd},
    {"tract_core_scatter_elements", lower_scatter_elements},
    {"tract_core_scatter_nd", lower_scatter_nd},
    {"tract_core_trilu", lower_trilu},
    {"tract_core_range", lower_range},
    {"tract_core_topk", lower_topk},
};

}  // namespace

std::span<const LoweringRow> tract_movement_lowerings() { return rows; }

}  // namespace nnef_tvm
