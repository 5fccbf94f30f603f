#include "nnef/shape.h"

#include <algorithm>

namespace nnef {

Dim operator+(Dim a, Dim b) {
  int64_t sum = 0;
  if (!a.valid_ || !b.valid_ || __builtin_add_overflow(a.value_, b.value_, &sum)) return {};
  return sum;
}

Dim operator-(Dim a, Dim b) {
  int64_t difference = 0;
  if (!a.valid_ || !b.valid_ || __builtin_sub_overflow(a.value_, b.value_, &difference)) return {};
  return difference;
}

Dim operator*(Dim a, Dim b) {
  int64_t product = 0;
  if (!a.valid_ || !b.valid_ || __builtin_mul_overflow(a.value_, b.value_, &product)) return {};
  return product;
}

Dim floor_div(Dim a, Dim b) {
  if (!a.valid() || !b.valid() || b.value() <= 0) return {};
  const int64_t quotient = a.value() / b.value();
  return a.value() % b.value() < 0 ? quotient - 1 : quotient;
}

Dim ceil_div(Dim a, Dim b) {
  if (!a.valid() || !b.valid() || b.value() <= 0) return {};
  const int64_t quotient = a.value() / b.value();
  return a.value() % b.value() > 0 ? quotient + 1 : quotient;
}

Dim max(Dim a, Dim b) {
  if (!a.valid() || !b.valid()) return {};
  return std::max(a.value(), b.value());
}

Dim min(Dim a, Dim b) {
  if (!a.valid() || !b.valid()) return {};
  return std::min(a.value(), b.value());
}

Dim volume(const Shape& shape) {
  Dim product = 1;
  for (const Dim extent : shape) product = product * extent;
  return product;
}

std::string to_string(Dim dim) { return dim.valid() ? std::to_string(dim.value()) : "?"; }

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const Dim extent : shape) {
    if (text.size() > 1) text += ',';
    text += to_string(extent);
  }
  return text + "]";
}

bool valid(const Shape& shape) {
  return std::ranges::all_of(shape, [](Dim extent) { return extent.valid(); });
}

}  // namespace nnef
