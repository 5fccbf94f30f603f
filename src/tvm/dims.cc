#include "tvm/dims.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tvm/te.h"

namespace nnef_tvm {

using nnef::Dim;
using nnef::DimAtom;

PrimExpr SymbolTable::variable(const std::string& name) {
  const auto found = variables_.find(name);
  if (found != variables_.end()) return found->second;
  return variables_.emplace(name, var(name, prim_type(int64))).first->second;
}

PrimExpr SymbolTable::expr(const DimAtom& atom) {
  if (atom.kind == DimAtom::Kind::symbol) return variable(atom.text);
  const PrimExpr a = expr(atom.operands[0]);
  const PrimExpr b = expr(atom.operands[1]);
  if (atom.kind == DimAtom::Kind::max) return max(a, b);
  return atom.kind == DimAtom::Kind::min ? min(a, b) : floordiv(a, b);
}

PrimExpr SymbolTable::expr(const Dim& dim) {
  if (dim.known()) return int_imm(dim.value());
  PrimExpr sum;
  for (const nnef::DimTerm& term : dim.expression()->terms) {
    PrimExpr product;
    for (const auto& atom : term.atoms)
      product = product.defined() ? product * expr(*atom) : expr(*atom);
    if (term.factor != 1) product = product * term.factor;
    sum = sum.defined() ? sum + product : product;
  }
  const int64_t constant = dim.expression()->constant;
  return constant == 0 ? sum : sum + constant;
}

Extents SymbolTable::exprs(const nnef::Shape& shape) {
  Extents extents;
  for (const Dim& extent : shape) extents.push_back(expr(extent));
  return extents;
}

namespace {

struct OperationRow {
  std::string_view key;
  Dim (*apply)(const Dim& a, const Dim& b);
};
constexpr std::array kOperations{
    OperationRow{"prim.Add", [](const Dim& a, const Dim& b) { return a + b; }},
    OperationRow{"prim.Sub", [](const Dim& a, const Dim& b) { return a - b; }},
    OperationRow{"prim.Mul", [](const Dim& a, const Dim& b) { return a * b; }},
    OperationRow{"prim.FloorDiv", [](const Dim& a, const Dim& b) { return floor_div(a, b); }},
    OperationRow{"prim.FloorMod",
                 [](const Dim& a, const Dim& b) { return a - floor_div(a, b) * b; }},
    OperationRow{"prim.Max", [](const Dim& a, const Dim& b) { return nnef::max(a, b); }},
    OperationRow{"prim.Min", [](const Dim& a, const Dim& b) { return nnef::min(a, b); }},
};

}  // namespace

Dim dim_of(const PrimExpr& expr) {
  if (const auto known = known_int(expr)) return *known;
  const std::string key = type_key(expr);
  if (key == "ir.Var") return Dim::symbol(field<String>(expr, "name"));
  const auto row = std::ranges::find(kOperations, key, &OperationRow::key);
  if (row == kOperations.end()) return {};
  return row->apply(dim_of(field<PrimExpr>(expr, "a")), dim_of(field<PrimExpr>(expr, "b")));
}

nnef::Shape dims_of(const Expr& expr) {
  nnef::Shape shape;
  for (const PrimExpr& extent : extents_of(expr)) shape.push_back(dim_of(extent));
  return shape;
}

}  // namespace nnef_tvm
