// Extents from text.
#include <charconv>
#include <string>

#include "nnef/shape.h"

namespace nnef {
namespace {

constexpr size_t kMaxDepth = 100;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

/// Each function reads what it is named after, and gives an invalid extent for what is none.
class DimReader {
 public:
  DimReader(std::string_view text, const DimLookup& symbol) : text_(text), symbol_(symbol) {}

  Dim whole() {
    const Dim result = sum();
    skip_blanks();
    return at_ == text_.size() ? result : Dim();
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  bool take(char c) {
    skip_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Dim sum() {
    if (++depth_ > kMaxDepth) return {};
    Dim result = product();
    while (result.valid()) {
      if (take('+')) {
        result = result + product();
      } else if (take('-')) {
        result = result - product();
      } else {
        break;
      }
    }
    --depth_;
    return result;
  }

  Dim product() {
    Dim result = factor();
    while (result.valid()) {
      if (take('*')) {
        result = result * factor();
      } else if (take('/')) {
        result = floor_div(result, factor());
      } else {
        break;
      }
    }
    return result;
  }

  Dim factor() {
    bool negative = false;
    while (take('-')) negative = !negative;
    const Dim result = item();
    return negative ? Dim(0) - result : result;
  }

  Dim item() {
    skip_blanks();
    if (take('(')) {
      const Dim result = sum();
      return take(')') ? result : Dim();
    }
    const size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return {};
    if (is_digit(word[0])) {
      int64_t value = 0;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      return error == std::errc() && end == word.data() + word.size() ? Dim(value) : Dim();
    }
    if (!is_letter(word[0])) return {};
    if ((word == "max" || word == "min") && take('(')) {
      const Dim a = sum();
      const Dim b = take(',') ? sum() : Dim();
      if (!take(')')) return {};
      return word == "max" ? max(a, b) : min(a, b);
    }
    return symbol_ ? symbol_(std::string(word)) : Dim::symbol(std::string(word));
  }

  std::string_view text_;
  const DimLookup& symbol_;
  size_t at_ = 0;
  size_t depth_ = 0;
};

}  // namespace

Dim parse_dim(std::string_view text, const DimLookup& symbol) {
  return DimReader(text, symbol).whole();
}

}  // namespace nnef
