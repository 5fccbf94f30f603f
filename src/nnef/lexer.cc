#include "lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <optional>
#include <utility>

namespace nnef {
namespace {

using Kind = Token::Kind;

struct Spelling {
  Kind kind;
  std::string_view text;
};

constexpr auto kKeywords = std::to_array<Spelling>({
    {Kind::kw_version, "version"},
    {Kind::kw_extension, "extension"},
    {Kind::kw_graph, "graph"},
    {Kind::kw_fragment, "fragment"},
    {Kind::kw_tensor, "tensor"},
    {Kind::kw_integer, "integer"},
    {Kind::kw_scalar, "scalar"},
    {Kind::kw_logical, "logical"},
    {Kind::kw_string, "string"},
    {Kind::kw_shape_of, "shape_of"},
    {Kind::kw_length_of, "length_of"},
    {Kind::kw_range_of, "range_of"},
    {Kind::kw_for, "for"},
    {Kind::kw_in, "in"},
    {Kind::kw_yield, "yield"},
    {Kind::kw_if, "if"},
    {Kind::kw_else, "else"},
    {Kind::kw_true, "true"},
    {Kind::kw_false, "false"},
});

// Longer symbols stand before their prefixes.
constexpr auto kSymbols = std::to_array<Spelling>({
    {Kind::arrow, "->"},      {Kind::less_equal, "<="},  {Kind::greater_equal, ">="},
    {Kind::equal, "=="},      {Kind::not_equal, "!="},   {Kind::and_and, "&&"},
    {Kind::or_or, "||"},      {Kind::less, "<"},         {Kind::greater, ">"},
    {Kind::plus, "+"},        {Kind::minus, "-"},        {Kind::star, "*"},
    {Kind::slash, "/"},       {Kind::caret, "^"},        {Kind::bang, "!"},
    {Kind::question, "?"},    {Kind::assign, "="},       {Kind::comma, ","},
    {Kind::colon, ":"},       {Kind::semicolon, ";"},    {Kind::left_paren, "("},
    {Kind::right_paren, ")"}, {Kind::left_bracket, "["}, {Kind::right_bracket, "]"},
    {Kind::left_brace, "{"},  {Kind::right_brace, "}"},
});

// std::isalpha and its like depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c); }
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\n' || c == '\r';
}
bool is_printable(char c) { return c >= 0x20 && c < 0x7F; }

std::string hex(char c) { return fmt::format("0x{:02X}", static_cast<unsigned char>(c)); }

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

Diagnostic& SyntaxErrors::error(std::string id, Location where, std::string message) {
  if (stopped()) return unreported();
  ++count_;
  auto& report = diagnostics_->error(std::move(id), std::move(where), std::move(message));
  if (stopped())
    report.note(fmt::format("{} errors: the rest of the text was not read", kMaxErrors));
  return report;
}

Diagnostic& SyntaxErrors::warning(std::string id, Location where, std::string message) {
  return diagnostics_->warning(std::move(id), std::move(where), std::move(message));
}

std::string describe(Kind kind) {
  switch (kind) {
    case Kind::end:
      return "the end of the file";
    case Kind::identifier:
      return "a name";
    case Kind::integer:
      return "an integer";
    case Kind::real:
      return "a number";
    case Kind::string:
      return "a string";
    default:
      break;
  }
  const auto same = [kind](const Spelling& spelling) { return spelling.kind == kind; };
  const auto symbol = std::find_if(kSymbols.begin(), kSymbols.end(), same);
  if (symbol != kSymbols.end()) return fmt::format("'{}'", symbol->text);
  return fmt::format("'{}'", std::find_if(kKeywords.begin(), kKeywords.end(), same)->text);
}

std::string describe(const Token& token) {
  constexpr size_t kMaxShown = 40;
  if (token.kind == Kind::end) return describe(Kind::end);
  const bool quoted = token.kind == Kind::string;
  const auto shown = token.text.size() <= kMaxShown
                         ? std::string(token.text)
                         : std::string(token.text.substr(0, kMaxShown)) + "...";
  if (token.is_keyword()) return fmt::format("the keyword '{}'", shown);
  return quoted ? fmt::format("the string {}", shown) : fmt::format("'{}'", shown);
}

Lexer::Lexer(SyntaxErrors& errors) : errors_(&errors), text_(errors.source()->text()) {
  if (text_.starts_with(kByteOrderMark)) position_ = kByteOrderMark.size();
}

const Token& Lexer::peek(size_t ahead) {
  while (ahead_.size() <= ahead) ahead_.push_back(lex());
  return ahead_[ahead];
}

Token Lexer::next() {
  if (ahead_.empty()) return lex();
  Token token = std::move(ahead_.front());
  ahead_.pop_front();
  return token;
}

char Lexer::current(size_t ahead) const {
  return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
}

Location Lexer::at(size_t begin, size_t end) const {
  return errors_->at(static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
}

Token Lexer::make(Kind kind, size_t begin, size_t end) const {
  Token token;
  token.kind = kind;
  token.begin = static_cast<uint32_t>(begin);
  token.end = static_cast<uint32_t>(end);
  token.text = text_.substr(begin, end - begin);
  return token;
}

Token Lexer::lex() {
  do {
    skip_blanks();
  } while (!errors_->stopped() && skip_stray());
  const bool follows_error = std::exchange(reported_, false);
  Token token = lex_token();
  token.follows_error = follows_error;
  return token;
}

Token Lexer::lex_token() {
  if (errors_->stopped() || position_ >= text_.size()) {
    return make(Kind::end, text_.size(), text_.size());
  }
  const char c = current();
  if (is_letter(c)) return word();
  if (is_digit(c) || c == '.') return number();
  if (c == '\'' || c == '"') return quoted();
  return symbol();
}

/// Skips white space and comments; a comment ends at a line end or a form feed.
void Lexer::skip_blanks() {
  while (position_ < text_.size()) {
    if (is_blank(text_[position_])) {
      ++position_;
    } else if (text_[position_] == '#') {
      position_ = std::min(text_.find_first_of("\n\r\f", position_), text_.size());
    } else {
      return;
    }
  }
}

/// Reports and skips what cannot begin a token. False when there is nothing of that kind here.
bool Lexer::skip_stray() {
  if (position_ >= text_.size()) return false;
  const size_t begin = position_;
  const std::string_view rest = text_.substr(begin);
  if (rest.starts_with("//")) {
    position_ = std::min(text_.find_first_of("\n\r\f", begin), text_.size());
    errors_->error("syntax/comment", at(begin, begin + 2), "'//' does not begin a comment")
        .help("comments begin with '#'");
    return true;
  }
  const char c = rest[0];
  const auto starts = [rest](const Spelling& symbol) { return rest.starts_with(symbol.text); };
  if (is_word(c) || c == '.' || c == '\'' || c == '"' ||
      std::any_of(kSymbols.begin(), kSymbols.end(), starts)) {
    return false;
  }
  reported_ = true;
  if (is_printable(c)) {
    ++position_;
    auto& error = errors_->error("syntax/character", at(begin, begin + 1),
                                 fmt::format("'{}' has no meaning in NNEF text", c));
    if (c == '&' || c == '|') error.help(fmt::format("the logical operator is '{0}{0}'", c));
    return true;
  }
  while (position_ < text_.size() && !is_printable(text_[position_]) &&
         !is_blank(text_[position_])) {
    ++position_;
  }
  errors_
      ->error("syntax/character", at(begin, position_),
              fmt::format("the byte {} has no meaning in NNEF text", hex(c)))
      .help("outside comments NNEF text is plain ASCII");
  return true;
}

Token Lexer::rest_of_statement() {
  assert(ahead_.empty());
  skip_blanks();
  const size_t begin = position_;
  position_ = std::min(text_.find_first_of(";\n\r", begin), text_.size());
  return make(Kind::string, begin, position_);
}

Token Lexer::word() {
  const size_t begin = position_;
  while (is_word(current())) ++position_;
  Token token = make(Kind::identifier, begin, position_);
  if (dialect_ == Dialect::tract) {
    if (token.text == "i" && current() == '"') {
      token = quoted();
      token.kind = Kind::identifier;
      token.escaped = true;
      token.begin = static_cast<uint32_t>(begin);
      token.text = text_.substr(begin, position_ - begin);
      return token;
    }
    if (token.text == "inf") token.kind = Kind::real;
  }
  for (const auto& keyword : kKeywords) {
    if (keyword.text == token.text) token.kind = keyword.kind;
  }
  return token;
}

/// digits [. digits] [e [+|-] digits]; anything glued to that is part of a malformed number.
Token Lexer::number() {
  const size_t begin = position_;
  const auto digits = [this] {
    const size_t first = position_;
    while (is_digit(current())) ++position_;
    return position_ > first;
  };
  std::string_view problem;
  Kind kind = Kind::integer;
  if (!digits()) problem = "a number needs a digit before the '.'";
  if (current() == '.') {
    kind = Kind::real;
    ++position_;
    if (!digits() && problem.empty()) problem = "a number needs a digit after the '.'";
  }
  if (current() == 'e' || current() == 'E') {
    kind = Kind::real;
    ++position_;
    if (current() == '+' || current() == '-') ++position_;
    if (!digits() && problem.empty()) problem = "the exponent of a number needs a digit";
  }
  if (is_word(current()) || current() == '.') {
    if (problem.empty()) problem = "this is neither a number nor a name";
    while (is_word(current()) || current() == '.') ++position_;
  }
  Token token = make(kind, begin, position_);
  token.problem = problem;
  return token;
}

Token Lexer::quoted() {
  const size_t begin = position_;
  const char quote = text_[position_++];
  std::string value;
  bool reported = false;
  while (position_ < text_.size() && text_[position_] != quote) {
    char c = text_[position_];
    if (c == '\n' || c == '\r') break;
    if (c == '\\') {
      const char escaped = current(1);
      if (escaped == '\'' || escaped == '"' || escaped == '\\') {
        ++position_;
        c = escaped;
      } else {
        errors_
            ->warning("syntax/string-escape", at(position_, position_ + 1),
                      "'\\' stands alone in a string")
            .help(
                "write '\\\\' for the character '\\'; only the quotes and '\\' itself are escaped");
      }
    } else if (!is_printable(c) && !reported && dialect_ == Dialect::khronos) {
      reported = true;
      errors_
          ->error("syntax/string-character", at(position_, position_ + 1),
                  fmt::format("the byte {} cannot stand in a string", hex(c)))
          .help("strings hold printable ASCII characters");
    }
    value += c;
    ++position_;
  }
  const bool terminated = position_ < text_.size() && text_[position_] == quote;
  if (terminated) ++position_;
  Token token = make(Kind::string, begin, position_);
  token.value = std::move(value);
  if (!terminated) {
    reported_ = true;
    errors_
        ->error("syntax/string-unterminated", at(begin, position_),
                fmt::format("the string has no closing {}", quote))
        .help("a string ends on the line it begins on, with the quote it begins with");
  }
  return token;
}

Token Lexer::symbol() {
  const std::string_view rest = text_.substr(position_);
  const auto found = std::find_if(kSymbols.begin(), kSymbols.end(), [rest](const Spelling& symbol) {
    return rest.starts_with(symbol.text);
  });
  const size_t begin = position_;
  position_ += found->text.size();
  return make(found->kind, begin, position_);
}

namespace {

struct Magic {
  size_t offset;
  std::string_view bytes;
  std::string_view what;
};

using namespace std::string_view_literals;
constexpr auto kMagics = std::to_array<Magic>({
    {0, "\x4E\xEF"sv, "an NNEF tensor file (.dat)"},
    {0, "\x1F\x8B"sv, "a gzip file"},
    {0, "PK\x03\x04"sv, "a zip file"},
    {0,
     "\x7F"
     "ELF"sv,
     "an ELF file"},
    {0, "\xFF\xFE"sv, "text in UTF-16"},
    {0, "\xFE\xFF"sv, "text in UTF-16"},
    {0, "\x89HDF"sv, "an HDF5 file"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {4, "TFL3"sv, "a TensorFlow Lite model"},
    {257, "ustar"sv, "a tar archive"},
    {0, "\x08"sv, "perhaps an ONNX model"},
    {0, "<"sv, "XML or HTML"},
    {0, "{"sv, "JSON"},
});

std::string_view identify(std::string_view text) {
  for (const auto& magic : kMagics) {
    if (text.size() >= magic.offset && text.substr(magic.offset).starts_with(magic.bytes))
      return magic.what;
  }
  return {};
}

}  // namespace

bool check_is_text(SyntaxErrors& errors, std::string_view example) {
  constexpr size_t kMaxTextSize =
      std::numeric_limits<uint32_t>::max() - 1;  // positions have 32 bits
  constexpr size_t kProbe = 4;  // enough to tell; later bytes are reported where they stand
  const std::string_view text = errors.source()->text();
  const auto refuse = [&](std::string_view id, const std::string& message) {
    auto& error = errors.error(std::string(id), {}, message);
    error.path = errors.source()->name();
    error.help(fmt::format("NNEF text begins like this: {}", example));
    return false;
  };
  if (text.empty()) return refuse("syntax/empty", "the file is empty");
  if (text.size() > kMaxTextSize) {
    return refuse("syntax/too-large", fmt::format("the text has {} bytes, at most {} are possible",
                                                  text.size(), kMaxTextSize));
  }
  const std::string_view format = identify(text);
  const std::string_view front = text.substr(0, kProbe);
  const bool binary = !text.starts_with(kByteOrderMark) &&
                      std::any_of(front.begin(), front.end(),
                                  [](char c) { return !is_printable(c) && !is_blank(c); });
  if (format.empty() && !binary) return true;
  std::string first;
  for (const char c : front)
    first += fmt::format("{}{:02x}", first.empty() ? "" : " ", static_cast<unsigned char>(c));
  return refuse("syntax/not-text",
                fmt::format("this is not NNEF text but {}: it begins with the bytes {}",
                            format.empty() ? "a binary file" : format, first));
}

}  // namespace nnef
