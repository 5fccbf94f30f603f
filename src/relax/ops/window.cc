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

/// TVM convolves over 1 to 3 spatial axes.
bool check_spatial_rank(const LoweringContext& op) {
  const size_t rank = op.rank("input");
  if (rank >= 3 && rank <= max_spatial_rank + 2) return true;
  op.fail("spatial-rank", "input",
          fmt::format("'input' has rank {}; ranks from 3 to {} are supported", rank,
                      max_spatial_rank + 2));
  return false;
}

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
  if (!check_spatial_rank(op)) return {};
  Pairs padding = op.resolved_pairs("padding");
  const std::string& border = op.string("border");
  Expr x = op.input("input");
  if (!is_zero(padding) && (border != "constant" || has_negative(padding))) {
    padding.insert(padding.begin(), 2, {0, 0});
    x = pad_border(x, op.extents("input"), padding, border);
    padding.assign(padding.size() - 2, {0, 0});
  }
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
  if (!check_spatial_rank(op)) return {};
  const Ints result = op.result_extents();
  return add_bias(op, transposed_conv(op.input("input"), op.extents("input"), op.input("filter"),
                                      op.extents("filter"),
                                      {.stride = op.resolved_integers("stride"),
                                       .dilation = op.resolved_integers("dilation"),
                                       .padding = op.resolved_pairs("padding"),
                                       .border = op.string("border"),
                                       .result = Ints(result.begin() + 2, result.end()),
                                       .groups = op.resolved_integer("groups")}));
}

Expr lower_box(const LoweringContext& op) {
  Window window = full_window(op, op.extents("input"));
  // A sum is the same whether the border is zero or left out.
  if (!op.logical("normalize") && window.border == "ignore") window.border = "constant";
  const Expr mean = mean_of_windows(op.input("input"), window);
  return op.logical("normalize") ? mean : mean * op.number(static_cast<double>(window.volume()));
}

/// Whether the transposed windows lie side by side and fill the result.
bool repeats_items(const Window& window, const Ints& result) {
  for (size_t axis = 0; axis < window.rank(); ++axis) {
    if (window.dilation[axis] != 1 && window.size[axis] != 1) return false;
    if (result[axis] != window.extents[axis] * window.size[axis]) return false;
  }
  return window.size == window.stride && is_zero(window.padding);
}

Expr lower_debox(const LoweringContext& op) {
  const Window window = full_window(op, op.extents("input"));
  Expr x = op.input("input");
  const Ints result = op.result_extents();
  x = repeats_items(window, result) ? repeat_items(x, window.extents, window.size)
                                    : spread_windows(x, window, result);
  return op.logical("normalize") ? x * op.number(1.0 / static_cast<double>(window.volume())) : x;
}

Expr lower_max_pool(const LoweringContext& op) {
  return max_of_windows(op.input("input"), full_window(op, op.extents("input")));
}

Expr lower_avg_pool(const LoweringContext& op) {
  return mean_of_windows(op.input("input"), full_window(op, op.extents("input")));
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
