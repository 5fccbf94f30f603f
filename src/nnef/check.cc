#include <fmt/format.h>

#include <algorithm>

#include "checker.h"

namespace nnef {
namespace {

using ast::Expr;
using ast::Type;

void collect_names(const Expr& left, std::map<std::string, Location, std::less<>>& names) {
  if (left.kind == Expr::Kind::identifier) names.emplace(left.text, left.where);
  for (const ast::ExprPtr& item : left.items) collect_names(*item, names);
}

bool is_invocation_of(const Expr& expr, std::string_view operation) {
  return expr.kind == Expr::Kind::invocation && expr.text == operation;
}

/// An array or tuple on both sides is assigned item by item.
bool pairs_up(const Expr& left, const Expr& right) {
  return (left.kind == Expr::Kind::array || left.kind == Expr::Kind::tuple) &&
         left.kind == right.kind && left.items.size() == right.items.size();
}

}  // namespace

bool Checker::declare(const std::string& name, StaticType type, const Location& where) {
  Binding binding{std::move(type), where};
  const auto found = scope_.find(name);
  // In tract's dialect a later value replaces an earlier one.
  if (found == scope_.end() || found->second.unknown || dynamic_) {
    scope_.insert_or_assign(name, std::move(binding));
    return true;
  }
  const bool parameter = found->second.parameter;
  diagnostics_
      .error("check/assigned-twice", where,
             fmt::format("name '{}' is {}", name,
                         parameter ? "assigned, but is a parameter" : "assigned twice"))
      .note(parameter ? "the parameter is declared" : "first assigned", found->second.where)
      .help("every name is assigned once; choose another name");
  return false;
}

void Checker::assign(const Expr& left, const StaticType& type) {
  if (left.kind == Expr::Kind::identifier) {
    declare(left.text, type, left.where);
    return;
  }
  const bool array = left.kind == Expr::Kind::array;
  const Type::Kind expected = array ? Type::Kind::array : Type::Kind::tuple;
  const bool fits =
      type && type->kind == expected && (array || type->items.size() == left.items.size());
  if (type && !fits) {
    Diagnostic& diagnostic = diagnostics_.error(
        "check/assignment", left.where,
        fmt::format("a value of type {} cannot be assigned to {} of {} names", describe(*type),
                    array ? "an array" : "a tuple", left.items.size()));
    if (!array && type->kind == Type::Kind::array) {
      diagnostic.help("the names of an array are written in brackets: [a, b] = ...");
    } else if (array && type->kind == Type::Kind::tuple) {
      diagnostic.help("several results are written without brackets: a, b = ...");
    }
  }
  for (size_t i = 0; i < left.items.size(); ++i) {
    const bool known = fits && !type->items.empty();
    assign(*left.items[i], known ? StaticType(type->items[array ? 0 : i]) : std::nullopt);
  }
}

void Checker::check_external(const Expr& left, const Expr& right) {
  const bool external =
      is_invocation_of(right, "external") || is_invocation_of(right, "tract_core_external");
  if (left.kind == Expr::Kind::identifier) {
    const bool input = std::ranges::any_of(
        graph_->inputs, [&](const ast::Identifier& item) { return item.name == left.text; });
    if (external && !input) {
      diagnostics_
          .error("check/external-not-input", left.where,
                 fmt::format("'{}' is assigned by 'external', but is no input of graph '{}'",
                             left.text, graph_->name))
          .note("the inputs are declared",
                graph_->inputs.empty() ? graph_->name_where : graph_->inputs[0].where)
          .help(fmt::format("add '{}' to the inputs of the graph", left.text));
    } else if (!external && input) {
      diagnostics_
          .error("check/input-not-external", left.where,
                 fmt::format("graph input '{}' must be assigned by 'external'", left.text))
          .help(fmt::format("write {} = external<scalar>(shape = [...]), or take it off the inputs",
                            left.text));
    }
    return;
  }
  if (!pairs_up(left, right)) return;
  for (size_t i = 0; i < left.items.size(); ++i) check_external(*left.items[i], *right.items[i]);
}

void Checker::check_assignment(const Expr& left, const Expr& right) {
  if (pairs_up(left, right)) {
    // Item by item, so that one faulty item leaves the other names with their types.
    std::vector<StaticType> types;
    StaticType common;
    for (const ast::ExprPtr& item : right.items) {
      external_allowed_ = item.get();
      types.push_back(type_of(*item));
    }
    if (left.kind == Expr::Kind::array && std::ranges::all_of(types, &StaticType::has_value)) {
      Type array{Type::Kind::array, DType::scalar, {}};
      for (size_t i = 0; i < types.size(); ++i) {
        common = i == 0 ? types[0] : common_type(*common, *types[i]);
        if (common) continue;
        diagnostics_.error("check/type", right.items[i]->where,
                           fmt::format("the items of an array must have one type, found {} and {}",
                                       describe(*types[0]), describe(*types[i])));
        break;
      }
    }
    for (size_t i = 0; i < left.items.size(); ++i) assign(*left.items[i], types[i]);
    return;
  }
  external_allowed_ = &right;
  assign(left, type_of(right));
}

void Checker::begin_body(const std::vector<ast::Assignment>& body) {
  scope_.clear();
  assigned_.clear();
  for (const ast::Assignment& assignment : body) collect_names(*assignment.left, assigned_);
}

void Checker::check_body(const std::vector<ast::Assignment>& body) {
  for (const ast::Assignment& assignment : body) {
    check_assignment(*assignment.left, *assignment.right);
    if (graph_) check_external(*assignment.left, *assignment.right);
  }
}

void Checker::check_graph_inputs(const ast::GraphDefinition& graph) {
  std::map<std::string_view, Location> seen;
  for (const ast::Identifier& input : graph.inputs) {
    const auto [place, fresh] = seen.emplace(input.name, input.where);
    if (!fresh) {
      diagnostics_
          .error("check/input-twice", input.where,
                 fmt::format("graph input '{}' is listed twice", input.name))
          .note("first listed", place->second);
    } else if (!assigned_.contains(input.name)) {
      diagnostics_
          .error("check/unassigned-input", input.where,
                 fmt::format("graph input '{}' is never assigned", input.name))
          .help(fmt::format("add {} = external<scalar>(shape = [...]);", input.name));
      scope_.emplace(input.name, Binding{std::nullopt, input.where, true});
    }
  }
}

void Checker::check_graph_outputs(const ast::GraphDefinition& graph) {
  std::vector<std::string> names;
  for (const auto& [name, where] : assigned_) names.push_back(name);
  std::map<std::string_view, Location> seen;
  for (const ast::Identifier& output : graph.outputs) {
    const auto [place, fresh] = seen.emplace(output.name, output.where);
    if (!fresh) {
      diagnostics_
          .error("check/output-twice", output.where,
                 fmt::format("graph output '{}' is listed twice", output.name))
          .note("first listed", place->second);
      continue;
    }
    const auto found = scope_.find(output.name);
    if (!assigned_.contains(output.name)) {
      const bool input = found != scope_.end() && found->second.unknown &&
                         std::ranges::any_of(graph.inputs, [&](const ast::Identifier& item) {
                           return item.name == output.name;
                         });
      if (input) continue;
      const std::string nearest = nearest_name(output.name, names);
      diagnostics_
          .error("check/unassigned-output", output.where,
                 fmt::format("graph output '{}' is never assigned", output.name))
          .help(nearest.empty() ? fmt::format("assign it in the graph: {} = ...;", output.name)
                                : fmt::format("did you mean '{}'?", nearest));
      continue;
    }
    const StaticType& type = found->second.type;
    if (type && type->kind != Type::Kind::tensor && !is_single(*type)) {
      diagnostics_
          .error("check/type", output.where,
                 fmt::format("graph output '{}' has type {}, expected a tensor", output.name,
                             describe(*type)))
          .note(fmt::format("'{}' is assigned", output.name), found->second.where);
    }
  }
}

void Checker::check_graph(const ast::GraphDefinition& graph) {
  graph_ = &graph;
  begin_body(graph.body);
  check_graph_inputs(graph);
  check_body(graph.body);
  check_graph_outputs(graph);
  graph_ = nullptr;
}

void Checker::check_document(const ast::Document& document) {
  for (const ast::Identifier& symbol : document.symbols) symbols_.insert(symbol.name);
  for (const ast::Fragment& fragment : document.fragments) check_fragment(fragment);
  if (document.graph) check_graph(*document.graph);
  report_unresolved();
}

void check(const ast::Document& document, const Declarations& declarations,
           Diagnostics& diagnostics) {
  Checker(declarations, diagnostics).check_document(document);
}

}  // namespace nnef
