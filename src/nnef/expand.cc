#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "expander.h"

namespace nnef {
namespace {

using ast::Expr;

constexpr std::string_view kOperatorExpressions = "KHR_enable_operator_expressions";
constexpr std::string_view kFragmentDefinitions = "KHR_enable_fragment_definitions";
/// Keywords that a first name and a local name, joined by '_', can make.
constexpr std::string_view kKeywordsLikeNames[] = {"shape_of", "length_of", "range_of"};
/// Of a longer chain of calls, only this many innermost and as many outermost are shown.
constexpr size_t kShownCalls = 3;

const std::string& first_name(const Expr& left) {
  const Expr* expr = &left;
  while (!expr->items.empty()) expr = expr->items[0].get();
  return expr->text;
}

std::string names_text(size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// The declaration as text; defaults as they were written.
std::string declaration_text(const ast::Fragment& fragment) {
  std::string text = "fragment " + fragment.name;
  if (fragment.generic) {
    text += fragment.generic_default ? "<? = " + to_string(*fragment.generic_default) + ">" : "<?>";
  }
  std::string list;
  for (const ast::Parameter& parameter : fragment.parameters) {
    if (!list.empty()) list += ", ";
    list += parameter.name + ": " + to_string(parameter.type);
    if (!parameter.default_value) continue;
    const Location& where = parameter.default_value->where;
    list += " = ";
    list += where.source->text().substr(where.begin, where.end - where.begin);
  }
  text += "(" + list + ") -> (";
  list.clear();
  for (const ast::Result& result : fragment.results) {
    if (!list.empty()) list += ", ";
    list += result.name + ": " + to_string(result.type);
  }
  return text + list + ");";
}

}  // namespace

std::string TensorNames::unique(const std::string& wanted) {
  if (taken_.insert(wanted).second) return wanted;
  size_t& number = next_[wanted];
  if (number == 0) number = 1;
  std::string name;
  do {
    name = wanted + "_" + std::to_string(++number);
  } while (!taken_.insert(name).second);
  return name;
}

Target Target::item(size_t index) const {
  Target result;
  if (sequence) {
    if (index < items.size()) result = items[index];
  } else if (!name.empty()) {
    result.name = name + "_" + std::to_string(index);
  }
  return result;
}

std::vector<CallSite> call_chain(const Frame& frame) {
  std::vector<CallSite> chain;
  for (const Frame* at = &frame; at->fragment; at = at->parent) {
    chain.push_back({at->fragment->name, at->call});
  }
  return chain;
}

void add_call_notes(Diagnostic& diagnostic, const std::vector<CallSite>& chain) {
  const bool all = chain.size() <= 2 * kShownCalls + 1;
  for (size_t i = 0; i < chain.size(); ++i) {
    if (!all && i == kShownCalls) {
      const size_t hidden = chain.size() - 2 * kShownCalls;
      diagnostic.note(fmt::format("... and {} calls more ...", hidden));
      i += hidden;
    }
    diagnostic.note(fmt::format("in expansion of '{}' called", chain[i].fragment), chain[i].where);
  }
}

Expander::Expander(const ast::Document& document, const Declarations& declarations,
                   const std::function<bool(std::string_view)>& keep, Diagnostics& diagnostics,
                   const ExpansionInputs& inputs)
    : document_(document),
      declarations_(declarations),
      keep_(keep),
      diagnostics_(diagnostics),
      inputs_(inputs),
      dynamic_(document.dialect == Dialect::tract),
      known_(graph_) {}

std::nullopt_t Expander::fail(std::string id, const Location& where, std::string message,
                              const Frame& frame, std::string hint) {
  if (!reported_.emplace(where.source.get(), where.begin, id).second) return std::nullopt;
  Diagnostic& diagnostic = diagnostics_.error(std::move(id), where, std::move(message));
  add_call_notes(diagnostic, call_chain(frame));
  if (!hint.empty()) diagnostic.help(std::move(hint));
  return std::nullopt;
}

std::nullopt_t Expander::fail(const EvaluationFault& fault, const Location& where,
                              const Frame& frame) {
  return fail(std::string(fault.id), where, fault.message, frame, fault.hint);
}

std::nullopt_t Expander::give_up(std::string id, const Location& where, std::string message,
                                 const Frame& frame, std::string hint) {
  if (exhausted_) return std::nullopt;
  exhausted_ = true;
  return fail(std::move(id), where, std::move(message), frame, std::move(hint));
}

bool Expander::spend(size_t work, const Location& where, const Frame& frame) {
  if (exhausted_) return false;
  work_ += work;
  if (work_ <= kMaxWork) return true;
  give_up("expand/work", where, fmt::format("the expansion takes more than {} steps", kMaxWork),
          frame, "does a fragment call itself several times, or without an end?");
  return false;
}

void Expander::reserve_names() {
  const auto reserve = [this](const auto& self, const Expr& left) -> void {
    if (left.kind == Expr::Kind::identifier) names_.reserve(left.text);
    for (const ast::ExprPtr& item : left.items) self(self, *item);
  };
  for (const ast::Assignment& assignment : document_.graph->body) {
    reserve(reserve, *assignment.left);
  }
  for (const std::string& name : declarations_.names()) names_.reserve(name);
  for (const std::string_view keyword : kKeywordsLikeNames) names_.reserve(std::string(keyword));
}

void Expander::add_custom_declarations() {
  for (const ast::Fragment& fragment : document_.fragments) {
    if (!fragment.has_body) graph_.custom.push_back({fragment.name, declaration_text(fragment)});
  }
  for (const ast::Identifier& extension : document_.extensions) {
    const bool needed = extension.name == kFragmentDefinitions
                            ? !graph_.custom.empty()
                            : extension.name != kOperatorExpressions;
    if (needed) graph_.extensions.push_back(extension.name);
  }
}

Target Expander::target_of(const Expr& left, const Frame& frame) const {
  Target target;
  if (left.kind == Expr::Kind::identifier) {
    if (!frame.fragment) {
      target.name = left.text;
      target.exact = true;
      target.where = left.where;
    } else if (const auto found = frame.results.find(left.text); found != frame.results.end()) {
      return found->second;
    } else {
      target.name = root_ + "_" + left.text;
    }
    return target;
  }
  target.sequence = true;
  for (const ast::ExprPtr& item : left.items) target.items.push_back(target_of(*item, frame));
  return target;
}

/// A tensor that the graph's text names has that name: a new tensor takes it, another one is
/// copied.
Value Expander::name_in_graph(const Expr& left, const Value& value) {
  const std::string_view name = left.text;
  const auto* ref = value.get<TensorRef>();
  if (ref && graph_[*ref].name != name && ref->index >= first_fresh_ &&
      !by_name_.contains(graph_[*ref].name)) {
    graph_[*ref].name = name;
    graph_[*ref].where = left.where;
  }
  if (ref && graph_[*ref].name == name) {
    by_name_[name] = *ref;
    return value;
  }
  const bool output = std::ranges::any_of(
      document_.graph->outputs, [&](const ast::Identifier& item) { return item.name == name; });
  const ast::Fragment* copy = declarations_.find("copy");
  if (!copy || items_of(value) || (!ref && !output)) return value;
  const Target target = target_of(left, top_);
  const auto copied = emit(*copy, {{value, left.where, false}}, dtype_of(value), std::nullopt,
                           left.where, top_, target);
  if (!copied) return {};
  by_name_[name] = *copied->get<TensorRef>();
  return ref ? *copied : value;
}

bool Expander::assign(const Expr& left, const Value& value, Frame& frame) {
  if (left.kind == Expr::Kind::identifier) {
    frame.values[left.text] = frame.fragment ? value : name_in_graph(left, value);
    return true;
  }
  const std::vector<Value>* items = items_of(value);
  if (!items || items->size() != left.items.size()) {
    fail("expand/array-size", left.where,
         fmt::format("{} cannot take {}", names_text(left.items.size(), "name"),
                     names_text(items ? items->size() : 1, "value")),
         frame);
    return false;
  }
  bool sound = true;
  for (size_t i = 0; i < items->size(); ++i)
    sound = assign(*left.items[i], (*items)[i], frame) && sound;
  return sound;
}

void Expander::poison(const Expr& left, Frame& frame) {
  if (left.kind == Expr::Kind::identifier) frame.values.emplace(left.text, Value{});
  for (const ast::ExprPtr& item : left.items) poison(*item, frame);
}

/// In tract's dialect a name may be assigned again: the tensor that had it takes another.
void Expander::give_up_name(const Expr& left) {
  for (const ast::ExprPtr& item : left.items) give_up_name(*item);
  const auto found = by_name_.find(left.text);
  if (left.kind != Expr::Kind::identifier || found == by_name_.end()) return;
  graph_[found->second].name = names_.unique(left.text);
  by_name_.erase(found);
}

bool Expander::run_assignment(const ast::Assignment& assignment, Frame& frame) {
  if (dynamic_ && !frame.fragment) give_up_name(*assignment.left);
  const auto value = evaluate(*assignment.right, frame, target_of(*assignment.left, frame));
  if (value && assign(*assignment.left, *value, frame)) return true;
  poison(*assignment.left, frame);
  return false;
}

void Expander::collect_interface() {
  const auto collect = [&](const std::vector<ast::Identifier>& names,
                           std::vector<TensorRef>& refs) {
    for (const ast::Identifier& name : names) {
      const auto found = by_name_.find(name.name);
      if (found != by_name_.end()) refs.push_back(found->second);
    }
  };
  collect(document_.graph->inputs, graph_.inputs);
  collect(document_.graph->outputs, graph_.outputs);
}

std::optional<Graph> Expander::expand() {
  const size_t errors_before = diagnostics_.error_count();
  if (!dynamic_) Checker(declarations_, type_diagnostics_, &types_).check_document(document_);
  graph_.name = document_.graph->name;
  reserve_names();
  add_custom_declarations();
  if (dynamic_) declare_symbols();
  for (const ast::Assignment& assignment : document_.graph->body) {
    root_ = first_name(*assignment.left);
    first_fresh_ = graph_.tensors.size();
    run_assignment(assignment, top_);
    if (exhausted_) break;
  }
  collect_interface();
  if (dynamic_) {
    add_assertions();
    remove_unused();
    report_without_rule();
  } else {
    check_variables(graph_, diagnostics_);
  }
  if (diagnostics_.error_count() != errors_before) return std::nullopt;
  return std::move(graph_);
}

std::optional<Graph> expand(const ast::Document& document, const Declarations& declarations,
                            const std::function<bool(std::string_view)>& keep,
                            Diagnostics& diagnostics, const ExpansionInputs& inputs) {
  assert(document.graph && "the parser reports a document without a graph");
  if (!document.graph) return std::nullopt;
  return Expander(document, declarations, keep, diagnostics, inputs).expand();
}

}  // namespace nnef
