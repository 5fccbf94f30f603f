// Extents with symbols as TVM's expressions, and back.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nnef/shape.h"
#include "tvm/ir.h"

namespace nnef_tvm {

/// The variables that the symbols of one function are.
class SymbolTable {
 public:
  PrimExpr expr(const nnef::Dim& dim);
  Extents exprs(const nnef::Shape& shape);

 private:
  PrimExpr variable(const std::string& name);
  PrimExpr expr(const nnef::DimAtom& atom);

  std::map<std::string, Var> variables_;
};

/// The extent that an expression is, with its variables as symbols; invalid for what no extent is.
nnef::Dim dim_of(const PrimExpr& expr);
/// Of a tensor expression that a BlockBuilder normalised.
nnef::Shape dims_of(const Expr& expr);

}  // namespace nnef_tvm
