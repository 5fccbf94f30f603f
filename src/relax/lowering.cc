#include "relax/lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <map>

#include "relax/import.h"
#include "tvm/emit_te.h"
#include "tvm/indices.h"

namespace nnef_tvm {
namespace {

const std::map<std::string_view, const LoweringRow*>& lowering_index() {
  static const auto index = [] {
    std::map<std::string_view, const LoweringRow*> rows;
    for (auto table : {elementwise_lowerings(), reduce_lowerings(), window_lowerings(),
                       resample_lowerings(), movement_lowerings(), linear_lowerings(),
                       roi_lowerings(), tract_lowerings(), tract_movement_lowerings()}) {
      for (const LoweringRow& row : table) rows.emplace(row.operation, &row);
    }
    return rows;
  }();
  return index;
}

/// Of custom operations; the rows name the keys.
std::map<std::string, LoweringRow, std::less<>>& registered() {
  static std::map<std::string, LoweringRow, std::less<>> rows;
  return rows;
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

DLDataType relax_dtype(const nnef::ItemType& type) {
  constexpr std::array<std::pair<nnef::ItemCode, uint8_t>, 4> codes{{
      {nnef::ItemCode::float_, kDLFloat},
      {nnef::ItemCode::int_, kDLInt},
      {nnef::ItemCode::uint_, kDLUInt},
      {nnef::ItemCode::bool_, kDLBool},
  }};
  const auto* row = std::ranges::find(codes, type.code, &decltype(codes)::value_type::first);
  assert(row != codes.end() && "inference gives tensors no other item types");
  return {row->second, static_cast<uint8_t>(type.bits), 1};
}

int64_t known_extent(const nnef::Dim& extent) {
  if (!extent.known()) throw SymbolicExtent{extent};
  return extent.value();
}

Ints to_extents(const nnef::Shape& shape) {
  Ints extents;
  for (const nnef::Dim& extent : shape) extents.push_back(known_extent(extent));
  return extents;
}

DLDataType LoweringContext::computed(nnef::DType type) const {
  if (type == nnef::DType::logical) return boolean;
  const nnef::ItemType usual = nnef::default_item(type);
  bool wide = false;
  const auto look = [&](nnef::TensorRef ref) {
    if (graph()[ref].dtype != type) return;
    const nnef::ItemType& item = graph()[ref].item;
    wide = wide || item.bits > usual.bits ||
           (item.code == nnef::ItemCode::uint_ && item.bits == usual.bits);
  };
  nnef::each_tensor(operation().inputs, look);
  nnef::each_tensor(operation().outputs, look);
  if (type == nnef::DType::scalar) return wide ? float64 : float32;
  return wide ? int64 : int32;
}

bool LoweringContext::is_integer() const {
  bool reals = false;
  bool integers = false;
  const auto look = [&](const nnef::Value& value) {
    reals = reals || dtype_of(value) == nnef::DType::scalar;
    integers = integers || dtype_of(value) == nnef::DType::integer;
  };
  nnef::each_item(operation().inputs, look);
  return integers && !reals;
}

Expr LoweringContext::item(const nnef::Value& value) const {
  if (const auto* integer = value.get<int64_t>()) return integer_constant(*integer, whole());
  if (const auto* logical = value.get<bool>()) return constant(*logical ? 1.0 : 0.0, boolean);
  if (const auto* real_value = value.get<double>()) return constant(*real_value, real());
  const auto ref = *value.get<nnef::TensorRef>();
  const Expr& expr = (*values_)[ref.index];
  const DLDataType wanted = computed(graph()[ref].dtype);
  return relax_dtype(graph()[ref].item) == wanted ? expr : relax::astype(expr, wanted);
}

Expr LoweringContext::item(const nnef::Value& value, size_t rank) const {
  const size_t own = shape_of(value).size();
  if (own == 0 || own >= rank) return item(value);
  Ints axes;
  for (size_t axis = own; axis < rank; ++axis) axes.push_back(static_cast<int64_t>(axis));
  return relax::expand_dims(item(value), axes);
}

const nnef::Shape& LoweringContext::result_shape() const {
  return shape_of(operation().outputs.front().value);
}

Expr LoweringContext::extent_item(const nnef::Dim& extent, DLDataType dtype) const {
  if (extent.known()) return integer_constant(extent.value(), dtype);
  const PrimExpr value = dim(extent);
  return emit_te(*builder_, "extent", {},
                 [&](const auto&) {
                   return te::compute({}, "extent",
                                      [&](const te::Indices&) { return cast(value, dtype); });
                 },
                 {value});
}

Expr LoweringContext::extent_items(const nnef::Shape& extents, DLDataType dtype) const {
  const Ints shape{static_cast<int64_t>(extents.size())};
  if (nnef::known(extents)) {
    const Ints known = to_extents(extents);
    return constant(std::vector<double>(known.begin(), known.end()), shape, dtype);
  }
  const Extents values = dims(extents);
  return emit_te(
      *builder_, "extents", {},
      [&](const auto&) {
        return te::compute(te_shape(shape), "extents", [&](const te::Indices& i) {
          PrimExpr chosen = values.back();
          for (size_t k = values.size() - 1; k-- > 0;)
            chosen = select(eq(i[0], static_cast<int64_t>(k)), values[k], chosen);
          return cast(chosen, dtype);
        });
      },
      values);
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
  if (found != index.end()) return found->second;
  const auto custom = registered().find(operation);
  return custom == registered().end() ? nullptr : &custom->second;
}

bool register_lowering(std::string operation, Lowering lowering) {
  if (find_lowering(operation) != nullptr) return false;
  const auto [place, fresh] = registered().emplace(std::move(operation), LoweringRow{});
  place->second = {place->first, lowering};
  return fresh;
}

namespace {

/// Results in the type that the operation computes in, as the tensors store them.
std::vector<Expr> as_stored(std::vector<Expr> results, const LoweringContext& context) {
  size_t index = 0;
  nnef::each_tensor(context.operation().outputs, [&](nnef::TensorRef ref) {
    if (index == results.size()) return;
    const nnef::Tensor& tensor = context.graph()[ref];
    const DLDataType stored = relax_dtype(tensor.item);
    Expr& result = results[index++];
    if (stored != context.computed(tensor.dtype)) result = relax::astype(result, stored);
  });
  return results;
}

}  // namespace

std::vector<Expr> lower(const LoweringRow& row, const LoweringContext& context) {
  return as_stored(std::visit(Lower{context}, row.lower), context);
}

std::vector<Expr> lower(const std::function<std::vector<Expr>(const LoweringContext&)>& lowering,
                        const LoweringContext& context) {
  return as_stored(lowering(context), context);
}

bool has_lowering(std::string_view operation) { return find_lowering(operation) != nullptr; }

std::vector<LoweringInfo> lowerings() {
  std::vector<LoweringInfo> infos{
      {"external", "own"}, {"variable", "own"}, {"update", "own"}};  // by import_graph
  for (const auto& [operation, row] : lowering_index()) {
    infos.push_back({operation, is_alias(*row) ? "alias" : "own"});
  }
  return infos;
}

}  // namespace nnef_tvm
