// Windows whose items are told apart by their index, the row-major position inside the window. They
// are lowered to one slice of the input for each position.

#include <limits>

#include "relax/ops/window.h"

#include <fmt/format.h>

namespace nnef_tvm {
namespace {

using namespace relax::operators;

constexpr int64_t max_positions = 1024;

/// The offsets of an item of the window on each axis.
Ints offsets(const Window& window, int64_t position) {
  Ints at(window.rank());
  for (size_t axis = window.rank(); axis-- > 0;) {
    at[axis] = position % window.size[axis] * window.dilation[axis];
    position /= window.size[axis];
  }
  return at;
}

/// For each position of the window, what stands there; `result` is the shape of the results.
std::vector<Expr> window_items(const LoweringContext& op, const Window& window, const Ints& result,
                               Expr x) {
  x = op.let(x);
  std::vector<Expr> items;
  for (int64_t position = 0; position < window.volume(); ++position) {
    Ints axes;
    Ints begin;
    Ints end;
    Ints stride;
    const Ints at = offsets(window, position);
    for (size_t axis = 0; axis < window.rank(); ++axis) {
      if (window.trivial(axis) && result[axis] == window.extents[axis]) continue;
      axes.push_back(static_cast<int64_t>(axis));
      begin.push_back(at[axis]);
      stride.push_back(window.stride[axis]);
      end.push_back(at[axis] + (result[axis] - 1) * window.stride[axis] + 1);
    }
    items.push_back(axes.empty() ? x : relax::strided_slice(x, axes, begin, end, stride));
  }
  return items;
}

bool is_small(const LoweringContext& op, const Window& window) {
  if (window.volume() <= max_positions) return true;
  op.fail("window-volume", "size",
          fmt::format("the window has {} items, more than the {} that are supported",
                      window.volume(), max_positions));
  return false;
}

Expr is_at(const Expr& index, int64_t position) {
  return relax::equal(index, integer_constant(position, int32));
}

}  // namespace

Expr lower_argmax_pool(const LoweringContext& op) {
  Window window = full_window(op, op.extents("input"));
  if (!is_small(op, window)) return {};
  const bool ignore = window.border == "ignore";
  const double outside = ignore ? std::numeric_limits<float>::lowest() : 0;
  const Expr x = absorb_padding(op.input("input"), window, outside);
  const auto items = window_items(op, window, op.result_extents(), x);
  const Expr stacked = relax::stack(Array<Expr>(items.begin(), items.end()), 0);
  return relax::astype(relax::squeeze(relax::argmax(stacked, 0), {0}), int32);
}

Expr lower_sample(const LoweringContext& op) {
  Window window = full_window(op, op.extents("input"));
  if (!is_small(op, window)) return {};
  const Expr x = absorb_padding(op.input("input"), window);
  const auto items = window_items(op, window, op.result_extents(), x);
  Expr result = items.front();
  for (size_t i = 1; i < items.size(); ++i) {
    const Expr chosen = is_at(op.input("index"), static_cast<int64_t>(i));
    result = op.let(relax::where(chosen, items[i], result));
  }
  return result;
}

Expr lower_desample(const LoweringContext& op) {
  const Ints extents = op.extents("input");
  const Window window = full_window(op, extents);
  if (!is_small(op, window)) return {};
  const Ints result = op.result_extents();
  Expr sum;
  for (int64_t position = 0; position < window.volume(); ++position) {
    const Ints at = offsets(window, position);
    Ints spread;
    Pairs padding;
    for (size_t axis = 0; axis < window.rank(); ++axis) {
      spread.push_back((extents[axis] - 1) * window.stride[axis] + 1);
      const int64_t before = at[axis] - window.padding[axis].first;
      padding.emplace_back(before, result[axis] - before - spread[axis]);
    }
    const Expr here =
        relax::where(is_at(op.input("index"), position), op.input("input"), op.number(0));
    const Expr placed =
        pad_border(insert_zeros(here, extents, window.stride), spread, padding, "constant");
    sum = op.let(sum.defined() ? sum + placed : placed);
  }
  return sum;
}

}  // namespace nnef_tvm
