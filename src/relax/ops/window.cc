#include "relax/ops/window.h"

#include <fmt/format.h>

#include <algorithm>

namespace nnef_tvm {
namespace {

using namespace relax::operators;

constexpr size_t max_spatial_rank = 3;

bool is_zero(const Pairs& padding) {
  return std::all_of(padding.begin(), padding.end(),
                     [](const auto& pair) { return pair.first == 0 && pair.second == 0; });
}

bool has_negative(const Pairs& padding) {
  return std::any_of(padding.begin(), padding.end(),
                     [](const auto& pair) { return pair.first < 0 || pair.second < 0; });
}

/// TVM's operators convolve over 1 to 3 spatial axes.
bool has_operator(const LoweringContext& op) { return op.rank("input") <= max_spatial_rank + 2; }

/// A bias is a number, or one number for each channel: [C], or [1,C] with or without trailing ones.
Expr add_bias(const LoweringContext& op, Expr x) {
  const double* number = op.literal_scalar("bias");
  if (number != nullptr) return *number == 0 ? x : x + op.number(*number);
  const size_t rank = op.rank("input");
  if (op.rank("bias") != 1) return x + op.input("bias", rank);
  Ints shape(rank, 1);
  shape[1] = op.extents("bias").front();
  return x + relax::reshape(op.input("bias"), shape);
}

Expr lower_conv(const LoweringContext& op) {
  Pairs padding = op.resolved_pairs("padding");
  const std::string& border = op.string("border");
  Expr x = op.input("input");
  const bool absorbs = border != "constant" || has_negative(padding) || !has_operator(op);
  if (!is_zero(padding) && absorbs) {
    padding.insert(padding.begin(), 2, {0, 0});
    x = pad_border(x, op.shape("input"), padding, border);
    padding.assign(padding.size() - 2, {0, 0});
  }
  if (!has_operator(op)) return add_bias(op, any_conv(op, x));
  Ints before;
  Ints after;
  for (const auto& pair : padding) {
    before.push_back(pair.first);
    after.push_back(pair.second);
  }
  before.insert(before.end(), after.begin(), after.end());
  return add_bias(op, relax::conv(x, op.input("filter"), op.resolved_integers("stride"), before,
                                  op.resolved_integers("dilation"), op.resolved_integer("groups")));
}

Expr lower_deconv(const LoweringContext& op) {
  const Ints result = op.result_extents();
  const TransposedConv conv{.stride = op.resolved_integers("stride"),
                            .dilation = op.resolved_integers("dilation"),
                            .padding = op.resolved_pairs("padding"),
                            .border = op.string("border"),
                            .result = Ints(result.begin() + 2, result.end()),
                            .groups = op.resolved_integer("groups")};
  const Expr x = op.input("input");
  if (!has_operator(op)) return add_bias(op, any_transposed_conv(op, x, conv));
  return add_bias(
      op, transposed_conv(x, op.extents("input"), op.input("filter"), op.extents("filter"), conv));
}

Expr lower_box(const LoweringContext& op) {
  if (!op.logical("normalize")) return sum_of_windows(op);
  return mean_of_windows(op.input("input"), full_window(op, op.shape("input")));
}

/// Whether the transposed windows lie side by side and fill the result.
bool repeats_items(const Window& window, const Ints& result) {
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    if (window.dilation[axis] != 1 && window.size[axis] != 1) return false;
    if (!(window.extents[axis] * window.size[axis] == result[axis])) return false;
  }
  return window.size == window.stride && is_zero(window.padding);
}

Expr lower_debox(const LoweringContext& op) {
  const Window window = full_window(op, op.shape("input"));
  Expr x = op.input("input");
  const Ints result = op.result_extents();
  x = repeats_items(window, result) ? repeat_items(op, x, window.extents, window.size)
                                    : spread_windows(x, window, result);
  return op.logical("normalize") ? x * op.number(1.0 / static_cast<double>(window.volume())) : x;
}

Expr lower_max_pool(const LoweringContext& op) {
  return max_of_windows(op.input("input"), full_window(op, op.shape("input")));
}

Expr lower_avg_pool(const LoweringContext& op) {
  return mean_of_windows(op.input("input"), full_window(op, op.shape("input")));
}

std::vector<Expr> lower_max_pool_with_index(const LoweringContext& op) {
  const Expr index = lower_argmax_pool(op);
  if (!index.defined()) return {};
  return {lower_max_pool(op), index};
}

constexpr LoweringRow rows[] = {
    {"conv", lower_conv},
    {"deconv", lower_deconv},
    {"box", lower_box},
    {"debox", lower_debox},
    {"argmax_pool", lower_argmax_pool},
    {"sample", lower_sample},
    {"desample", lower_desample},
    {"max_pool", lower_max_pool},
    {"max_pool_with_index", lower_max_pool_with_index},
    {"avg_pool", lower_avg_pool},
};

}  // namespace

std::span<const LoweringRow> window_lowerings() { return rows; }

}  // namespace nnef_tvm
