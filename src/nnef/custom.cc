#include "custom.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "stages.h"

namespace nnef {
namespace {

struct Registered {
  ast::Document document;
  CustomOperation operation;
};

std::map<std::string, std::unique_ptr<Registered>, std::less<>>& registry() {
  static std::map<std::string, std::unique_ptr<Registered>, std::less<>> operations;
  return operations;
}

}  // namespace

bool register_operation(const CustomOperation& operation, Diagnostics& diagnostics,
                        std::string* declared) {
  const size_t errors = diagnostics.error_count();
  auto registered = std::make_unique<Registered>();
  registered->operation = operation;
  registered->document = parse_library(
      std::make_shared<Source>("registered", operation.declaration), diagnostics, Dialect::tract);
  if (diagnostics.error_count() != errors) return false;
  const auto& fragments = registered->document.fragments;
  if (fragments.size() != 1 || fragments[0].has_body || operation.rule == nullptr) {
    diagnostics.error("custom/declaration", {},
                      fmt::format("'{}' is not the declaration of one operation without a body, or "
                                  "it has no shape rule",
                                  operation.declaration));
    return false;
  }
  const std::string& name = fragments[0].name;
  if (Declarations::find_built_in(name) || (!operation.replace && registry().contains(name))) {
    diagnostics.error("custom/name", fragments[0].name_where,
                      fmt::format("there is an operation '{}' already", name));
    return false;
  }
  if (declared != nullptr) *declared = name;
  registry()[name] = std::move(registered);
  return true;
}

const CustomOperation* find_custom(std::string_view name) {
  const auto found = registry().find(name);
  return found == registry().end() ? nullptr : &found->second->operation;
}

std::vector<const ast::Fragment*> custom_fragments() {
  std::vector<const ast::Fragment*> fragments;
  for (const auto& [name, registered] : registry())
    fragments.push_back(&registered->document.fragments[0]);
  return fragments;
}

}  // namespace nnef
