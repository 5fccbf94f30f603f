// Extents and shapes. Arithmetic is 64-bit and checked: an overflow makes an invalid Dim, which
// every result keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace nnef {

/// One extent. All arithmetic on extents goes through this class (never through plain integers), so
/// that a symbolic extent is a change inside it.
class Dim {
 public:
  Dim() = default;
  Dim(int64_t value)
      : value_(value),
        valid_(true) {}  // NOLINT(google-explicit-constructor): a literal is an extent

  /// False after an overflow or a division by zero.
  bool valid() const { return valid_; }
  /// Only when valid().
  int64_t value() const { return value_; }

  friend Dim operator+(Dim a, Dim b);
  friend Dim operator-(Dim a, Dim b);
  friend Dim operator*(Dim a, Dim b);
  friend bool operator==(Dim a, Dim b) { return a.valid_ && b.valid_ && a.value_ == b.value_; }

 private:
  int64_t value_ = 0;
  bool valid_ = false;
};

/// Rounded towards minus infinity; `b` must be positive, else the result is invalid.
Dim floor_div(Dim a, Dim b);
/// Rounded towards plus infinity; `b` must be positive, else the result is invalid.
Dim ceil_div(Dim a, Dim b);
Dim max(Dim a, Dim b);
Dim min(Dim a, Dim b);

using Shape = std::vector<Dim>;

/// The number of items; invalid when it does not fit.
Dim volume(const Shape& shape);
/// "224"; "?" when invalid
std::string to_string(Dim dim);
/// "[1,3,224,224]"
std::string to_string(const Shape& shape);
/// True when every extent is valid.
bool valid(const Shape& shape);

}  // namespace nnef
