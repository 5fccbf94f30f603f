// Arithmetic on extents with symbols: sums of products of symbols and of quotients, maxima and
// minima, in one order.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "nnef/shape.h"

namespace nnef {

/// Brings an expression into its form; an integer when no symbol is left.
Dim make_dim(DimExpr expression);

namespace {

using AtomPtr = std::shared_ptr<const DimAtom>;

/// Longer expressions are taken for faults.
constexpr size_t kMaxText = 2000;
constexpr int64_t kInfinite = Dim::kUnbounded;

struct Range {
  int64_t least;
  int64_t most;
};

Range range_of(const Dim& dim) { return {dim.least(), dim.most()}; }

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  const bool beyond = __builtin_mul_overflow(a, b, &result);
  if (beyond) return (a < 0) == (b < 0) ? kInfinite : -kInfinite;
  return std::max(result, -kInfinite);
}

int64_t total(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result)) return a < 0 ? -kInfinite : kInfinite;
  return std::max(result, -kInfinite);
}

Range product(const Range& a, const Range& b) {
  const auto [least, most] = std::minmax({product(a.least, b.least), product(a.least, b.most),
                                          product(a.most, b.least), product(a.most, b.most)});
  return {least, most};
}

Range sum(const Range& a, const Range& b) {
  const bool no_least = a.least == -kInfinite || b.least == -kInfinite;
  const bool no_most = a.most == kInfinite || b.most == kInfinite;
  return {no_least ? -kInfinite : total(a.least, b.least),
          no_most ? kInfinite : total(a.most, b.most)};
}

int64_t floor_quotient(int64_t a, int64_t b) {
  if (a == kInfinite || a == -kInfinite) return a;
  if (b == kInfinite) return a < 0 ? -1 : 0;
  return a % b < 0 ? a / b - 1 : a / b;
}

/// Of a positive divisor.
Range quotient(const Range& a, const Range& b) {
  return {floor_quotient(a.least, a.least >= 0 ? b.most : b.least),
          floor_quotient(a.most, a.most >= 0 ? b.least : b.most)};
}

Range range_of(const DimTerm& term) {
  Range range{term.factor, term.factor};
  for (const AtomPtr& atom : term.atoms) range = product(range, {atom->least, atom->most});
  return range;
}

bool by_text(const AtomPtr& a, const AtomPtr& b) { return a->text < b->text; }

std::string key(const DimTerm& term) {
  std::string text;
  for (const AtomPtr& atom : term.atoms) {
    if (!text.empty()) text += '*';
    const bool alone = term.atoms.size() == 1 || atom->kind != DimAtom::Kind::floor_div;
    text += alone ? atom->text : "(" + atom->text + ")";
  }
  return text;
}

/// Of a positive factor.
std::string written(const DimTerm& term, int64_t factor) {
  if (factor == 1) return key(term);
  const bool quotient = term.atoms.size() == 1 && term.atoms[0]->kind == DimAtom::Kind::floor_div;
  return std::to_string(factor) + (quotient ? "*(" + key(term) + ")" : "*" + key(term));
}

std::string written(const DimExpr& expr) {
  std::string text;
  const bool constant_first = expr.constant > 0 && expr.terms[0].factor < 0;
  if (constant_first) text = std::to_string(expr.constant);
  for (const DimTerm& term : expr.terms) {
    text += term.factor < 0 ? "-" : text.empty() ? "" : "+";
    text += written(term, term.factor < 0 ? -term.factor : term.factor);
  }
  if (constant_first || expr.constant == 0) return text;
  return text + (expr.constant > 0 ? "+" : "") + std::to_string(expr.constant);
}

DimExpr expression_of(const Dim& dim) {
  if (const DimExpr* expr = dim.expression()) return *expr;
  return {.constant = dim.value()};
}

Dim atom(DimAtom::Kind kind, std::string text, std::vector<Dim> operands, Range range) {
  DimTerm term{1,
               {std::make_shared<const DimAtom>(
                   DimAtom{kind, std::move(text), std::move(operands), range.least, range.most})}};
  return make_dim({.terms = {std::move(term)}});
}

/// As an operand of a quotient.
std::string operand_text(const Dim& dim) {
  const DimExpr* expr = dim.expression();
  const bool single =
      expr == nullptr || (expr->terms.size() == 1 && expr->constant == 0 &&
                          expr->terms[0].factor == 1 && expr->terms[0].atoms.size() == 1 &&
                          expr->terms[0].atoms[0]->kind != DimAtom::Kind::floor_div);
  return single ? to_string(dim) : "(" + to_string(dim) + ")";
}

Dim quotient_atom(const Dim& a, const Dim& b) {
  return atom(DimAtom::Kind::floor_div, operand_text(a) + "/" + operand_text(b), {a, b},
              quotient(range_of(a), range_of(b)));
}

/// The quotient of two products; nothing when it is none.
std::optional<DimTerm> exact_quotient(const DimTerm& a, const DimTerm& b) {
  if (a.factor % b.factor != 0) return std::nullopt;
  DimTerm result{a.factor / b.factor, a.atoms};
  for (const AtomPtr& divisor : b.atoms) {
    const auto found = std::ranges::find(result.atoms, divisor->text, &DimAtom::text);
    if (found == result.atoms.end()) return std::nullopt;
    result.atoms.erase(found);
  }
  return result;
}

Dim as_dim(DimTerm term) {
  if (term.atoms.empty()) return term.factor;
  return make_dim({.terms = {std::move(term)}});
}

/// By an integer: what divides evenly leaves the quotient.
Dim divided(const Dim& a, int64_t b) {
  if (b == 1) return a;
  DimExpr whole;
  DimExpr rest;
  int64_t common = b;
  for (const DimTerm& term : a.expression()->terms) {
    const int64_t quotient = floor_quotient(term.factor, b);
    const int64_t left = term.factor - quotient * b;
    if (quotient != 0) whole.terms.push_back({quotient, term.atoms});
    if (left != 0) rest.terms.push_back({left, term.atoms});
    if (left != 0) common = std::gcd(common, left);
  }
  const int64_t constant = a.expression()->constant;
  whole.constant = floor_quotient(constant, b);
  rest.constant = constant - whole.constant * b;
  const Dim outer = whole.terms.empty() ? Dim(whole.constant) : make_dim(std::move(whole));
  if (rest.terms.empty()) return outer;
  if (common > 1) {
    for (DimTerm& term : rest.terms) term.factor /= common;
    rest.constant = floor_quotient(rest.constant, common);
    return outer + floor_div(make_dim(std::move(rest)), b / common);
  }
  const DimTerm& first = rest.terms[0];
  const bool nested = rest.terms.size() == 1 && first.factor == 1 && first.atoms.size() == 1 &&
                      first.atoms[0]->kind == DimAtom::Kind::floor_div &&
                      first.atoms[0]->operands[1].known();
  if (nested) {
    const Dim& inner = first.atoms[0]->operands[1];
    return outer + floor_div(first.atoms[0]->operands[0] + inner * rest.constant, inner * b);
  }
  const Dim remainder = make_dim(std::move(rest));
  if (!remainder.valid()) return {};
  if (remainder.least() >= 0 && remainder.most() < b) return outer;
  return outer + quotient_atom(remainder, b);
}

/// By an expression: terms that it divides leave the quotient.
Dim divided(const Dim& a, const Dim& b) {
  if (b.least() < 1) return {};
  const DimExpr divisor = *b.expression();
  const DimExpr dividend = expression_of(a);
  if (dividend.terms.empty() && dividend.constant == 0) return 0;
  if (divisor.terms.size() > 1 || divisor.constant != 0) {
    const auto first =
        dividend.terms.empty() ? std::nullopt : exact_quotient(dividend.terms[0], divisor.terms[0]);
    if (first) {
      const Dim candidate = as_dim(*first);
      if (candidate * b == a) return candidate;
    }
    return quotient_atom(a, b);
  }
  Dim whole = 0;
  DimExpr rest{.constant = dividend.constant};
  for (const DimTerm& term : dividend.terms) {
    if (auto quotient = exact_quotient(term, divisor.terms[0])) {
      whole = whole + as_dim(std::move(*quotient));
    } else {
      rest.terms.push_back(term);
    }
  }
  if (rest.terms.empty() && rest.constant == 0) return whole;
  return whole + quotient_atom(rest.terms.empty() ? Dim(rest.constant) : make_dim(rest), b);
}

/// `a` when it is never below `b`.
Dim extreme(DimAtom::Kind kind, const Dim& a, const Dim& b) {
  const bool greater = kind == DimAtom::Kind::max;
  const Dim difference = a - b;
  if (!difference.valid()) return {};
  if (difference.least() >= 0) return greater ? a : b;
  if (difference.most() <= 0) return greater ? b : a;
  const Dim& first = to_string(a) < to_string(b) ? a : b;
  const Dim& second = &first == &a ? b : a;
  const Range x = range_of(a);
  const Range y = range_of(b);
  const Range range = greater ? Range{std::max(x.least, y.least), std::max(x.most, y.most)}
                              : Range{std::min(x.least, y.least), std::min(x.most, y.most)};
  return atom(
      kind,
      std::string(greater ? "max(" : "min(") + to_string(first) + "," + to_string(second) + ")",
      {first, second}, range);
}

}  // namespace

Dim make_dim(DimExpr expr) {
  for (DimTerm& term : expr.terms) std::ranges::sort(term.atoms, by_text);
  std::ranges::sort(expr.terms, {}, key);
  std::vector<DimTerm> merged;
  for (DimTerm& term : expr.terms) {
    if (merged.empty() || key(merged.back()) != key(term)) {
      merged.push_back(std::move(term));
    } else if (__builtin_add_overflow(merged.back().factor, term.factor, &merged.back().factor)) {
      return {};
    }
  }
  std::erase_if(merged, [](const DimTerm& term) { return term.factor == 0; });
  expr.terms = std::move(merged);
  if (expr.terms.empty()) return expr.constant;
  Range range{expr.constant, expr.constant};
  for (const DimTerm& term : expr.terms) {
    if (term.factor == std::numeric_limits<int64_t>::min()) return {};
    range = sum(range, range_of(term));
  }
  expr.least = range.least;
  expr.most = range.most;
  expr.text = written(expr);
  if (expr.text.size() > kMaxText) return {};
  Dim result = 0;
  result.expression_ = std::make_shared<const DimExpr>(std::move(expr));
  return result;
}

Dim Dim::symbol(const std::string& name, int64_t least, int64_t most) {
  return atom(DimAtom::Kind::symbol, name, {}, {least, most});
}

int64_t Dim::least() const { return expression_ ? expression_->least : value_; }
int64_t Dim::most() const { return expression_ ? expression_->most : value_; }

Dim operator+(const Dim& a, const Dim& b) {
  if (!a.valid_ || !b.valid_) return {};
  if (a.known() && b.known()) {
    int64_t sum = 0;
    return __builtin_add_overflow(a.value_, b.value_, &sum) ? Dim() : Dim(sum);
  }
  DimExpr sum = expression_of(a);
  const DimExpr other = expression_of(b);
  if (__builtin_add_overflow(sum.constant, other.constant, &sum.constant)) return {};
  sum.terms.insert(sum.terms.end(), other.terms.begin(), other.terms.end());
  return make_dim(std::move(sum));
}

Dim operator-(const Dim& a, const Dim& b) {
  if (!a.valid_ || !b.valid_) return {};
  if (!a.known() || !b.known()) return a + b * -1;
  int64_t difference = 0;
  return __builtin_sub_overflow(a.value_, b.value_, &difference) ? Dim() : Dim(difference);
}

Dim operator*(const Dim& a, const Dim& b) {
  if (!a.valid_ || !b.valid_) return {};
  if (a.known() && b.known()) {
    int64_t product = 0;
    return __builtin_mul_overflow(a.value_, b.value_, &product) ? Dim() : Dim(product);
  }
  DimExpr product;
  DimExpr left = expression_of(a);
  DimExpr right = expression_of(b);
  if (__builtin_mul_overflow(left.constant, right.constant, &product.constant)) return {};
  left.terms.push_back({left.constant, {}});
  right.terms.push_back({right.constant, {}});
  for (const DimTerm& x : left.terms) {
    for (const DimTerm& y : right.terms) {
      if (x.atoms.empty() && y.atoms.empty()) continue;
      DimTerm term{0, x.atoms};
      if (__builtin_mul_overflow(x.factor, y.factor, &term.factor)) return {};
      term.atoms.insert(term.atoms.end(), y.atoms.begin(), y.atoms.end());
      if (term.factor != 0) product.terms.push_back(std::move(term));
    }
  }
  return make_dim(std::move(product));
}

bool operator==(const Dim& a, const Dim& b) {
  if (!a.valid_ || !b.valid_) return false;
  if (a.expression_ == nullptr || b.expression_ == nullptr)
    return a.expression_ == b.expression_ && a.value_ == b.value_;
  return a.expression_ == b.expression_ || a.expression_->text == b.expression_->text;
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return {};
  if (!b.known()) return divided(a, b);
  if (b.value() <= 0) return {};
  if (!a.known()) return divided(a, b.value());
  const int64_t quotient = a.value() / b.value();
  return a.value() % b.value() < 0 ? quotient - 1 : quotient;
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return {};
  if (!a.known() || !b.known()) return floor_div(a + b - 1, b);
  if (b.value() <= 0) return {};
  const int64_t quotient = a.value() / b.value();
  return a.value() % b.value() > 0 ? quotient + 1 : quotient;
}

Dim max(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return {};
  if (a.known() && b.known()) return std::max(a.value(), b.value());
  return extreme(DimAtom::Kind::max, a, b);
}

Dim min(const Dim& a, const Dim& b) {
  if (!a.valid() || !b.valid()) return {};
  if (a.known() && b.known()) return std::min(a.value(), b.value());
  return extreme(DimAtom::Kind::min, a, b);
}

}  // namespace nnef
