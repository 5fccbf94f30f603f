#include "tvm/flat_buffers.h"

#include <tvm/ffi/rvalue_ref.h>

#include <string>
#include <utility>
#include <vector>

#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/te.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

bool has_offset(const PrimExpr& sum) {
  const std::string key = type_key(sum);
  if (key == "ir.IntImm") return known_int(sum) != 0;
  if (key != "prim.Add" && key != "prim.Sub") return false;
  return has_offset(field<PrimExpr>(sum, "a")) || has_offset(field<PrimExpr>(sum, "b"));
}

/// Sums that variables stand for; later ones may hold variables of earlier ones.
class HiddenSums {
 public:
  Expr hide(const Expr& function) {
    Expr result = function;
    for (const char* key : {"prim.FloorDiv", "prim.FloorMod"})
      result = replace_objects(result, key, [&](const ObjectRef& ratio) { return hidden(ratio); });
    return result;
  }

  Expr restore(const Expr& function) const {
    Expr result = function;
    for (auto sum = sums_.rbegin(); sum != sums_.rend(); ++sum) {
      result = replace_objects(result, "ir.Var", [&](const ObjectRef& var) -> ObjectRef {
        return var.same_as(sum->var) ? ObjectRef(sum->value) : var;
      });
    }
    return result;
  }

 private:
  struct Sum {
    Var var;
    PrimExpr value;
  };

  ObjectRef hidden(const ObjectRef& ratio) {
    const auto sum = field<PrimExpr>(ratio, "a");
    const auto divisor = field<PrimExpr>(ratio, "b");
    if (type_key(sum) == "ir.IntImm" || !has_offset(sum)) return ratio;
    const PrimExpr var = variable_for(sum);
    return type_key(ratio) == "prim.FloorDiv" ? floordiv(var, divisor) : floormod(var, divisor);
  }

  PrimExpr variable_for(const PrimExpr& value) {
    for (const Sum& sum : sums_) {
      if (call<bool>("ffi.StructuralEqual", sum.value, value, /*map_free_vars=*/false,
                     /*skip_tensor_content=*/false))
        return sum.var;
    }
    sums_.push_back({var("sum", prim_type(item_type(value))), value});
    return sums_.back().var;
  }

  std::vector<Sum> sums_;
};

IRModule flatten(ffi::RValueRef<ObjectRef> moved, const ObjectRef&) {
  const auto module = as<IRModule>(*std::move(moved));
  std::vector<NamedFunction> functions = functions_of(module);
  std::vector<HiddenSums> hidden(functions.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    if (is_prim_func(functions[i].function))
      functions[i].function = hidden[i].hide(functions[i].function);
  }
  const IRModule flat =
      run_pass(call<Pass>("tirx.transform.FlattenBuffer"), make_module(functions));
  std::vector<NamedFunction> results = functions_of(flat);
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_prim_func(results[i].function))
      results[i].function = hidden[i].restore(results[i].function);
  }
  return make_module(results);
}

}  // namespace

Pass flat_buffers() {
  constexpr int kOptimizeLevel = 0;
  const auto info = call<ObjectRef>("transform.PassInfo", kOptimizeLevel, "nnef_tvm.FlatBuffers",
                                    Array<String>(), /*traceable=*/false);
  return call<Pass>("transform.MakeModulePass", ffi::Function::FromTyped(flatten), info);
}

}  // namespace nnef_tvm
