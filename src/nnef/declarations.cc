#include <fmt/format.h>

#include <cassert>
#include <memory>

#include "stages.h"

namespace nnef {

extern const char stdlib_text[];  // made by the build from stdlib.nnef

const Declarations& Declarations::standard() {
  struct Standard {
    ast::Document document;
    Declarations declarations;

    Standard() {
      Diagnostics diagnostics;
      document = parse_library(std::make_shared<Source>("stdlib.nnef", stdlib_text), diagnostics);
      declarations.add(document, diagnostics);
      for (const auto& [name, fragment] : declarations.fragments_)
        declarations.standard_[name] = true;
      assert(!diagnostics.has_errors());  // the text is part of the program
    }
  };
  static const Standard standard;
  return standard.declarations;
}

void Declarations::add(const ast::Document& document, Diagnostics& diagnostics) {
  for (const auto& fragment : document.fragments) {
    const auto [place, fresh] = fragments_.emplace(fragment.name, &fragment);
    if (fresh) continue;
    const bool standard = is_standard(fragment.name);
    auto& error = diagnostics.error("fragment/redefined", fragment.name_where,
                                    fmt::format("fragment '{}' is already defined{}", fragment.name,
                                                standard ? " by the standard" : ""));
    error.note(fmt::format("'{}' is defined", fragment.name), place->second->name_where);
    if (standard)
      error.help("a document cannot replace an operation of the standard: choose another name");
  }
}

const ast::Fragment* Declarations::find(std::string_view name) const {
  const auto found = fragments_.find(name);
  return found == fragments_.end() ? nullptr : found->second;
}

bool Declarations::is_standard(std::string_view name) const { return standard_.contains(name); }

std::vector<std::string> Declarations::names() const {
  std::vector<std::string> result;
  for (const auto& [name, fragment] : fragments_) result.push_back(name);
  return result;
}

}  // namespace nnef
