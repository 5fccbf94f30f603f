#include <fmt/format.h>

#include <algorithm>

#include "checker.h"

namespace nnef {
namespace {

using ast::Type;

/// True when `tensor<>` occurs in it.
bool has_open_tensor(const Type& type) {
  if (type.kind == Type::Kind::tensor) return type.items.empty();
  return std::ranges::any_of(type.items, has_open_tensor);
}

}  // namespace

void Checker::check_parameters(const ast::Fragment& fragment) {
  bool attributes = false;
  for (const ast::Parameter& parameter : fragment.parameters) {
    const auto [place, fresh] =
        scope_.emplace(parameter.name, Binding{parameter.type, parameter.where, false, true});
    if (!fresh) {
      diagnostics_
          .error("check/parameter-twice", parameter.where,
                 fmt::format("'{}' has two parameters '{}'", fragment.name, parameter.name))
          .note("the first one is declared", place->second.where);
      continue;
    }
    if (holds_tensor(parameter.type) && attributes && !dynamic_) {
      diagnostics_.error("check/parameter-order", parameter.where,
                         fmt::format("'{}': tensor parameter '{}' stands after an attribute",
                                     fragment.name, parameter.name));
    }
    attributes = attributes || !holds_tensor(parameter.type);
  }
}

void Checker::check_results(const ast::Fragment& fragment) {
  if (fragment.results.empty()) return;
  const bool tensors = holds_tensor(fragment.results[0].type);
  std::map<std::string_view, Location> seen;
  for (const ast::Result& result : fragment.results) {
    if (const auto parameter = scope_.find(result.name); parameter != scope_.end()) {
      diagnostics_
          .error("check/result-name", result.where,
                 fmt::format("'{}' is both a parameter and a result of '{}'", result.name,
                             fragment.name))
          .note("the parameter is declared", parameter->second.where);
    }
    const auto [place, fresh] = seen.emplace(result.name, result.where);
    if (!fresh) {
      diagnostics_
          .error("check/result-name", result.where,
                 fmt::format("'{}' has two results '{}'", fragment.name, result.name))
          .note("the first one is declared", place->second);
    }
    if (has_open_tensor(result.type)) {
      diagnostics_.error("check/result-type", result.where,
                         fmt::format("'{}': result '{}' has type {}, expected a known item type",
                                     fragment.name, result.name, describe(result.type)));
    }
    if (holds_tensor(result.type) != tensors) {
      diagnostics_.error(
          "check/result-type", result.where,
          fmt::format("'{}': results must be all tensors or all attributes, found {} and {}",
                      fragment.name, describe(fragment.results[0].type), describe(result.type)));
    } else if (!fragment.has_body && !tensors) {
      diagnostics_.error("check/result-type", result.where,
                         fmt::format("'{}' has no body, so result '{}' ({}) must be a tensor",
                                     fragment.name, result.name, describe(result.type)));
    }
  }
}

void Checker::check_generic_declaration(const ast::Fragment& fragment) {
  const auto generic = [](const auto& item) {
    return ast::contains(item.type, ast::Type::Kind::generic);
  };
  const bool used = std::ranges::any_of(fragment.parameters, generic) ||
                    std::ranges::any_of(fragment.results, generic);
  if (used && !fragment.generic) {
    diagnostics_
        .error(
            "check/generic", fragment.name_where,
            fmt::format("'{}' has parameters or results of type '?', but is not declared generic",
                        fragment.name))
        .help(fmt::format("write fragment {}<?>(...)", fragment.name));
  } else if (!used && fragment.generic) {
    diagnostics_.error(
        "check/generic", fragment.name_where,
        fmt::format("'{}' is declared generic, but '?' occurs in no parameter and no result",
                    fragment.name));
  }
}

void Checker::check_result_types(const ast::Fragment& fragment) {
  for (const ast::Result& result : fragment.results) {
    const auto found = scope_.find(result.name);
    if (found == scope_.end() || found->second.unknown) {
      diagnostics_
          .error("check/unassigned-result", result.where,
                 fmt::format("result '{}' of fragment '{}' is never assigned", result.name,
                             fragment.name))
          .help(fmt::format("assign it in the body: {} = ...;", result.name));
      continue;
    }
    const StaticType& type = found->second.type;
    if (type && !castable(*type, result.type)) {
      diagnostics_
          .error("check/type", found->second.where,
                 fmt::format("'{}': result '{}' is assigned {}, declared {}", fragment.name,
                             result.name, describe(*type), describe(result.type)))
          .note("declared", result.where);
    }
  }
}

void Checker::check_fragment(const ast::Fragment& fragment) {
  if (dynamic_) return check_dynamic_fragment(fragment);
  begin_body({});
  for (const ast::Parameter& parameter : fragment.parameters) {
    if (!parameter.default_value) continue;
    const StaticType type = type_of(*parameter.default_value);
    // A generic parameter takes any default; whoever uses the default decides its type.
    StaticType binding;
    if (type && !castable(*type, parameter.type, &binding)) {
      type_fault(parameter.default_value->where,
                 fmt::format("'{}': the default of '{}' has type {}, expected {}", fragment.name,
                             parameter.name, describe(*type), describe(parameter.type)),
                 *parameter.default_value, *type, parameter.type);
    }
  }
  fragment_ = &fragment;
  begin_body(fragment.body);
  check_parameters(fragment);
  check_results(fragment);
  check_generic_declaration(fragment);
  if (fragment.has_body) {
    check_body(fragment.body);
    check_result_types(fragment);
  }
  fragment_ = nullptr;
}

}  // namespace nnef
