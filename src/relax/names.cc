#include "relax/names.h"

#include <fmt/format.h>

#include <iterator>

namespace nnef_tvm {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Python's keywords and the module aliases of TVMScript.
const char* const reserved[] = {
    "False",   "None",     "True",     "and",    "as",   "assert", "async",  "await",
    "break",   "class",    "continue", "def",    "del",  "elif",   "else",   "except",
    "finally", "for",      "from",     "global", "if",   "import", "in",     "is",
    "lambda",  "nonlocal", "not",      "or",     "pass", "raise",  "return", "try",
    "while",   "with",     "yield",    "I",      "R",    "T",      "cls",    "metadata",
};

}  // namespace

NameSupply::NameSupply() : taken_(std::begin(reserved), std::end(reserved)) {}

std::string NameSupply::unique(std::string_view name) {
  std::string legal(name);
  for (char& c : legal) {
    if (!is_letter(c) && !is_digit(c)) c = '_';
  }
  if (legal.empty() || !is_letter(legal.front())) legal.insert(0, "input_");
  std::string candidate = legal;
  for (int number = 1; !taken_.insert(candidate).second; ++number) {
    candidate = fmt::format("{}_{}", legal, number);
  }
  return candidate;
}

std::string NameSupply::reserve(std::string_view name) { return *taken_.emplace(name).first; }

}  // namespace nnef_tvm
