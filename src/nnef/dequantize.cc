// From stored items to the reals that they stand for (NNEF 1.0.5, "Tensor File Format" and
// "Quantization Operations").
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>

#include "nnef/quantization.h"
#include "quant_parameters.h"

namespace nnef {
namespace {

/// How the indices of quantised data are coded.
struct Coding {
  int64_t bits;  ///< of the grid
  bool is_signed;
  bool symmetric;
  uint32_t stored_bits;
};

/// The real that the stored item `q` stands for, with the two parameters of the operation.
using Decode = double (*)(double q, double a, double b, const Coding& coding);

double from_range(double q, double low, double high, const Coding& coding) {
  const double narrowed = coding.is_signed && coding.symmetric ? 1 : 0;
  const auto bits = static_cast<double>(coding.bits);
  const double steps = std::exp2(bits) - 1 - narrowed;
  const double zero = coding.is_signed ? std::exp2(bits - 1) - narrowed : 0;
  return (q + zero) / steps * (high - low) + low;
}

double from_zero_point(double q, double zero_point, double scale, const Coding&) {
  return (q - zero_point) * scale;
}

/// `q` holds the bits of the item as they are. A signed one is a sign bit and a magnitude, so that
/// both signs of the least power have a code.
double from_logarithm(double q, double max, double, const Coding& coding) {
  const auto stored = static_cast<double>(coding.stored_bits - (coding.is_signed ? 1 : 0));
  const double sign_bit = std::exp2(stored);
  const bool negative = coding.is_signed && q >= sign_bit;
  const double index = negative ? q - sign_bit : q;
  const auto grid_bits = static_cast<double>(coding.bits);
  const double steps = std::exp2(coding.is_signed ? std::min(grid_bits, stored) : grid_bits) - 1;
  const double magnitude = std::exp2(index + std::ceil(std::log2(max)) - steps);
  return negative ? -magnitude : magnitude;
}

struct DecodeRow {
  std::string_view operation;
  std::array<std::string_view, 2> parameters;  ///< the second may be absent
  bool raw_bits;                               ///< signed items are no two's complement
  Decode decode;
};
constexpr std::array kDecodings{
    DecodeRow{"min_max_linear_quantize", {"min", "max"}, false, from_range},
    DecodeRow{"linear_quantize", {"min", "max"}, false, from_range},
    DecodeRow{"zero_point_linear_quantize", {"zero_point", "scale"}, false, from_zero_point},
    DecodeRow{"logarithmic_quantize", {"max", ""}, true, from_logarithm},
};

const DecodeRow* find_decoding(std::string_view operation) {
  const auto found = std::ranges::find(kDecodings, operation, &DecodeRow::operation);
  return found == kDecodings.end() ? nullptr : &*found;
}

std::optional<std::vector<double>> stored_items(const TensorData& data, bool raw_bits) {
  TensorData plain = data;
  const bool is_signed = data.type.code == ItemCode::quantized_int && !raw_bits;
  plain.type.code = is_signed ? ItemCode::int_ : ItemCode::uint_;
  return to_doubles(plain);
}

std::optional<std::vector<double>> by_entry(const TensorData& data, const Quantization& entry) {
  const DecodeRow* row = find_decoding(entry.name);
  if (row == nullptr) return std::nullopt;
  const Coding coding{integer_argument(entry, "bits", data.type.bits),
                      data.type.code == ItemCode::quantized_int,
                      integer_argument(entry, "symmetric", 0) != 0, data.type.bits};
  const bool two = !row->parameters[1].empty();
  const auto first = broadcast_argument(entry, row->parameters[0], data.shape);
  const auto second = two ? broadcast_argument(entry, row->parameters[1], data.shape) : first;
  auto values = stored_items(data, row->raw_bits);
  if (!first || !second || !values) return std::nullopt;
  for (size_t i = 0; i < values->size(); ++i) {
    (*values)[i] = row->decode((*values)[i], (*first)[i % first->size()],
                               (*second)[i % second->size()], coding);
  }
  return values;
}

/// In files with parameters, code 2 is linear and code 3 logarithmic, signed when min is -max.
std::optional<std::vector<double>> by_parameters(const TensorData& data) {
  float low = 0;
  float high = 0;
  std::memcpy(&low, &data.parameters[0], sizeof low);
  std::memcpy(&high, &data.parameters[1], sizeof high);
  const bool linear = data.type.code == ItemCode::quantized_uint;
  const bool sound = linear ? low < high : high > 0 && (low == 0 || low == -high);
  if (!sound) return std::nullopt;
  const Coding coding{data.type.bits, !linear && low < 0, false, data.type.bits};
  auto values = stored_items(data, true);
  if (!values) return std::nullopt;
  for (double& value : *values) {
    value = linear ? from_range(value, low, high, coding) : from_logarithm(value, high, 0, coding);
  }
  return values;
}

}  // namespace

std::optional<std::vector<double>> real_values(const Tensor& variable) {
  if (variable.data == nullptr) return std::nullopt;
  const TensorData& data = *variable.data;
  if (!is_quantized(data.type)) return to_doubles(data);
  return variable.quantization ? by_entry(data, *variable.quantization) : by_parameters(data);
}

}  // namespace nnef
