// NNEF text to tokens (NNEF 1.0.5 specification, section 3.1).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "nnef/diagnostic.h"
#include "nnef/model.h"

namespace nnef {

/// Reports the errors of one text, up to a limit, after which the lexer delivers only
/// Token::Kind::end.
class SyntaxErrors {
 public:
  static constexpr size_t kMaxErrors = 20;

  SyntaxErrors(SourcePtr source, Diagnostics& diagnostics)
      : source_(std::move(source)), diagnostics_(&diagnostics) {}

  const SourcePtr& source() const { return source_; }
  Location at(uint32_t begin, uint32_t end) const { return {source_, begin, end}; }
  bool stopped() const { return count_ >= kMaxErrors; }
  size_t count() const { return count_; }

  /// The returned reference is valid until the next report.
  Diagnostic& error(std::string id, Location where, std::string message);
  Diagnostic& warning(std::string id, Location where, std::string message);
  /// Takes notes and hints, and shows them to nobody: for an error that follows from a reported
  /// one.
  Diagnostic& unreported() { return unreported_ = {}; }

 private:
  SourcePtr source_;
  Diagnostics* diagnostics_;
  size_t count_ = 0;
  Diagnostic unreported_;
};

struct Token {
  enum class Kind : uint8_t {
    end,
    identifier,
    integer,
    real,
    string,
    // keywords
    kw_version,
    kw_extension,
    kw_graph,
    kw_fragment,
    kw_tensor,
    kw_integer,
    kw_scalar,
    kw_logical,
    kw_string,
    kw_shape_of,
    kw_length_of,
    kw_range_of,
    kw_for,
    kw_in,
    kw_yield,
    kw_if,
    kw_else,
    kw_true,
    kw_false,
    // operators and punctuation
    arrow,
    less_equal,
    greater_equal,
    equal,
    not_equal,
    and_and,
    or_or,
    less,
    greater,
    plus,
    minus,
    star,
    slash,
    caret,
    bang,
    question,
    assign,
    comma,
    colon,
    semicolon,
    left_paren,
    right_paren,
    left_bracket,
    right_bracket,
    left_brace,
    right_brace,
  };

  Kind kind = Kind::end;
  uint32_t begin = 0;
  uint32_t end = 0;
  std::string_view text;  ///< as written
  /// Of strings, and of names written i"...": without quotes, escapes resolved.
  std::string value;
  bool escaped = false;  ///< a name written i"..."
  /// Of numbers: what is wrong, to be reported by whoever takes the token for a number.
  std::string_view problem;
  bool follows_error = false;  ///< something just before was reported; what it leads to need not be

  /// Of identifiers.
  std::string name() const { return escaped ? value : std::string(text); }
  bool is_keyword() const { return kind >= Kind::kw_version && kind <= Kind::kw_false; }
};

/// "';'", "'graph'", "a name", for messages.
std::string describe(Token::Kind kind);
/// "'foo'", "the end of the file".
std::string describe(const Token& token);

class Lexer {
 public:
  explicit Lexer(SyntaxErrors& errors);

  /// The token `ahead` places after the next one.
  const Token& peek(size_t ahead = 0);
  Token next();
  /// For the tokens that were not looked at yet.
  void set_dialect(Dialect dialect) { dialect_ = dialect; }
  /// What follows up to a ';' that is not part of it, as written; only when nothing was looked at.
  Token rest_of_statement();

 private:
  Token lex();
  void skip_blanks();
  bool skip_stray();
  Token lex_token();
  Token word();
  Token number();
  Token quoted();
  Token symbol();
  Token make(Token::Kind kind, size_t begin, size_t end) const;
  Location at(size_t begin, size_t end) const;
  char current(size_t ahead = 0) const;

  Dialect dialect_ = Dialect::khronos;
  SyntaxErrors* errors_;
  std::string_view text_;
  size_t position_ = 0;
  std::deque<Token> ahead_;
  bool reported_ = false;  ///< an error since the last token
};

/// Reports a source that cannot be NNEF text (empty, binary, another format, too large). False when
/// it did.
bool check_is_text(SyntaxErrors& errors, std::string_view example);

}  // namespace nnef
