// Extension lines of tract and torch-to-nnef: `extension tract_...` and any text up to the ';'.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "parser.h"

namespace nnef {
namespace {

using Kind = Token::Kind;

constexpr std::string_view kPrefix = "tract_";
/// What older files write for a symbol of this name.
constexpr std::string_view kStreamingExtension = "tract_pulse_streaming_symbol";
constexpr std::string_view kStreamingSymbol = "S";

constexpr std::array<std::string_view, 7> kRegistries{
    "tract_core",         "tract_onnx",  "tract_pulse",    "pulse",
    "tract_transformers", "tract_extra", "tract_resource",
};

constexpr std::array<std::string_view, 4> kExtensions{"tract_registry", "tract_symbol",
                                                      "tract_assert", kStreamingExtension};

bool is_one_of(std::string_view text, std::span<const std::string_view> list) {
  return std::ranges::find(list, text) != list.end();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\v\f";
  const size_t last = text.find_last_not_of(kBlanks);
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  const auto is_word = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.'; };
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, is_word);
}

}  // namespace

void Parser::set_dialect(Dialect dialect) {
  dialect_ = dialect;
  lexer_.set_dialect(dialect);
  if (dialect != Dialect::tract) return;
  fragments_enabled_ = true;
  operators_enabled_ = true;
}

/// The rest of an extension line, when it is of this dialect: it is so after one that is, or when
/// it begins as only tract's do.
bool Parser::parse_tract_extension(ast::Document& document) {
  if (!at(Kind::identifier) || dialect_ == Dialect::khronos) return false;
  const bool of_tract = lexer_.peek().text.starts_with(kPrefix);
  if (!of_tract && !is_tract()) return false;
  const Token name = next();
  set_dialect(Dialect::tract);
  const Token rest = lexer_.rest_of_statement();
  const std::string_view text = trimmed(rest.text);
  last_end_ = rest.begin + static_cast<uint32_t>(text.size());
  const Location place = text.empty() ? where(name) : since(rest);
  document.extensions.push_back(
      {fmt::format("{}{}{}", name.text, text.empty() ? "" : " ", text), since(name)});
  if (!expect_semicolon("after an extension")) skip_statement();

  if (name.text == "tract_symbol") {
    if (is_name(text)) {
      document.symbols.push_back({std::string(text), place});
    } else {
      errors_
          .error("syntax/symbol", place,
                 fmt::format("found '{}', expected the name of a symbol", text))
          .help("a symbol is declared like this: extension tract_symbol B;");
    }
  } else if (name.text == kStreamingExtension) {
    document.symbols.push_back({std::string(kStreamingSymbol), place});
  } else if (name.text == "tract_assert") {
    // What is asserted for a scenario ("tg: S==1") says nothing of all runs.
    if (text.find(':') == std::string_view::npos)
      document.assertions.push_back({std::string(text), place});
  } else if (name.text == "tract_registry" && !is_one_of(text, kRegistries)) {
    errors_.warning("syntax/registry", place, fmt::format("unknown registry '{}'", text))
        .help(fmt::format("known registries: {}", fmt::join(kRegistries, ", ")));
  } else if (of_tract && !is_one_of(name.text, kExtensions)) {
    errors_.warning("syntax/unknown-extension", where(name),
                    fmt::format("unknown extension '{}' has no effect", name.text));
  }
  return true;
}

}  // namespace nnef
