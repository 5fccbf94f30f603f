// Gathering and scattering. Indices are brought inside their axes, so that no kernel reads or
// writes other memory.
#include <limits>

#include "compile/kernels/movement.h"
#include "compile/kernels/reduce.h"
#include "tvm/indices.h"

namespace nnef_tvm {
namespace {

std::vector<PrimExpr> part(const std::vector<PrimExpr>& list, size_t begin, size_t end) {
  return {list.begin() + static_cast<std::ptrdiff_t>(begin),
          list.begin() + static_cast<std::ptrdiff_t>(end)};
}

void append(std::vector<PrimExpr>& list, const std::vector<PrimExpr>& more) {
  list.insert(list.end(), more.begin(), more.end());
}

}  // namespace

Expr take(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const size_t axis = kernel.has("axis") ? kernel.axis("axis", x.rank()) : 0;
  const std::string mode = kernel.text("mode");
  std::optional<te::Tensor> indices;
  if (kernel.is_tensor(1)) indices = kernel.input(1);
  const PrimExpr single = indices ? PrimExpr() : kernel.prim(1);
  const size_t indices_rank = indices ? indices->rank() : 0;
  const PrimExpr& extent = x.extent(axis);
  return kernel.finish(te::compute(kernel.shape(), "take", [&](const te::Indices& i) {
    const PrimExpr index =
        cast(indices ? (*indices)(part(i, axis, axis + indices_rank)) : single, int64);
    PrimExpr place = inside(index, extent);
    if (mode == "clip") place = max(min(index, extent - 1), 0);
    if (mode == "wrap") place = floormod(index, extent);
    te::Indices source = part(i, 0, axis);
    source.push_back(place);
    append(source, part(i, axis + indices_rank, i.size()));
    if (mode != "nan") return x(source);
    const PrimExpr exists = both(ge(index, 0), lt(index, extent));
    return select(exists, x(source), number(std::numeric_limits<double>::quiet_NaN(), x.dtype()));
  }));
}

Expr gather_elements(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::Tensor indices = kernel.input(1);
  const size_t axis = kernel.axis("axis", x.rank());
  return kernel.finish(te::compute(kernel.shape(), "gather_elements", [&](te::Indices i) {
    i[axis] = inside(indices(i), x.extent(axis));
    return x(i);
  }));
}

Expr gather_nd(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::Tensor indices = kernel.input(1);
  const auto batch = static_cast<size_t>(kernel.integer("batch_dims"));
  const size_t outer = indices.rank() - 1;
  const auto depth = known_int(indices.extent(outer));
  if (!depth) return call;
  return kernel.finish(te::compute(kernel.shape(), "gather_nd", [&](const te::Indices& i) {
    te::Indices source = part(i, 0, batch);
    for (int64_t k = 0; k < *depth; ++k) {
      te::Indices place = part(i, 0, outer);
      place.push_back(int_imm(k));
      source.push_back(inside(indices(place), x.extent(source.size())));
    }
    append(source, part(i, outer, i.size()));
    return x(source);
  }));
}

Expr one_hot(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor indices = kernel.input(0);
  const PrimExpr on = kernel.prim(1);
  const PrimExpr off = kernel.prim(2);
  const size_t axis = kernel.axis("axis", indices.rank() + 1);
  return kernel.finish(te::compute(kernel.shape(), "one_hot", [&](const te::Indices& i) {
    te::Indices source = i;
    source.erase(source.begin() + static_cast<std::ptrdiff_t>(axis));
    const PrimExpr is_on = eq(cast(indices(source), int64), i[axis]);
    return select(is_on, cast(on, kernel.dtype()), cast(off, kernel.dtype()));
  }));
}

namespace {

/// Updates of a tensor's items: each item of the result looks at all updates that may be meant for
/// it.
struct Scatter {
  const te::Tensor& data;
  te::Shape updates;  ///< the space of updates that an item looks at
  /// Whether the update at some place of that space is for the item.
  std::function<PrimExpr(const te::Indices& item, const te::Indices& place)> is_for;
  std::function<PrimExpr(const te::Indices& item, const te::Indices& place)> value;

  using ReduceItems = std::function<PrimExpr(const te::Indices& item, const te::Indices& place,
                                             std::span<const te::ReduceAxis> axes)>;
  te::Tensor look(const std::string& name, const ReduceItems& reduce) const {
    std::vector<te::ReduceAxis> axes;
    te::Indices place;
    for (const PrimExpr& extent : updates) {
      axes.push_back(te::reduce_axis(extent, "k" + std::to_string(axes.size())));
      place.push_back(axes.back().index);
    }
    return te::compute(data.shape(), name,
                       [&](const te::Indices& item) { return reduce(item, place, axes); });
  }

  /// The item replaced by the last update for it.
  te::Tensor replaced() const {
    const te::Tensor last =
        look("last_update", [&](const auto& item, const auto& place, auto axes) {
          return te::maximum(select(is_for(item, place), ravel(place, updates), int_imm(-1)), axes);
        });
    return te::compute(data.shape(), "scatter", [&](const te::Indices& item) {
      const PrimExpr position = last(item);
      const te::Indices place = unravel(max(position, 0), updates);
      return if_then_else(ge(position, 0), value(item, place), data(item));
    });
  }

  te::Tensor combined(const std::string& reduction) const {
    using Reducer = PrimExpr (*)(const PrimExpr&, std::span<const te::ReduceAxis>);
    using Combine = PrimExpr (*)(const PrimExpr&, const PrimExpr&);
    struct Kind {
      Reducer reduce;
      PrimExpr identity;
      Combine combine;
    };
    const DLDataType type = data.dtype();
    Kind kind{te::sum, number(0, type), [](const PrimExpr& a, const PrimExpr& b) { return a + b; }};
    if (reduction == "mul") {
      kind = {te::prod, number(1, type),
              [](const PrimExpr& a, const PrimExpr& b) { return a * b; }};
    } else if (reduction == "max") {
      kind = {te::maximum, lowest(type),
              [](const PrimExpr& a, const PrimExpr& b) { return max(a, b); }};
    } else if (reduction == "min") {
      kind = {te::minimum, highest(type),
              [](const PrimExpr& a, const PrimExpr& b) { return min(a, b); }};
    }
    const te::Tensor all = look("all_updates", [&](const auto& item, const auto& place, auto axes) {
      return kind.reduce(if_then_else(is_for(item, place), value(item, place), kind.identity),
                         axes);
    });
    const bool is_mean = reduction == "mean";
    const te::Tensor count =
        look("update_count", [&](const auto& item, const auto& place, auto axes) {
          return te::sum(cast(is_for(item, place), int64), axes);
        });
    return te::compute(data.shape(), "scatter", [&](const te::Indices& item) {
      const PrimExpr value = kind.combine(data(item), all(item));
      return is_mean ? value / cast(count(item) + 1, type) : value;
    });
  }

  te::Tensor result(const std::string& reduction) const {
    return reduction == "update" ? replaced() : combined(reduction);
  }
};

}  // namespace

Expr scatter_elements(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor data = kernel.input(0);
  const te::Tensor indices = kernel.input(1);
  const te::Tensor updates = kernel.input(2);
  const size_t axis = kernel.axis("axis", data.rank());
  const auto place_of = [&](te::Indices item, const te::Indices& place) {
    item[axis] = place[0];
    return item;
  };
  const Scatter scatter{data,
                        {indices.extent(axis)},
                        [&](const te::Indices& item, const te::Indices& place) {
                          std::vector<PrimExpr> has_update;
                          for (size_t k = 0; k < data.rank(); ++k) {
                            if (k == axis || same_extent(indices.extent(k), data.extent(k)))
                              continue;
                            has_update.push_back(lt(item[k], indices.extent(k)));
                          }
                          const PrimExpr is_for =
                              eq(inside(indices(place_of(item, place)), data.extent(axis)),
                                 item[axis]);
                          if (has_update.empty()) return is_for;
                          return if_then_else(all_of(has_update), is_for, int_imm(0, boolean));
                        },
                        [&](const te::Indices& item, const te::Indices& place) {
                          return updates(place_of(item, place));
                        }};
  return kernel.finish(scatter.result(kernel.text("reduction")));
}

Expr scatter_nd(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor data = kernel.input(0);
  const te::Tensor indices = kernel.input(1);
  const te::Tensor updates = kernel.input(2);
  const size_t outer = indices.rank() - 1;
  const auto depth = known_int(indices.extent(outer));
  if (!depth) return call;
  const auto known_depth = static_cast<size_t>(*depth);
  const Scatter scatter{data, part(indices.shape(), 0, outer),
                        [&](const te::Indices& item, const te::Indices& place) {
                          std::vector<PrimExpr> same;
                          for (size_t k = 0; k < known_depth; ++k) {
                            te::Indices index = place;
                            index.push_back(int_imm(static_cast<int64_t>(k)));
                            same.push_back(eq(inside(indices(index), data.extent(k)), item[k]));
                          }
                          return all_of(same);
                        },
                        [&](const te::Indices& item, const te::Indices& place) {
                          te::Indices source = place;
                          append(source, part(item, known_depth, item.size()));
                          return updates(source);
                        }};
  return kernel.finish(scatter.result(kernel.text("reduction")));
}

}  // namespace nnef_tvm
