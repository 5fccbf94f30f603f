// Operations of tract that move items.
#include <algorithm>
#include <array>

#include "relax/lowering.h"

namespace nnef_tvm {
namespace {

using namespace relax::operators;

Expr lower_broadcast(const LoweringContext& op) {
  const Ints extents = op.result_extents();
  return relax::broadcast_to(op.input("input", extents.size()), extents);
}

/// Negative indices count from the end; nothing checks the others when the model runs.
Expr counted(const LoweringContext& op, const Expr& index, const Expr& extent) {
  return relax::where(relax::less(index, integer_constant(0, op.whole())), index + extent, index);
}

Expr axis_indices(const LoweringContext& op, int64_t axis) {
  const Expr extent = integer_constant(op.extents("input")[static_cast<size_t>(axis)], op.whole());
  return counted(op, op.let(op.input("indices")), extent);
}

/// Rows of indices, whose items count axes from `first` on.
Expr row_indices(const LoweringContext& op, int64_t first) {
  const Ints extents = op.extents("input");
  const int64_t depth = op.extents("indices").back();
  const std::vector<double> items(extents.begin() + first, extents.begin() + first + depth);
  return counted(op, op.let(op.input("indices")), constant(items, Ints{depth}, op.whole()));
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

constexpr LoweringRow rows[] = {
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
