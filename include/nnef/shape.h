// Extents and shapes. An extent is an integer or an expression of symbols, whose values are known
// when the model runs. Arithmetic is 64-bit and checked: an overflow makes an invalid Dim, which
// every result keeps.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nnef {

struct DimExpr;

/// One extent. All arithmetic on extents goes through this class. Expressions have one form, so
/// that those that are equal for all values of their symbols mostly compare equal.
class Dim {
 public:
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();

  Dim() = default;
  Dim(int64_t value)
      : value_(value),
        valid_(true) {}  // NOLINT(google-explicit-constructor): a literal is an extent
  /// An extent that has a name, and a value between bounds.
  static Dim symbol(const std::string& name, int64_t least = 1, int64_t most = kUnbounded);

  /// False after an overflow or a division by zero.
  bool valid() const { return valid_; }
  /// Whether it is an integer.
  bool known() const { return valid_ && expression_ == nullptr; }
  /// Only when known().
  int64_t value() const {
    assert(known() && "an extent with symbols has no value");
    return value_;
  }
  /// Of symbols; null for integers.
  const DimExpr* expression() const { return expression_.get(); }
  /// No value is outside of these; kUnbounded and -kUnbounded where nothing is known. Only when
  /// valid().
  int64_t least() const;
  int64_t most() const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  /// Whether they are equal for all values of their symbols.
  friend bool operator==(const Dim& a, const Dim& b);

 private:
  friend Dim make_dim(DimExpr expression);

  int64_t value_ = 0;
  bool valid_ = false;
  std::shared_ptr<const DimExpr> expression_;
};

/// What products are made of: a symbol, or what no sum of products says.
struct DimAtom {
  enum class Kind : uint8_t { symbol, floor_div, max, min };
  Kind kind;
  std::string text;           ///< the name of a symbol; as it is written else
  std::vector<Dim> operands;  ///< two, but for symbols
  int64_t least;
  int64_t most;
};

/// A product with a factor.
struct DimTerm {
  int64_t factor;
  std::vector<std::shared_ptr<const DimAtom>> atoms;
};

/// A sum of products and a constant, in its one order.
struct DimExpr {
  std::vector<DimTerm> terms{};
  int64_t constant = 0;
  std::string text{};
  int64_t least = 0;
  int64_t most = 0;
};

/// Rounded towards minus infinity; `b` must be positive, else the result is invalid.
Dim floor_div(const Dim& a, const Dim& b);
/// Rounded towards plus infinity; `b` must be positive, else the result is invalid.
Dim ceil_div(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;

/// The number of items; invalid when it does not fit.
Dim volume(const Shape& shape);
/// "224"; "2*S+1"; "?" when invalid
std::string to_string(const Dim& dim);
/// "[1,3,224,224]"
std::string to_string(const Shape& shape);
/// True when every extent is valid.
bool valid(const Shape& shape);
/// True when every extent is an integer.
bool known(const Shape& shape);

/// Reads what to_string() writes: integers, symbols, + - * /, max(), min() and parentheses.
/// `symbol` says what a name is, by default one of at least 1. Invalid when the text is no such
/// expression.
using DimLookup = std::function<Dim(const std::string& name)>;
Dim parse_dim(std::string_view text, const DimLookup& symbol = {});

using DimValues = std::map<std::string, Dim, std::less<>>;
/// With symbols replaced; those without a value stay.
Dim substitute(const Dim& dim, const DimValues& values);
/// Visits the names of the symbols of an extent, each as often as it stands there.
void each_symbol(const Dim& dim, const std::function<void(const DimAtom&)>& visit);

}  // namespace nnef
