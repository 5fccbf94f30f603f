#include "ops/rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "custom.h"

namespace nnef {
namespace {

/// Operations on arrays can have hundreds of inputs; a message shows the first few.
constexpr size_t kMaxShapeNotes = 8;

const Argument& result_argument(const Operation& operation, std::string_view name) {
  const auto found = std::ranges::find(operation.outputs, name, &Argument::name);
  assert(found != operation.outputs.end() && "the declaration has no such result");
  return *found;
}

void note_shapes(Diagnostic& diagnostic, const Graph& graph, const Operation& operation) {
  std::vector<TensorRef> tensors;
  each_tensor(operation.inputs, [&](TensorRef ref) {
    if (std::ranges::find(tensors, ref) == tensors.end()) tensors.push_back(ref);
  });
  for (size_t i = 0; i < std::min(tensors.size(), kMaxShapeNotes); ++i) {
    const Tensor& tensor = graph[tensors[i]];
    if (!tensor.shape.has_value()) continue;
    diagnostic.note(
        fmt::format("'{}' has shape {}, defined", tensor.name, to_string(*tensor.shape)),
        tensor.where);
  }
  if (tensors.size() > kMaxShapeNotes) {
    diagnostic.note(fmt::format("and {} more tensors", tensors.size() - kMaxShapeNotes));
  }
}

/// Extents that differ for some values of a symbol count as different.
void note_symbols(Diagnostic& diagnostic, const Graph& graph, const Operation& operation) {
  std::set<std::string> symbols;
  each_tensor(operation.inputs, [&](TensorRef ref) {
    if (!graph[ref].shape) return;
    for (const Dim& extent : *graph[ref].shape)
      each_symbol(extent, [&](const DimAtom& symbol) { symbols.insert(symbol.text); });
  });
  if (symbols.empty()) return;
  diagnostic.note(fmt::format("{} can have any value; --shape of an input gives it one",
                              fmt::join(symbols, ", ")));
}

std::string place_of(const Operation& operation) {
  const Location& where =
      operation.expansion.empty() ? operation.where : operation.expansion.back().where;
  if (!where) return fmt::format("'{}'", operation.name);
  return fmt::format("'{}' at {}:{}", operation.name, where.source->name(),
                     where.source->line_column(where.begin).line);
}

}  // namespace

void RuleContext::set(std::string_view result, Shape shape) {
  const TensorRef* ref = result_argument(*operation_, result).value.get<TensorRef>();
  assert(ref != nullptr && "an array result is set by item");
  if (ref != nullptr) (*graph_)[*ref].shape = std::move(shape);
}

void RuleContext::set(std::string_view result, Shape shape, DType dtype) {
  set(result, std::move(shape));
  (*graph_)[this->result(result)].dtype = dtype;
}

void RuleContext::set_item(std::string_view result, size_t index, Shape shape) {
  (*graph_)[results(result).at(index)].shape = std::move(shape);
}

void RuleContext::set_resolved(std::string_view name, Value value) {
  operation_->resolved.insert_or_assign(std::string(name), std::move(value));
}

void RuleContext::set_resolved(std::string_view name, const std::vector<int64_t>& values) {
  Array array;
  for (const int64_t value : values) array.items.emplace_back(value);
  set_resolved(name, Value(std::move(array)));
}

void RuleContext::set_resolved(std::string_view name,
                               const std::vector<std::pair<int64_t, int64_t>>& values) {
  Array array;
  for (const auto& [first, second] : values) {
    Tuple pair;
    pair.items.emplace_back(first);
    pair.items.emplace_back(second);
    array.items.emplace_back(std::move(pair));
  }
  set_resolved(name, Value(std::move(array)));
}

void RuleContext::set_resolved(std::string_view name, const Shape& values) {
  Array array;
  for (const Dim& value : values) array.items.emplace_back(value);
  set_resolved(name, Value(std::move(array)));
}

void RuleContext::add_condition(const Dim& left, Condition::Kind kind, const Dim& right) {
  const bool stands = std::ranges::any_of(graph_->conditions, [&](const Condition& condition) {
    return condition.kind == kind && condition.left == left && condition.right == right;
  });
  if (!stands) graph_->conditions.push_back({left, kind, right, place_of(*operation_)});
}

bool RuleContext::require_at_least(const Dim& value, const Dim& least) {
  const Dim rest = value - least;
  if (!rest.valid() || rest.most() < 0) return false;
  if (rest.least() < 0) add_condition(value, Condition::Kind::at_least, least);
  return true;
}

bool RuleContext::require_equal(const Dim& a, const Dim& b) {
  const Dim difference = a - b;
  if (a == b) return true;
  if (!difference.valid() || difference.least() > 0 || difference.most() < 0) return false;
  add_condition(a, Condition::Kind::equal, b);
  return true;
}

Diagnostic& RuleContext::report(Severity severity, std::string_view id, std::string_view at,
                                const std::string& message) {
  const Location& where = at.empty() ? operation_->where : argument(at).where;
  std::string full_id = fmt::format("{}/{}", name(), id);
  std::string text = fmt::format("'{}': {}", name(), message);
  Diagnostic& diagnostic = severity == Severity::error
                               ? diagnostics_->error(std::move(full_id), where, std::move(text))
                               : diagnostics_->warning(std::move(full_id), where, std::move(text));
  note_shapes(diagnostic, *graph_, *operation_);
  if (severity == Severity::error) note_symbols(diagnostic, *graph_, *operation_);
  for (const CallSite& site : operation_->expansion) {
    diagnostic.note(fmt::format("in expansion of '{}' called", site.fragment), site.where);
  }
  return diagnostic;
}

bool RuleContext::fail(std::string_view id, std::string_view at, const std::string& message,
                       std::string hint) {
  Diagnostic& diagnostic = report(Severity::error, id, at, message);
  if (!hint.empty()) diagnostic.help(std::move(hint));
  return false;
}

void RuleContext::warn(std::string_view id, std::string_view at, const std::string& message,
                       std::string hint) {
  Diagnostic& diagnostic = report(Severity::warning, id, at, message);
  if (!hint.empty()) diagnostic.help(std::move(hint));
}

ShapeRule find_shape_rule(std::string_view name) {
  static const std::map<std::string_view, ShapeRule> rules = [] {
    std::map<std::string_view, ShapeRule> all;
    for (const auto table :
         {elementwise_rules(), reduce_rules(), window_rules(), resample_rules(), movement_rules(),
          linear_rules(), tract_rules(), tract_movement_rules()}) {
      for (const ShapeRuleRow& row : table) {
        const bool added = all.emplace(row.name, row.rule).second;
        assert(added && "an operation stands in two tables");
        static_cast<void>(added);
      }
    }
    return all;
  }();
  const auto found = rules.find(name);
  if (found != rules.end()) return found->second;
  const CustomOperation* custom = find_custom(name);
  return custom ? custom->rule : nullptr;
}

}  // namespace nnef
