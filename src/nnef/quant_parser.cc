// graph.quant: "tensor": operation(name = value, ...); (NNEF 1.0.5 specification, section 5.3).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "parser.h"
#include "stages.h"

namespace nnef {
namespace {

constexpr std::string_view kExampleEntry =
    "\"conv1\": linear_quantize(min = 0.0, max = 1.0, bits = 8);";

}  // namespace

std::vector<ast::QuantizationEntry> Parser::parse_quantization() {
  std::vector<ast::QuantizationEntry> entries;
  if (errors_.source()->text().empty() || !check_is_text(errors_, kExampleEntry)) return entries;
  if (at(Kind::kw_version)) {
    errors_.error("quant/version", here(), "a quantization file has no version line")
        .help("remove it; entries look like this: " + std::string(kExampleEntry));
    skip_statement();
  }
  while (!at(Kind::end)) {
    if (parse_entry(entries)) continue;
    skip_to({Kind::semicolon});
    accept(Kind::semicolon);
  }
  return entries;
}

bool Parser::parse_entry(std::vector<ast::QuantizationEntry>& entries) {
  if (!at(Kind::string) && !at(Kind::identifier)) {
    unexpected(fmt::format("the name of a tensor in quotes, as in {}", kExampleEntry));
    return false;
  }
  const Token key = next();
  ast::QuantizationEntry entry;
  entry.tensor = key.kind == Kind::string ? key.value : key.name();
  entry.tensor_where = where(key);
  if (!expect(Kind::colon, "after the name of a tensor")) return false;
  if (!at(Kind::identifier)) {
    unexpected("a quantization operation, such as linear_quantize(min = 0.0, max = 1.0, bits = 8)");
    return false;
  }
  entry.invocation = parse_invocation();
  if (!entry.invocation) return false;
  const bool good = check_quantization(*entry.invocation);
  if (good) entries.push_back(std::move(entry));
  return expect_semicolon("after an entry") && good;
}

/// Arguments must be named, and literals.
bool Parser::check_quantization(const ast::Expr& invocation) {
  const size_t errors = errors_.count();
  for (const auto& argument : invocation.arguments) {
    if (argument.name.empty()) {
      errors_
          .error("quant/positional", argument.value->where,
                 fmt::format("an argument of '{}' has no name", invocation.text))
          .help("the tensor is the one before ':'; all other arguments are written name = value");
    } else if (!is_literal(*argument.value)) {
      errors_
          .error("quant/literal", argument.value->where,
                 fmt::format("'{}' is not a literal", argument.name))
          .help("values are numbers, strings, true, false, and arrays of them");
    }
  }
  return errors_.count() == errors;
}

std::vector<ast::QuantizationEntry> parse_quantization(SourcePtr source, Diagnostics& diagnostics,
                                                       Dialect dialect) {
  return Parser(std::move(source), diagnostics, dialect).parse_quantization();
}

}  // namespace nnef
