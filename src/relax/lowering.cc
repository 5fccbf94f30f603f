#include "relax/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "relax/import.h"

namespace nnef_tvm {
namespace {

const std::map<std::string_view, const LoweringRow*>& lowering_index() {
  static const auto index = [] {
    std::map<std::string_view, const LoweringRow*> rows;
    for (auto table :
         {elementwise_lowerings(), reduce_lowerings(), window_lowerings(), resample_lowerings(),
          movement_lowerings(), linear_lowerings(), roi_lowerings()}) {
      for (const LoweringRow& row : table) rows.emplace(row.operation, &row);
    }
    return rows;
  }();
  return index;
}

bool is_alias(const LoweringRow& row) {
  return std::holds_alternative<UnaryAlias>(row.lower) ||
         std::holds_alternative<BinaryAlias>(row.lower);
}

/// Applies the lowering of a row; overloaded on the kinds of rows.
struct Lower {
  const LoweringContext& op;

  const nnef::Value& operand(size_t index) const { return op.operation().inputs[index].value; }

  std::vector<Expr> one(Expr result) const {
    if (!result.defined()) return {};
    return {std::move(result)};
  }

  std::vector<Expr> operator()(UnaryAlias alias) const { return one(alias(op.item(operand(0)))); }
  std::vector<Expr> operator()(BinaryAlias alias) const {
    const size_t rank = std::max(op.shape_of(operand(0)).size(), op.shape_of(operand(1)).size());
    return one(alias(op.item(operand(0), rank), op.item(operand(1), rank)));
  }
  std::vector<Expr> operator()(Lowering lowering) const { return one(lowering(op)); }
  std::vector<Expr> operator()(MultiLowering lowering) const { return lowering(op); }
};

}  // namespace

DLDataType relax_dtype(nnef::DType type) {
  constexpr std::array<DLDataType, 3> dtypes{float32, int32, boolean};  // scalar, integer, logical
  return dtypes.at(static_cast<size_t>(type));
}

Ints to_extents(const nnef::Shape& shape) {
  Ints extents;
  for (nnef::Dim dim : shape) extents.push_back(dim.value());
  return extents;
}

Expr literal(const nnef::Value& value) {
  if (const int64_t* integer = value.get<int64_t>()) {
    return constant(static_cast<double>(*integer), int32);
  }
  if (const bool* logical = value.get<bool>()) return constant(*logical ? 1 : 0, boolean);
  return scalar(*value.get<double>());
}

Expr LoweringContext::item(const nnef::Value& value) const {
  const auto* ref = value.get<nnef::TensorRef>();
  return ref != nullptr ? (*values_)[ref->index] : literal(value);
}

Expr LoweringContext::item(const nnef::Value& value, size_t rank) const {
  const size_t own = shape_of(value).size();
  if (own == 0 || own >= rank) return item(value);
  Ints axes;
  for (size_t axis = own; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  return relax::expand_dims(item(value), axes);
}

Ints LoweringContext::result_extents() const {
  return to_extents(shape_of(operation().outputs.front().value));
}

Expr LoweringContext::fail(std::string_view id, std::string_view at, std::string message,
                           std::string hint) const {
  auto& diagnostic = diagnostics_->error(fmt::format("{}/{}", name(), id),
                                         at.empty() ? operation().where : argument(at).where,
                                         fmt::format("'{}': {}", name(), message));
  for (const nnef::CallSite& site : operation().expansion) {
    diagnostic.note(fmt::format("in expansion of '{}' called", site.fragment), site.where);
  }
  if (!hint.empty()) diagnostic.help(std::move(hint));
  return {};
}

const LoweringRow* find_lowering(std::string_view operation) {
  const auto& index = lowering_index();
  const auto found = index.find(operation);
  return found == index.end() ? nullptr : found->second;
}

std::vector<Expr> lower(const LoweringRow& row, const LoweringContext& context) {
  return std::visit(Lower{context}, row.lower);
}

bool has_lowering(std::string_view operation) { return find_lowering(operation) != nullptr; }

std::vector<LoweringInfo> lowerings() {
  std::vector<LoweringInfo> infos{{"external", "own"}, {"variable", "own"}};  // by import_graph
  for (const auto& [operation, row] : lowering_index()) {
    infos.push_back({operation, is_alias(*row) ? "alias" : "own"});
  }
  return infos;
}

}  // namespace nnef_tvm
