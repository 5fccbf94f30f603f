// What a shape rule sees: the operation by the names of its declaration, and a place for results
// and complaints.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef/graph.h"

namespace nnef {

class RuleContext : public OpView {
 public:
  RuleContext(Graph& graph, Operation& operation, Diagnostics& diagnostics)
      : OpView(graph, operation),
        graph_(&graph),
        operation_(&operation),
        diagnostics_(&diagnostics) {}

  /// Sets a result's shape (and type, when it is not the declared one).
  void set(std::string_view result, Shape shape);
  void set(std::string_view result, Shape shape, DType dtype);
  /// An array result: how many tensors the invocation assigned.
  void set_item(std::string_view result, size_t index, Shape shape);
  void set_resolved(std::string_view name, Value value);
  void set_resolved(std::string_view name, const std::vector<int64_t>& values);
  void set_resolved(std::string_view name, const std::vector<std::pair<int64_t, int64_t>>& values);
  void set_resolved(std::string_view name, const Shape& values);

  /// Whether it can be so. What is not for all values of the symbols becomes a condition of the
  /// graph.
  bool require_at_least(const Dim& value, const Dim& least);
  bool require_equal(const Dim& a, const Dim& b);

  /// Reports "[<operation>/<id>] '<operation>': message" at the argument `at` (or at the invocation
  /// when empty), with notes on the shapes of all tensor inputs, where they were defined, and the
  /// chain of call sites. Returns false, so that a rule can `return fail(...)`.
  bool fail(std::string_view id, std::string_view at, const std::string& message,
            std::string hint = {});
  /// The same as a warning: for what the specification leaves open.
  void warn(std::string_view id, std::string_view at, const std::string& message,
            std::string hint = {});

 private:
  void add_condition(const Dim& left, Condition::Kind kind, const Dim& right);
  Diagnostic& report(Severity severity, std::string_view id, std::string_view at,
                     const std::string& message);

  Graph* graph_;
  Operation* operation_;
  Diagnostics* diagnostics_;
};

/// Sets the shapes of all results, or reports and returns false. A pure function of the context.
using ShapeRule = bool (*)(RuleContext&);

struct ShapeRuleRow {
  std::string_view name;
  ShapeRule rule;
};

/// The family tables (one for each file of this folder), and the look-up over all of them.
std::span<const ShapeRuleRow> elementwise_rules();
std::span<const ShapeRuleRow> reduce_rules();
std::span<const ShapeRuleRow> window_rules();
std::span<const ShapeRuleRow> resample_rules();
std::span<const ShapeRuleRow> movement_rules();
std::span<const ShapeRuleRow> linear_rules();
std::span<const ShapeRuleRow> tract_rules();
std::span<const ShapeRuleRow> tract_movement_rules();
ShapeRule find_shape_rule(std::string_view name);

}  // namespace nnef
