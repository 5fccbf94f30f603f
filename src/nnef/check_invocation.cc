#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "checker.h"

namespace nnef {
namespace {

using ast::Expr;
using ast::Type;

/// Operations with a state or an interface: only the graph itself has those.
constexpr std::array<std::string_view, 4> kGraphOnly{"external", "variable", "update",
                                                     "tract_core_external"};

std::string list_of_parameters(const ast::Fragment& fragment) {
  std::string text;
  for (const ast::Parameter& parameter : fragment.parameters) {
    if (!text.empty()) text += ", ";
    text += parameter.name;
  }
  return text;
}

std::vector<std::string> parameter_names(const ast::Fragment& fragment) {
  std::vector<std::string> names;
  for (const ast::Parameter& parameter : fragment.parameters) names.push_back(parameter.name);
  return names;
}

}  // namespace

void Checker::unknown_operation(const Expr& expr) {
  Diagnostic& diagnostic = diagnostics_.error("check/unknown-operation", expr.text_where,
                                              fmt::format("unknown operation '{}'", expr.text));
  const std::string nearest = nearest_name(expr.text, declarations_.names());
  if (Declarations::tract().find(expr.text)) {
    diagnostic.help(
        "this is an operation of tract, whose documents have the line: extension tract_registry "
        "tract_core;");
  } else if (!nearest.empty()) {
    diagnostic.help(fmt::format("did you mean '{}'?", nearest));
  } else {
    diagnostic.help("an operation that the standard does not have needs a fragment declaration");
  }
}

const ast::Parameter* Checker::parameter_of(const ast::NamedArgument& argument, size_t position,
                                            const ast::Fragment& fragment, bool after_named) {
  const std::vector<ast::Parameter>& parameters = fragment.parameters;
  if (!argument.name.empty()) {
    const auto found = std::ranges::find(parameters, argument.name, &ast::Parameter::name);
    if (found != parameters.end()) return &*found;
    if (dynamic_ && ignore_argument(argument, fragment)) return nullptr;
    const std::string nearest = nearest_name(argument.name, parameter_names(fragment));
    diagnostics_
        .error("check/unknown-argument", argument.name_where,
               fmt::format("'{}' has no parameter '{}'", fragment.name, argument.name))
        .help(nearest.empty()
                  ? fmt::format("'{}' takes {}", fragment.name, list_of_parameters(fragment))
                  : fmt::format("did you mean '{}'?", nearest));
    return nullptr;
  }
  if (after_named) {
    diagnostics_.error("check/argument-order", argument.value->where,
                       fmt::format("'{}': a positional argument after a named one", fragment.name));
    return nullptr;
  }
  if (position >= parameters.size()) {
    diagnostics_
        .error("check/argument-count", argument.value->where,
               fmt::format("'{}' has {} parameter{}, found a positional argument number {}",
                           fragment.name, parameters.size(), parameters.size() == 1 ? "" : "s",
                           position + 1))
        .help(fmt::format("'{}' takes {}", fragment.name, list_of_parameters(fragment)));
    return nullptr;
  }
  const ast::Parameter& parameter = parameters[position];
  if (!holds_tensor(parameter.type) && !dynamic_) {
    diagnostics_
        .error("check/positional-attribute", argument.value->where,
               fmt::format("'{}': attribute '{}' ({}) must be given by name", fragment.name,
                           parameter.name, describe(parameter.type)))
        .help(fmt::format("write {} = ...", parameter.name));
  }
  return &parameter;
}

void Checker::check_missing(const Expr& expr, const ast::Fragment& fragment,
                            const Arguments& given) {
  for (const ast::Parameter& parameter : fragment.parameters) {
    if (parameter.default_value || given.contains(parameter.name)) continue;
    diagnostics_.error("check/missing-argument", expr.where,
                       fmt::format("'{}': argument '{}' ({}) is missing", fragment.name,
                                   parameter.name, describe(parameter.type)));
  }
}

bool Checker::bind_defaults(const Expr& expr, const ast::Fragment& fragment, const Arguments& given,
                            StaticType& binding) {
  bool sound = true;
  for (const ast::Parameter& parameter : fragment.parameters) {
    if (!parameter.default_value || !is_generic(parameter.type)) continue;
    if (given.contains(parameter.name)) continue;
    const StaticType type = type_of(*parameter.default_value);
    if (!type || castable(*type, parameter.type, &binding)) continue;
    diagnostics_
        .error("check/type", expr.where,
               fmt::format("'{}': the default of '{}' has type {}, but here '?' is {}",
                           fragment.name, parameter.name, describe(*type), describe(*binding)))
        .help(fmt::format("give it: {} = ...", parameter.name));
    sound = false;
  }
  return sound;
}

StaticType Checker::explicit_binding(const Expr& expr, const ast::Fragment& fragment) {
  if (!expr.type_argument) return std::nullopt;
  const Type& type = *expr.type_argument;
  if (!fragment.generic) {
    diagnostics_.error("check/type-argument", expr.text_where,
                       fmt::format("'{}' is not generic, so it takes no type argument <{}>",
                                   fragment.name, describe(type)));
    return std::nullopt;
  }
  const bool generic_here = fragment_ && fragment_->generic;
  if (type.kind == Type::Kind::primitive || (type.kind == Type::Kind::generic && generic_here)) {
    return type;
  }
  Diagnostic& diagnostic = diagnostics_.error(
      "check/type-argument", expr.text_where,
      type.kind == Type::Kind::generic
          ? fmt::format("'{}<?>' stands outside a generic fragment", fragment.name)
          : fmt::format("'{}': the type argument must be primitive, found {}", fragment.name,
                        describe(type)));
  diagnostic.help(fmt::format("write {}<scalar>(...)", fragment.name));
  return std::nullopt;
}

void Checker::check_place(const Expr& expr) {
  if (std::ranges::find(kGraphOnly, expr.text) == kGraphOnly.end()) return;
  if (fragment_ && !(dynamic_ && expr.text == "variable")) {
    diagnostics_.error(
        "check/graph-only", expr.where,
        fmt::format("'{}' may not stand in a fragment (here '{}')", expr.text, fragment_->name));
  } else if (expr.text.ends_with("external") && external_allowed_ != &expr) {
    diagnostics_.error("check/external-nested", expr.where,
                       "'external' must be the whole right side of an assignment to a graph input");
  }
}

bool Checker::match_types(const ast::Fragment& fragment, const Arguments& given,
                          const std::map<std::string_view, StaticType>& types,
                          StaticType& binding) {
  bool sound = true;
  // What '?' is, tensors say before literals do.
  for (const ast::Parameter& parameter : fragment.parameters) {
    const auto found = types.find(parameter.name);
    if (binding || found == types.end() || !found->second) continue;
    StaticType first;
    if (holds_tensor(*found->second) && castable(*found->second, parameter.type, &first)) {
      binding = first;
    }
  }
  for (const ast::Parameter& parameter : fragment.parameters) {
    const auto found = types.find(parameter.name);
    if (found == types.end() || !found->second) continue;
    const Type& type = *found->second;
    const StaticType before = binding;
    if (castable(type, parameter.type, &binding)) continue;
    const Expr& value = *given.at(parameter.name)->value;
    const Type expected = before ? substitute(parameter.type, *before) : parameter.type;
    binding = before;
    type_fault(value.where,
               fmt::format("'{}': argument '{}' has type {}, expected {}", fragment.name,
                           parameter.name, describe(type), describe(expected)),
               value, type, expected);
    sound = false;
  }
  return sound;
}

StaticType Checker::type_of_invocation(const Expr& expr) {
  const ast::Fragment* fragment = declarations_.find(expr.text);
  if (!fragment) {
    dynamic_ ? unresolved_.push_back(&expr) : unknown_operation(expr);
    for (const ast::NamedArgument& argument : expr.arguments) type_of(*argument.value);
    return std::nullopt;
  }
  check_place(expr);
  StaticType binding = explicit_binding(expr, *fragment);
  bool sound = !expr.type_argument || binding;

  Arguments given;
  std::map<std::string_view, StaticType> types;
  bool after_named = false;
  bool all_placed = true;  // else the argument that seems to be missing may be there, misspelt
  for (size_t i = 0; i < expr.arguments.size(); ++i) {
    const ast::NamedArgument& argument = expr.arguments[i];
    const StaticType type = type_of(*argument.value);
    const ast::Parameter* parameter = parameter_of(argument, i, *fragment, after_named);
    after_named = after_named || !argument.name.empty();
    sound = sound && type && parameter;
    all_placed = all_placed && parameter;
    if (!parameter) continue;
    const auto [place, fresh] = given.emplace(parameter->name, &argument);
    if (!fresh) {
      const Location& where = argument.name.empty() ? argument.value->where : argument.name_where;
      diagnostics_
          .error("check/argument-twice", where,
                 fmt::format("'{}': argument '{}' is given twice", fragment->name, parameter->name))
          .note("first given", place->second->value->where);
      sound = false;
      continue;
    }
    types.emplace(parameter->name, type);
  }
  if (all_placed) check_missing(expr, *fragment, given);
  if (dynamic_) return std::nullopt;

  sound = match_types(*fragment, given, types, binding) && sound;
  sound = bind_defaults(expr, *fragment, given, binding) && sound;
  if (fragment->generic && !binding) {
    binding = fragment->generic_default;
    if (!binding && sound) {
      diagnostics_
          .error("check/generic", expr.where,
                 fmt::format("'{}': the arguments do not determine the type '?'", fragment->name))
          .help(fmt::format("write {}<scalar>(...)", fragment->name));
    }
    if (!binding) return std::nullopt;
  }

  if (operations_) operations_->emplace(&expr, binding);
  Type result{Type::Kind::tuple, DType::scalar, {}};
  for (const ast::Result& item : fragment->results) {
    result.items.push_back(binding ? substitute(item.type, *binding) : item.type);
  }
  return result.items.size() == 1 ? result.items[0] : result;
}

}  // namespace nnef
