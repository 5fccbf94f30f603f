// Products of matrices, normalisations, and quantisations.
#include <fmt/format.h>

#include <array>
#include <initializer_list>

#include "ops/helpers.h"
#include "ops/window_helpers.h"

namespace nnef {
namespace {

/// Bits per item of a tensor file, which bounds what a quantisation can mean.
constexpr int64_t kMaxBits = 64;

/// The sum of products, which converters write as matmul.
bool vector_product(RuleContext& c, Dim a, Dim b) {
  if (!(a == b)) {
    return c.fail("inner", "B",
                  fmt::format("vector 'A' has {} items, 'B' has {}", to_string(a), to_string(b)));
  }
  c.warn("vectors", "",
         "'A' and 'B' have rank 1, where the standard asks for 2 or more; taken as the product of "
         "vectors, of rank 0");
  c.set("C", {});
  return true;
}

bool matmul(RuleContext& c) {
  const Shape& a = c.shape("A");
  const Shape& b = c.shape("B");
  const size_t rank = a.size();
  if (rank == 1 && b.size() == 1) return vector_product(c, a[0], b[0]);
  if (rank < 2 || b.size() != rank) {
    return c.fail("rank", rank < 2 ? "A" : "B",
                  fmt::format("'A' has rank {} and 'B' has rank {}, expected one rank of 2 or more",
                              rank, b.size()));
  }
  const bool transposed_a = c.logical("transposeA");
  const bool transposed_b = c.logical("transposeB");
  const Dim inner_a = a[transposed_a ? rank - 2 : rank - 1];
  const Dim inner_b = b[transposed_b ? rank - 1 : rank - 2];
  if (!(inner_a == inner_b)) {
    const bool fits_transposed = inner_a == b[transposed_b ? rank - 2 : rank - 1];
    return c.fail("inner", "B",
                  fmt::format("rows of 'A' have {} items{}, columns of 'B' have {}{}",
                              to_string(inner_a), transposed_a ? " (transposed)" : "",
                              to_string(inner_b), transposed_b ? " (transposed)" : ""),
                  fits_transposed ? fmt::format("transposeB = {} would fit", !transposed_b) : "");
  }
  auto shape = broadcast_inputs(c, "B", {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  if (!shape) return false;
  shape->push_back(a[transposed_a ? rank - 1 : rank - 2]);
  shape->push_back(b[transposed_b ? rank - 2 : rank - 1]);
  c.set("C", *shape);
  return true;
}

/// The product of the batches of two matrices of equal rank ("rank"), the second transposed. A bias
/// of rank 1 is of the last axis, as converters from other formats mean it.
bool linear(RuleContext& c) {
  const Shape& input = c.shape("input");
  const Shape& filter = c.shape("filter");
  const size_t rank = input.size();
  if (rank < 2 || filter.size() != rank) {
    return c.fail(
        "rank", rank < 2 ? "input" : "filter",
        fmt::format("'input' has rank {} and 'filter' has rank {}, expected one rank of 2 "
                    "or more",
                    rank, filter.size()),
        filter.size() < rank ? "unsqueeze(filter, axes = [0]) adds an axis of batches" : "");
  }
  if (!(input.back() == filter.back())) {
    return c.fail(
        "channels", "filter",
        fmt::format("'filter' has {} channels, expected {} as 'input' has",
                    to_string(filter.back()), to_string(input.back())),
        filter[rank - 2] == input.back() ? "the filter is (channels out, channels in)" : "");
  }
  auto shape = broadcast_inputs(c, "filter", {input.begin(), input.end() - 2},
                                {filter.begin(), filter.end() - 2});
  if (!shape) return false;
  shape->push_back(input[rank - 2]);
  shape->push_back(filter[rank - 2]);
  const Shape& bias = c.shape("bias");
  Shape row = bias;
  if (bias.size() == 1) row.insert(row.begin(), rank - 1, 1);
  if (const auto sum = broadcast(*shape, row); !sum || *sum != *shape) {
    return c.fail("bias-shape", "bias",
                  fmt::format("'bias' has shape {}, expected [1,{}] or what broadcasts to {}",
                              to_string(bias), to_string(shape->back()), to_string(*shape)));
  }
  c.set("output", *shape);
  return true;
}

bool softmax(RuleContext& c) {
  if (!check_axes(c, c.shape("x").size())) return false;
  c.set("y", c.shape("x"));
  return true;
}

bool normalization(RuleContext& c) {
  if (!check_axes(c, c.shape("input").size())) return false;
  c.set("output", c.shape("input"));
  return true;
}

/// Normalisations over a neighbourhood: windows of full rank with automatic padding.
bool local_normalization(RuleContext& c) {
  const Shape& input = c.shape("input");
  auto size = read_size(c);
  if (!size) return false;
  Window window = plain_window(std::move(*size), "size");
  Shape shape = input;
  if (!slide(c, window, input, shape)) return false;
  resolve(c, window);
  c.set("output", shape);
  return true;
}

bool batch_normalization(RuleContext& c) {
  const Shape& input = c.shape("input");
  for (const std::string_view parameter : {"mean", "variance", "offset", "scale"}) {
    if (!check_broadcastable(c, parameter, input)) return false;
  }
  const double epsilon = c.scalar("epsilon");
  if (!(epsilon >= 0)) {
    return c.fail("epsilon-negative", "epsilon",
                  fmt::format("'epsilon' is {}, expected 0 or more", epsilon));
  }
  c.set("output", input);
  return true;
}

/// The parameters of a quantisation broadcast to its input.
bool quantize(RuleContext& c, std::initializer_list<std::string_view> parameters) {
  for (const std::string_view parameter : parameters) {
    if (!check_broadcastable(c, parameter, c.shape("x"))) return false;
  }
  const int64_t bits = c.integer("bits");
  const bool has_zero_width = c.has("signed") && c.logical("signed") && c.logical("symmetric");
  const int64_t least = has_zero_width ? 2 : 1;
  if (bits < least || bits > kMaxBits) {
    return c.fail("bits-range", "bits",
                  fmt::format("'bits' is {}, expected {} to {}", bits, least, kMaxBits));
  }
  c.set("y", c.shape("x"));
  return true;
}

bool range_quantize(RuleContext& c) { return quantize(c, {"min", "max"}); }
bool zero_point_quantize(RuleContext& c) { return quantize(c, {"zero_point", "scale"}); }
bool logarithmic_quantize(RuleContext& c) { return quantize(c, {"max"}); }

constexpr std::array kRules{
    ShapeRuleRow{"matmul", matmul},
    ShapeRuleRow{"linear", linear},
    ShapeRuleRow{"softmax", softmax},
    ShapeRuleRow{"local_response_normalization", local_normalization},
    ShapeRuleRow{"local_mean_normalization", local_normalization},
    ShapeRuleRow{"local_variance_normalization", local_normalization},
    ShapeRuleRow{"local_contrast_normalization", local_normalization},
    ShapeRuleRow{"l1_normalization", normalization},
    ShapeRuleRow{"l2_normalization", normalization},
    ShapeRuleRow{"batch_normalization", batch_normalization},
    ShapeRuleRow{"min_max_linear_quantize", range_quantize},
    ShapeRuleRow{"zero_point_linear_quantize", zero_point_quantize},
    ShapeRuleRow{"linear_quantize", range_quantize},
    ShapeRuleRow{"logarithmic_quantize", logarithmic_quantize},
};

}  // namespace

std::span<const ShapeRuleRow> linear_rules() { return kRules; }

}  // namespace nnef
