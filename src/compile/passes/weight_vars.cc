#include "compile/passes/weight_vars.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tvm/bindings.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

/// Expressions that are weights by themselves, or no tensors at all.
constexpr std::array<std::string_view, 8> kFixed = {
    "ir.GenericConst",      "relax.expr.Constant", "ir.GlobalVar", "relax.expr.ShapeExpr",
    "relax.expr.PrimValue", "ir.IntImm",           "ir.FloatImm",  "relax.expr.DataTypeImm"};

}  // namespace

WeightVars::WeightVars(const Expr& function) {
  const auto count = function_attr(function, "num_input");
  const size_t inputs = count ? static_cast<size_t>(count->cast<int64_t>()) : SIZE_MAX;
  const auto params = field<Array<Var>>(function, "params");
  for (size_t i = inputs; i < params.size(); ++i) vars_.insert(params[i].get());
  for (const Binding& binding : bindings_of(function)) {
    if (is_weight(binding.value)) vars_.insert(binding.var.get());
  }
}

bool WeightVars::is_weight(const ObjectRef& expr) const {
  if (vars_.count(expr.get()) > 0) return true;
  const std::string key = type_key(expr);
  if (key == "ir.Tuple" || key == "relax.expr.Tuple") return all_weights(expr, "fields");
  if (key == "ir.Call") return all_weights(expr, "args");
  if (key == "ir.TupleGetItem") return is_weight(field<ObjectRef>(expr, "tuple_value"));
  return std::find(kFixed.begin(), kFixed.end(), key) != kFixed.end();
}

bool WeightVars::all_weights(const ObjectRef& expr, const char* list) const {
  const auto items = field<Array<ObjectRef>>(expr, list);
  return std::all_of(items.begin(), items.end(),
                     [&](const ObjectRef& item) { return is_weight(item); });
}

}  // namespace nnef_tvm
