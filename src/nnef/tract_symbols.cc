// Symbols of tract's dialect: what they are, and what the file asserts of them.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "expander.h"

namespace nnef {
namespace {

using ast::Expr;

bool is_external(const Expr& expr) {
  return expr.kind == Expr::Kind::invocation &&
         (expr.text == "external" || expr.text == "tract_core_external");
}

/// "S+P<=4096" as what must not be negative, or must be zero.
struct Assertion {
  Dim value;
  bool equal = false;
};

std::optional<Assertion> parse_assertion(std::string_view text, const DimLookup& symbol) {
  constexpr std::array<std::string_view, 5> kRelations{"<=", ">=", "==", "<", ">"};
  for (const std::string_view relation : kRelations) {
    const size_t at = text.find(relation);
    if (at == std::string_view::npos) continue;
    const Dim left = parse_dim(text.substr(0, at), symbol);
    const Dim right = parse_dim(text.substr(at + relation.size()), symbol);
    const Dim strict = relation.size() == 1 ? 1 : 0;
    const Dim value = relation[0] == '<' ? right - left - strict : left - right - strict;
    if (!value.valid()) return std::nullopt;
    return Assertion{value, relation == "=="};
  }
  return std::nullopt;
}

struct Bounds {
  int64_t least = 1;
  int64_t most = Dim::kUnbounded;
};

/// Takes in what an assertion says of one symbol alone.
void narrow(std::map<std::string, Bounds, std::less<>>& bounds, const Assertion& assertion) {
  const DimExpr* expr = assertion.value.expression();
  if (expr == nullptr || expr->terms.size() != 1 || expr->terms[0].atoms.size() != 1) return;
  const DimAtom& atom = *expr->terms[0].atoms[0];
  const int64_t factor = expr->terms[0].factor;
  if (atom.kind != DimAtom::Kind::symbol || (factor != 1 && factor != -1)) return;
  Bounds& of_symbol = bounds[atom.text];
  const Dim limit = factor == 1 ? Dim(0) - expr->constant : Dim(expr->constant);
  if (!limit.valid()) return;
  if (factor == 1 || assertion.equal) of_symbol.least = std::max(of_symbol.least, limit.value());
  if (factor == -1 || assertion.equal) of_symbol.most = std::min(of_symbol.most, limit.value());
}

}  // namespace

void Expander::declare_symbols() {
  const auto declared = [&](const std::string& name) {
    return std::ranges::find(document_.symbols, name, &ast::Identifier::name) !=
           document_.symbols.end();
  };
  const auto lookup = [&](const std::string& name) {
    return declared(name) ? Dim::symbol(name) : Dim();
  };
  std::map<std::string, Bounds, std::less<>> bounds;
  for (const ast::Assertion& assertion : document_.assertions) {
    const auto parsed = parse_assertion(assertion.text, lookup);
    if (parsed) {
      narrow(bounds, *parsed);
    } else {
      diagnostics_
          .warning("expand/assert", assertion.where,
                   fmt::format("the assertion '{}' is not understood, and has no effect",
                               assertion.text))
          .help("assertions compare sums and products of declared symbols: S+P<=4096");
    }
  }
  const auto each_extent = [&](const auto& visit) {
    for (const ast::Assignment& assignment : document_.graph->body) {
      if (!is_external(*assignment.right)) continue;
      const Expr* shape = argument_of(*assignment.right, "shape", 0);
      if (!shape || shape->kind != Expr::Kind::array) continue;
      const auto given = inputs_.shapes.find(assignment.left->text);
      const bool fits =
          given != inputs_.shapes.end() && given->second.size() == shape->items.size();
      for (size_t i = 0; i < shape->items.size(); ++i) {
        const Expr& item = *shape->items[i];
        if (item.kind == Expr::Kind::identifier && declared(item.text))
          visit(item.text, fits ? given->second[i] : Dim());
      }
    }
  };
  each_extent([&](const std::string& name, const Dim& given) {
    if (given.valid()) symbols_.emplace(name, given);
  });
  each_extent([&](const std::string& name, const Dim&) {
    const Bounds& of_symbol = bounds[name];
    symbols_.emplace(name, Dim::symbol(name, of_symbol.least, of_symbol.most));
  });
}

void Expander::add_assertions() {
  for (const ast::Assertion& assertion : document_.assertions) {
    const auto parsed = parse_assertion(assertion.text, [&](const std::string& name) {
      const auto found = symbols_.find(name);
      return found != symbols_.end() ? found->second : Dim();
    });
    if (!parsed) continue;  // reported, or of a symbol that no input has
    const Dim& value = parsed->value;
    const bool never = value.most() < 0 || (parsed->equal && value.least() > 0);
    if (never) {
      fail("expand/assert-fails", assertion.where,
           fmt::format("the assertion '{}' does not hold for the shapes that are given",
                       assertion.text),
           top_);
      continue;
    }
    const bool always = value.least() >= 0 && (!parsed->equal || value.most() == 0);
    if (always) continue;
    graph_.conditions.push_back({value,
                                 parsed->equal ? Condition::Kind::equal : Condition::Kind::at_least,
                                 0, fmt::format("the assertion '{}'", assertion.text)});
  }
}

}  // namespace nnef
