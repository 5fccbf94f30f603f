#include <fmt/format.h>

#include <cassert>
#include <memory>

#include "custom.h"
#include "stages.h"

namespace nnef {

// Made by the build from stdlib.nnef and tract.nnef.
extern const char stdlib_text[];
extern const char tract_text[];

const Declarations& Declarations::standard() {
  struct Standard {
    ast::Document document;
    Declarations declarations;

    Standard() {
      Diagnostics diagnostics;
      document = parse_library(std::make_shared<Source>("stdlib.nnef", stdlib_text), diagnostics);
      declarations.add(document, diagnostics);
      for (const auto& [name, fragment] : declarations.fragments_)
        declarations.standard_.insert(name);
      assert(!diagnostics.has_errors());  // the text is part of the program
    }
  };
  static const Standard standard;
  return standard.declarations;
}

const Declarations& Declarations::tract() {
  struct Tract {
    ast::Document document;
    Declarations declarations = standard();

    Tract() {
      Diagnostics diagnostics;
      declarations.dialect_ = Dialect::tract;
      document = parse_library(std::make_shared<Source>("tract.nnef", tract_text), diagnostics,
                               Dialect::tract);
      for (const ast::Fragment& fragment : document.fragments) {
        // One that replaces another is never kept whole: its name has rules of the other.
        if (!declarations.find(fragment.name))
          declarations.standard_.insert(fragment.name);
        else
          declarations.standard_.erase(fragment.name);
        declarations.fragments_.insert_or_assign(fragment.name, &fragment);
      }
      assert(!diagnostics.has_errors());  // the text is part of the program
    }
  };
  static const Tract tract;
  return tract.declarations;
}

const ast::Fragment* Declarations::find_built_in(std::string_view name) {
  const ast::Fragment* found = standard().find(name);
  return found ? found : tract().find(name);
}

void Declarations::add_registered() {
  for (const ast::Fragment* fragment : custom_fragments()) {
    if (fragments_.emplace(fragment->name, fragment).second) registered_.insert(fragment->name);
  }
}

void Declarations::add(const ast::Document& document, Diagnostics& diagnostics) {
  for (const auto& fragment : document.fragments) {
    const auto [place, fresh] = fragments_.emplace(fragment.name, &fragment);
    if (fresh) continue;
    if (registered_.erase(fragment.name) != 0) {
      place->second = &fragment;
      continue;
    }
    const bool standard = is_standard(fragment.name);
    if (dialect_ == Dialect::tract) {
      // What has no body cannot replace what is built in.
      if (standard && !fragment.has_body) continue;
      standard_.erase(fragment.name);
      place->second = &fragment;
      continue;
    }
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
