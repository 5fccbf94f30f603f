// Windows that no Relax operator slides: sums, and those whose items are told apart by their index,
// the row-major position inside the window.
#include "tvm/emit_te.h"

#include <algorithm>

#include "relax/ops/window.h"
#include "tvm/indices.h"

namespace nnef_tvm {
namespace {

/// Reductions over the axes on which the window has more than one item.
class WindowItems {
 public:
  explicit WindowItems(const Window& window) : size_(te_shape(window.size)) {
    for (size_t axis = 0; axis < window.rank(); ++axis) {
      offset_.push_back(int_imm(0));
      if (window.size[axis] == 1) continue;
      axes_.push_back(te::reduce_axis(int_imm(window.size[axis]), "k" + std::to_string(axis)));
      offset_.back() = axes_.back().index;
    }
  }

  const std::vector<te::ReduceAxis>& axes() const { return axes_; }
  const te::Indices& offset() const { return offset_; }
  PrimExpr position() const { return cast(ravel(offset_, size_), int32); }

 private:
  te::Shape size_;
  std::vector<te::ReduceAxis> axes_;
  te::Indices offset_;
};

/// Where an item of the window at `i` stands in the input.
te::Indices place_of(const Window& window, const te::Indices& i, const te::Indices& offset) {
  te::Indices place;
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    place.push_back(i[axis] * window.stride[axis] + offset[axis] * window.dilation[axis] -
                    window.padding[axis].first);
  }
  return place;
}

PrimExpr is_inside(const te::Indices& place, const Ints& extents) {
  std::vector<PrimExpr> inside;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    inside.push_back(both(ge(place[axis], 0), lt(place[axis], extents[axis])));
  }
  return all_of(inside);
}

}  // namespace

Expr sum_of_windows(const LoweringContext& op) {
  Window window = full_window(op, op.shape("input"));
  const Expr x = absorb_padding(op.input("input"), window);
  const WindowItems items(window);
  return emit_te(op.builder(), "box", {x}, [&](const auto& args) {
    return te::compute(op.result_dims(), "box", [&](const te::Indices& i) {
      return te::sum(args[0](place_of(window, i, items.offset())), items.axes());
    });
  });
}

Expr lower_argmax_pool(const LoweringContext& op) {
  Window window = full_window(op, op.shape("input"));
  const bool ignores = window.border == "ignore";
  Expr x = op.input("input");
  if (!ignores) x = absorb_padding(x, window);
  const WindowItems items(window);
  const te::Shape shape = op.result_dims();
  if (items.axes().empty())
    return relax::full(op.result_extents(), integer_constant(0, int32), int32);
  return emit_te(op.builder(), "argmax_pool", {x}, [&](const auto& args) {
    const te::Tensor& input = args[0];
    // What is outside comes after all that is inside.
    const PrimExpr outside = int_imm(window.volume(), int32);
    const auto best = te::compute_together(shape, "argmax", [&](const te::Indices& i) {
      const te::Indices place = place_of(window, i, items.offset());
      PrimExpr value = input(place);
      PrimExpr position = items.position();
      if (ignores) {
        const PrimExpr inside = is_inside(place, to_extents(window.extents));
        value = if_then_else(inside, value, lowest(input.dtype()));
        position = select(inside, position, outside);
      }
      return te::arg_extreme(value, position, /*greatest=*/true, items.axes());
    });
    return te::compute(shape, "argmax_pool", [&](const te::Indices& i) {
      const PrimExpr position = best[1](i);
      return select(lt(position, outside), position, int_imm(0, int32));
    });
  });
}

/// Nothing checks indices when the model runs: those beyond the window give 0.
Expr lower_sample(const LoweringContext& op) {
  Window window = full_window(op, op.shape("input"));
  const Expr x = absorb_padding(op.input("input"), window);
  const te::Shape size = te_shape(window.size);
  return emit_te(op.builder(), "sample", {x, op.input("index")}, [&](const auto& args) {
    return te::compute(op.result_dims(), "sample", [&](const te::Indices& i) {
      const PrimExpr index = cast(args[1](i), int64);
      const PrimExpr exists = both(ge(index, 0), lt(index, window.volume()));
      return if_then_else(exists, args[0](place_of(window, i, unravel(index, size))),
                          number(0, args[0].dtype()));
    });
  });
}

/// Each item of the result looks at all items that may have been placed there.
Expr lower_desample(const LoweringContext& op) {
  const Ints extents = op.extents("input");
  const Window window = full_window(op, op.shape("input"));
  const WindowItems items(window);
  const std::vector<Expr> inputs{op.input("input"), op.input("index")};
  return emit_te(op.builder(), "desample", inputs, [&](const auto& args) {
    const te::Tensor& input = args[0];
    const PrimExpr zero = number(0, input.dtype());
    return te::compute(op.result_dims(), "desample", [&](const te::Indices& i) {
      std::vector<PrimExpr> exists;
      te::Indices from;
      for (size_t axis = 0; axis < window.rank(); ++axis) {
        const PrimExpr reach =
            i[axis] + window.padding[axis].first - items.offset()[axis] * window.dilation[axis];
        exists.push_back(eq(floormod(reach, window.stride[axis]), 0));
        from.push_back(floordiv(reach, window.stride[axis]));
      }
      exists.push_back(is_inside(from, extents));
      const PrimExpr chosen = eq(args[1](from), cast(items.position(), args[1].dtype()));
      const PrimExpr value = select(chosen, input(from), zero);
      return te::sum(if_then_else(all_of(exists), value, zero), items.axes());
    });
  });
}

}  // namespace nnef_tvm
