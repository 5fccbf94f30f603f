#include "nnef/operations.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "nnef/reference.h"
#include "ops/rule.h"
#include "stages.h"

namespace nnef {
namespace {

/// Every item of `per_item` meets every item of the filter's extents after the first.
Dim filtered(const Shape& per_item, const Shape& filter) {
  Dim cost = volume(per_item);
  for (size_t i = 1; i < filter.size(); ++i) cost = cost * filter[i];
  return cost;
}

const Shape& result_shape(const OpView& op, std::string_view name) {
  return *op.graph()[op.result(name)].shape;
}

Dim forward(const OpView& op) { return filtered(result_shape(op, "output"), op.shape("filter")); }
Dim transposed(const OpView& op) { return filtered(op.shape("input"), op.shape("filter")); }

Dim separable(const OpView& op) {
  const Shape& point = op.shape("point_filter");
  Shape plane_result = result_shape(op, "output");
  plane_result[1] = point[1];
  return filtered(plane_result, op.shape("plane_filter")) +
         filtered(result_shape(op, "output"), point);
}

Dim separable_transposed(const OpView& op) {
  const Shape& point = op.shape("point_filter");
  Shape plane_input = op.shape("input");
  plane_input[1] = point[1];
  return filtered(op.shape("input"), point) + filtered(plane_input, op.shape("plane_filter"));
}

Dim product(const OpView& op) {
  const Shape& a = op.shape("A");
  const bool rows = op.logical("transposeA") && a.size() > 1;
  const Dim inner = rows ? a[a.size() - 2] : a.back();
  return volume(result_shape(op, "C")) * inner;
}

struct CostRow {
  std::string_view name;
  Dim (*cost)(const OpView&);
};

constexpr std::array kCosts{
    CostRow{"conv", forward},
    CostRow{"deconv", transposed},
    CostRow{"linear", forward},
    CostRow{"matmul", product},
    CostRow{"separable_conv", separable},
    CostRow{"separable_deconv", separable_transposed},
};

/// Names of operations that an expression invokes. Bodies of the standard spell operators on
/// tensors as operators; those name primitives that are in every table.
void collect_invocations(const ast::Expr* expr, std::set<std::string>& names) {
  if (expr == nullptr) return;
  if (expr->kind == ast::Expr::Kind::invocation) names.insert(expr->text);
  for (const auto& item : expr->items) collect_invocations(item.get(), names);
  for (const auto& iterator : expr->iterators) collect_invocations(iterator.in.get(), names);
  for (const auto& argument : expr->arguments) collect_invocations(argument.value.get(), names);
}

std::vector<std::string> invocations(const ast::Fragment& fragment) {
  std::set<std::string> names;
  for (const auto& assignment : fragment.body) collect_invocations(assignment.right.get(), names);
  return {names.begin(), names.end()};
}

}  // namespace

std::vector<OperationInfo> standard_operations() {
  const Declarations& standard = Declarations::standard();
  std::vector<OperationInfo> operations;
  for (const std::string& name : standard.names()) {
    const ast::Fragment& fragment = *standard.find(name);
    operations.push_back(
        {name, fragment.has_body, find_shape_rule(name) != nullptr, false, invocations(fragment)});
  }
  std::ranges::sort(operations, {}, &OperationInfo::name);
  const std::set<std::string> evaluated = supported(operations, has_evaluator);
  for (OperationInfo& operation : operations) {
    operation.evaluator = evaluated.contains(operation.name);
  }
  return operations;
}

std::set<std::string> supported(const std::vector<OperationInfo>& operations,
                                const std::function<bool(std::string_view)>& has_own) {
  // A body may use compounds, and itself: what lacks support is found until nothing changes.
  std::set<std::string> lacking;
  for (bool changed = true; std::exchange(changed, false);) {
    for (const OperationInfo& operation : operations) {
      const bool expands =
          operation.compound && std::ranges::none_of(operation.uses, [&](const std::string& name) {
            return lacking.contains(name);
          });
      if (!expands && !has_own(operation.name)) {
        changed = lacking.insert(operation.name).second || changed;
      }
    }
  }
  std::set<std::string> result;
  for (const OperationInfo& operation : operations) {
    if (!lacking.contains(operation.name)) result.insert(operation.name);
  }
  return result;
}

Dim multiply_accumulates(const OpView& operation) {
  for (const CostRow& row : kCosts) {
    if (row.name == operation.name()) return row.cost(operation);
  }
  return 0;
}

}  // namespace nnef
