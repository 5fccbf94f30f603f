// What a lowering sees: the operation by the names of its declaration, and the Relax expressions of
// its inputs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "nnef/graph.h"
#include "tvm/dims.h"
#include "tvm/relax.h"

namespace nnef_tvm {

using relax::Ints;
using Pairs = std::vector<std::pair<int64_t, int64_t>>;

/// float, int or uint of the same width, or bool
DLDataType relax_dtype(const nnef::ItemType& type);
/// Of the items of a tensor.
inline DLDataType relax_dtype(const nnef::Tensor& tensor) { return relax_dtype(tensor.item); }
/// A lowering needs to know an extent that has symbols. Thrown where it asks, reported with the
/// operation.
struct SymbolicExtent {
  nnef::Dim extent;
};
/// Throw SymbolicExtent.
int64_t known_extent(const nnef::Dim& extent);
Ints to_extents(const nnef::Shape& shape);
inline nnef::Shape to_shape(const Ints& extents) { return {extents.begin(), extents.end()}; }

class LoweringContext : public nnef::OpView {
 public:
  /// `values` holds the expression of each tensor of the graph that was lowered so far.
  LoweringContext(const nnef::Graph& graph, const nnef::Operation& operation,
                  const std::vector<Expr>& values, SymbolTable& symbols, BlockBuilder& builder,
                  nnef::Diagnostics& diagnostics)
      : OpView(graph, operation),
        values_(&values),
        symbols_(&symbols),
        builder_(&builder),
        diagnostics_(&diagnostics) {}

  /// In the type that the operation computes in.
  Expr input(std::string_view name) const { return item(value(name)); }
  Expr item(const nnef::Value& value) const;
  /// With trailing axes of extent 1 up to `rank`, as NNEF broadcasts (aligned from the left); rank
  /// 0 stays.
  Expr input(std::string_view name, size_t rank) const { return item(value(name), rank); }
  Expr item(const nnef::Value& value, size_t rank) const;
  /// The literal of an input, if it is one.
  const double* literal_scalar(std::string_view name) const { return value(name).get<double>(); }

  /// The type in which the operation computes with operands and results of a primitive type:
  /// float32 or float64, int32 or int64, bool. Narrower items are converted before and after.
  DLDataType computed(nnef::DType type) const;
  DLDataType real() const { return computed(nnef::DType::scalar); }
  DLDataType whole() const { return computed(nnef::DType::integer); }
  /// Whether the operands are integers only.
  bool is_integer() const;
  /// A constant of rank 0: real, or whole where the operation is_integer().
  Expr number(double value) const { return constant(value, is_integer() ? whole() : real()); }

  size_t rank(std::string_view name) const { return shape(name).size(); }
  /// Known ones; throws SymbolicExtent.
  Ints extents(std::string_view name) const { return to_extents(shape(name)); }
  int64_t extent(std::string_view name, int64_t axis) const {
    return known_extent(shape(name)[static_cast<size_t>(axis)]);
  }
  /// Of the first result.
  Ints result_extents() const { return to_extents(result_shape()); }
  const nnef::Shape& result_shape() const;
  /// The same, of which some may have symbols.
  Extents result_dims() const { return dims(result_shape()); }
  Extents dims(const nnef::Shape& shape) const { return symbols_->exprs(shape); }
  PrimExpr dim(const nnef::Dim& extent) const { return symbols_->expr(extent); }
  /// An extent as a tensor of rank 0 (of int32 or int64), and several as one of rank 1.
  Expr extent_item(const nnef::Dim& extent, DLDataType dtype) const;
  Expr extent_items(const nnef::Shape& extents, DLDataType dtype) const;

  /// Binds an expression that is used more than once.
  Expr let(Expr expr) const { return builder_->emit(std::move(expr)); }
  /// For kernels of their own.
  BlockBuilder& builder() const { return *builder_; }
  nnef::Diagnostics& diagnostics() const { return *diagnostics_; }

  /// Reports "[<operation>/<id>] '<operation>': message" and returns an undefined expression.
  Expr fail(std::string_view id, std::string_view at, std::string message,
            std::string hint = {}) const;

 private:
  const std::vector<Expr>* values_;
  SymbolTable* symbols_;
  BlockBuilder* builder_;
  nnef::Diagnostics* diagnostics_;
};

// The ways to lower an operation. Those on bare expressions take the inputs in declared order,
// broadcast to one rank.
using UnaryAlias = Expr (*)(Expr);
using BinaryAlias = Expr (*)(Expr, Expr);
using Lowering = Expr (*)(const LoweringContext&);
/// One expression for each result tensor in order; none after a failure.
using MultiLowering = std::vector<Expr> (*)(const LoweringContext&);

struct LoweringRow {
  std::string_view operation;
  std::variant<UnaryAlias, BinaryAlias, Lowering, MultiLowering> lower;
};

/// The family tables (one for each file of ops/), and the look-up over all of them.
std::span<const LoweringRow> elementwise_lowerings();
std::span<const LoweringRow> reduce_lowerings();
std::span<const LoweringRow> window_lowerings();
std::span<const LoweringRow> resample_lowerings();
std::span<const LoweringRow> movement_lowerings();
std::span<const LoweringRow> linear_lowerings();
std::span<const LoweringRow> roi_lowerings();
std::span<const LoweringRow> tract_lowerings();
std::span<const LoweringRow> tract_movement_lowerings();
const LoweringRow* find_lowering(std::string_view operation);

/// How an operation of nnef::register_operation is lowered. Not to be called while models are
/// imported; false when the operation has a lowering.
bool register_lowering(std::string operation, Lowering lowering);

/// The results of an operation, one for each result tensor; none after a failure, which was
/// reported.
std::vector<Expr> lower(const LoweringRow& row, const LoweringContext& context);
std::vector<Expr> lower(const std::function<std::vector<Expr>(const LoweringContext&)>& lowering,
                        const LoweringContext& context);

}  // namespace nnef_tvm
