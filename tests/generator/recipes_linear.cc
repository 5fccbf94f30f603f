#include <array>

#include "recipes.h"

namespace generator {
namespace {

constexpr Range small{0.125, 1};

void matmul(Draft& d, const std::string& operation) {
  const DType dtype = d.number();
  const Operand a = d.tensor(dtype, 2);
  const bool transpose_a = d.choices.flip(), transpose_b = d.choices.flip();
  const size_t rank = a.shape.size();
  const int64_t inner = a.shape[transpose_a ? rank - 2 : rank - 1];
  Extents shape(a.shape.begin(), a.shape.end() - 2);
  for (int64_t& extent : shape) {
    // Either operand is repeated along batch axes.
    if (extent == 1) extent = d.choices.rarely(4) ? 2 : 1;
    if (d.choices.rarely(3)) extent = 1;
  }
  const int64_t columns = d.extent();
  shape.push_back(transpose_b ? columns : inner);
  shape.push_back(transpose_b ? inner : columns);
  std::vector<std::string> attributes;
  if (transpose_a || d.choices.flip()) attributes.push_back(attribute("transposeA", transpose_a));
  if (transpose_b || d.choices.flip()) attributes.push_back(attribute("transposeB", transpose_b));
  d.call(operation, {a, d.shaped(dtype, shape)}, attributes);
}

void linear(Draft& d, const std::string& operation) {
  const Operand x = d.operand(
      DType::scalar, [](const Extents& shape) { return shape.size() == 2; },
      [&] { return d.shape(2); });
  const int64_t out = d.extent();
  std::vector<Operand> operands{x, d.shaped(DType::scalar, {out, x.shape[1]})};
  const uint32_t bias = d.choices.below(5);
  if (bias == 1) operands.push_back(d.literal(DType::scalar));
  if (bias == 2) operands.push_back(d.shaped(DType::scalar, {out}));
  if (bias == 3) operands.push_back(d.shaped(DType::scalar, {1, out}));
  if (bias == 4) operands.push_back(d.shaped(DType::scalar, {1, 1}));
  d.call(operation, operands, {});
}

void softmax(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar, 1);
  std::vector<std::string> attributes;
  if (x.shape.size() < 2 || d.choices.flip()) {
    attributes.push_back(attribute("axes", draw_axes(d, x.shape.size())));
  }
  d.call(operation, {x}, attributes);
}

std::string drawn(Draft& d, const std::string& name, Range range) {
  return name + " = " + d.literal(DType::scalar, range).text;
}

/// Divisors are kept away from 0 by a bias or an epsilon.
void add_guards(Draft& d, std::vector<std::string>& attributes) {
  const uint32_t which = d.choices.below(3);
  if (which != 1) attributes.push_back(drawn(d, "epsilon", small));
  if (which != 0) attributes.push_back(drawn(d, "bias", small));
}

void axes_normalization(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar, 1);
  std::vector<std::string> attributes{attribute("axes", draw_axes(d, x.shape.size()))};
  add_guards(d, attributes);
  d.call(operation, {x}, attributes);
}

std::string neighbourhood(Draft& d, size_t rank) {
  Extents size;
  for (size_t i = 0; i < rank; ++i) size.push_back(d.choices.integer(1, 3));
  return attribute("size", size);
}

void local_mean(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar, 1);
  d.call(operation, {x}, {neighbourhood(d, x.shape.size())});
}

void local_normalization(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar, 1);
  std::vector<std::string> attributes{neighbourhood(d, x.shape.size())};
  add_guards(d, attributes);
  d.call(operation, {x}, attributes);
}

void local_response(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar, 1);
  std::vector<std::string> attributes{neighbourhood(d, x.shape.size())};
  if (d.choices.flip()) attributes.push_back(drawn(d, "alpha", {0.25, 2}));
  if (d.choices.flip()) attributes.push_back(drawn(d, "beta", {0.25, 1}));
  if (d.choices.flip()) attributes.push_back(drawn(d, "bias", {0.5, 2}));
  d.call(operation, {x}, attributes);
}

/// For each channel, one for all, or anything that broadcasts.
Operand channel_parameter(Draft& d, const Operand& x, Range range) {
  if (x.shape.size() >= 2 && d.choices.flip()) {
    return d.shaped(DType::scalar, {1, x.shape[1]}, range);
  }
  return d.partner(DType::scalar, x.shape, range);
}

void batch_normalization(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar);
  const Operand mean = channel_parameter(d, x, any_number);
  const Operand variance = channel_parameter(d, x, positive);
  const Operand offset = channel_parameter(d, x, any_number);
  const Operand scale = channel_parameter(d, x, any_number);
  d.call(operation, {x, mean, variance, offset, scale}, {drawn(d, "epsilon", {0, 1})});
}

std::string bits(Draft& d) { return attribute("bits", d.choices.integer(2, 10)); }

void add_signs(Draft& d, std::vector<std::string>& attributes) {
  attributes.push_back(attribute("signed", d.choices.flip()));
  attributes.push_back(attribute("symmetric", d.choices.flip()));
}

void range_quantize(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar);
  const Operand low = channel_parameter(d, x, {-4, -0.5});
  const Operand high = channel_parameter(d, x, {0.5, 4});
  std::vector<std::string> attributes{bits(d)};
  if (operation == "min_max_linear_quantize") add_signs(d, attributes);
  d.call(operation, {x, low, high}, attributes);
}

void zero_point_quantize(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar);
  const Operand zero = d.partner(DType::integer, x.shape, {-4, 130});
  const Operand scale = channel_parameter(d, x, {0.03125, 0.5});
  std::vector<std::string> attributes{bits(d)};
  add_signs(d, attributes);
  d.call(operation, {x, zero, scale}, attributes);
}

void logarithmic_quantize(Draft& d, const std::string& operation) {
  const Operand x = d.tensor(DType::scalar);
  d.call(operation, {x, channel_parameter(d, x, positive)}, {bits(d)});
}

constexpr std::array kRecipes{
    Recipe{"matmul", matmul},
    Recipe{"linear", linear},
    Recipe{"softmax", softmax},
    Recipe{"local_response_normalization", local_response},
    Recipe{"local_mean_normalization", local_mean},
    Recipe{"local_variance_normalization", local_normalization},
    Recipe{"local_contrast_normalization", local_normalization},
    Recipe{"l1_normalization", axes_normalization},
    Recipe{"l2_normalization", axes_normalization},
    Recipe{"batch_normalization", batch_normalization},
    Recipe{"min_max_linear_quantize", range_quantize, Precision::stepped},
    Recipe{"zero_point_linear_quantize", zero_point_quantize, Precision::stepped},
    Recipe{"linear_quantize", range_quantize, Precision::stepped},
    Recipe{"logarithmic_quantize", logarithmic_quantize, Precision::stepped},
};

}  // namespace

std::span<const Recipe> linear_recipes() { return kRecipes; }

}  // namespace generator
