#include <algorithm>
#include <cmath>

#include "relax/ops/window.h"

namespace nnef_tvm {
namespace {

using nnef::Value;

double number(const Value& value) {
  if (const int64_t* integer = value.get<int64_t>()) return static_cast<double>(*integer);
  if (const bool* logical = value.get<bool>()) return *logical ? 1 : 0;
  return *value.get<double>();
}

/// All values, or one that stands everywhere.
Expr lower_constant(const LoweringContext& op) {
  const auto& items = op.items("value");
  const DLDataType dtype = op.computed(op.graph()[op.result("output")].dtype);
  if (std::ranges::any_of(items, [](const Value& item) { return item.get<nnef::Dim>(); })) {
    const Expr extents = op.extent_items(op.extent_list("value"), dtype);
    return items.size() == 1
               ? relax::broadcast_to(relax::reshape(extents, Ints()), op.result_dims())
               : relax::reshape(extents, op.result_dims());
  }
  if (items.size() == 1 && !op.result_shape().empty()) {
    return relax::full(op.result_dims(), constant(number(items.front()), dtype), dtype);
  }
  const Ints shape = op.result_extents();
  std::vector<double> values;
  std::transform(items.begin(), items.end(), std::back_inserter(values), number);
  return constant(values, shape, dtype);
}

Expr lower_to_result_shape(const LoweringContext& op) {
  return relax::reshape(op.input("input"), op.result_dims());
}

Expr lower_transpose(const LoweringContext& op) {
  return relax::permute_dims(op.input("input"), op.resolved_integers("axes"));
}

Expr lower_squeeze(const LoweringContext& op) {
  const Ints axes = op.integers("axes");
  return axes.empty() ? op.input("input") : relax::squeeze(op.input("input"), axes);
}

std::vector<Expr> inputs(const LoweringContext& op, std::string_view name) {
  std::vector<Expr> exprs;
  for (const Value& item : op.items(name)) exprs.push_back(op.item(item));
  return exprs;
}

Expr lower_concat(const LoweringContext& op) {
  const auto values = inputs(op, "values");
  return relax::concat(Array<Expr>(values.begin(), values.end()), op.integer("axis"));
}

Expr lower_stack(const LoweringContext& op) {
  const auto values = inputs(op, "values");
  return relax::stack(Array<Expr>(values.begin(), values.end()), op.integer("axis"));
}

/// The parts of the given sizes along an axis.
std::vector<Expr> split_axis(const LoweringContext& op, Expr x, const Ints& sizes, int64_t axis) {
  if (sizes.size() == 1) return {x};
  Ints cuts;
  int64_t at = 0;
  for (size_t i = 0; i + 1 < sizes.size(); ++i) cuts.push_back(at += sizes[i]);
  const Expr parts = op.let(relax::split(x, cuts, axis));
  std::vector<Expr> results;
  for (size_t i = 0; i < sizes.size(); ++i) {
    results.push_back(tuple_get_item(parts, static_cast<int64_t>(i)));
  }
  return results;
}

std::vector<Expr> lower_split(const LoweringContext& op) {
  const nnef::Shape sizes = op.resolved_extents("sizes");
  if (!nnef::known(sizes) && sizes.size() > 1) {
    const Expr x = op.let(op.input("value"));
    std::vector<Expr> results;
    nnef::Dim at = 0;
    for (const nnef::Dim& size : sizes) {
      results.push_back(
          relax::slice_inside(x, {op.integer("axis")}, op.dims({at}), op.dims({at + size}), {1}));
      at = at + size;
    }
    return results;
  }
  return split_axis(op, op.input("value"), op.resolved_integers("sizes"), op.integer("axis"));
}

std::vector<Expr> lower_unstack(const LoweringContext& op) {
  const int64_t axis = op.integer("axis");
  const auto count = static_cast<size_t>(op.extent("value", axis));
  auto parts = split_axis(op, op.input("value"), Ints(count, 1), axis);
  for (Expr& part : parts) part = relax::squeeze(part, {axis});
  return parts;
}

Expr lower_slice(const LoweringContext& op) {
  const Ints axes = op.integers("axes");
  const Ints stride = op.resolved_integers("stride");
  const nnef::Shape begins = op.resolved_extents("begin");
  nnef::Shape ends = op.resolved_extents("end");
  for (size_t i = 0; i < axes.size(); ++i) {
    // TVM counts a negative end from the end of the axis.
    if (ends[i].most() < 0) ends[i] = ends[i] - op.shape("input")[static_cast<size_t>(axes[i])];
  }
  if (axes.empty()) return op.input("input");
  if (!nnef::known(begins) || !nnef::known(ends))
    return relax::slice_inside(op.input("input"), axes, op.dims(begins), op.dims(ends), stride);
  const Ints begin = to_extents(begins);
  const Ints end = to_extents(ends);
  return relax::strided_slice(op.input("input"), axes, begin, end, stride);
}

Expr lower_tile(const LoweringContext& op) {
  const nnef::Shape repeats = op.extent_list("repeats");
  if (!nnef::known(repeats)) {
    nnef::Shape split;
    nnef::Shape repeated;
    for (size_t axis = 0; axis < repeats.size(); ++axis) {
      const nnef::Dim& extent = op.shape("input")[axis];
      split.insert(split.end(), {1, extent});
      repeated.insert(repeated.end(), {repeats[axis], extent});
    }
    const Expr x = relax::reshape(op.input("input"), op.dims(split));
    return relax::reshape(relax::broadcast_to(x, op.dims(repeated)), op.result_dims());
  }
  return relax::tile(op.input("input"), op.integers("repeats"));
}

Expr lower_pad(const LoweringContext& op) {
  return pad_border(op.input("input"), op.shape("input"), op.resolved_pairs("padding"),
                    op.string("border"), op.scalar("value"));
}

/// Nothing checks indices when the model runs: negative ones count from the end, then all are
/// brought inside.
Expr lower_gather(const LoweringContext& op) {
  const int64_t axis = op.integer("axis");
  const Expr extent = op.extent_item(op.shape("input")[static_cast<size_t>(axis)], op.whole());
  const Expr index = op.let(op.input("indices"));
  const Expr is_negative = relax::less(index, integer_constant(0, op.whole()));
  const Expr counted = relax::where(is_negative, relax::add(index, extent), index);
  return relax::take(op.input("input"), counted, axis, "clip");
}

/// Truncated, and brought into the range of the type; what is not a number becomes 0.
Expr to_whole(const LoweringContext& op, const Expr& x, DLDataType type) {
  const DLDataType real = op.computed(nnef::DType::scalar);
  const int bits = type.bits - 1;
  const double beyond = std::ldexp(1.0, bits);
  const auto highest = static_cast<int64_t>((uint64_t{1} << bits) - 1);
  Expr whole = relax::astype(x, type);
  whole = relax::where(relax::isnan(x), integer_constant(0, type), whole);
  whole = relax::where(relax::less(x, constant(-beyond, real)),
                       integer_constant(-highest - 1, type), whole);
  return relax::where(relax::greater_equal(x, constant(beyond, real)),
                      integer_constant(highest, type), whole);
}

Expr lower_cast(const LoweringContext& op) {
  const nnef::DType to = op.dtype_of(op.operation().outputs.front().value);
  const nnef::DType from = op.dtype("input");
  const Expr x = op.let(op.input("input"));
  if (from == to) return x;
  if (from == nnef::DType::scalar && to == nnef::DType::integer) {
    return to_whole(op, x, op.computed(to));
  }
  if (to == nnef::DType::logical) {
    return relax::not_equal(x, constant(0, op.computed(from)));
  }
  return relax::astype(x, op.computed(to));
}

constexpr LoweringRow rows[] = {
    {"constant", lower_constant},
    {"reshape", lower_to_result_shape},
    {"transpose", lower_transpose},
    {"concat", lower_concat},
    {"split", lower_split},
    {"slice", lower_slice},
    {"squeeze", lower_squeeze},
    {"unsqueeze", lower_to_result_shape},
    {"stack", lower_stack},
    {"unstack", lower_unstack},
    {"tile", lower_tile},
    {"pad", lower_pad},
    {"gather", lower_gather},
    {"cast", lower_cast},
    {"tract_core_cast", lower_cast},
};

}  // namespace

std::span<const LoweringRow> movement_lowerings() { return rows; }

}  // namespace nnef_tvm
