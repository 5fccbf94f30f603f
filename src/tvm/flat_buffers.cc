#include "tvm/flat_buffers.h"

#include <string>
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

bool is_index(const ObjectRef& var) {
  return type_key(field<ObjectRef>(var, "ty")) == "ir.PrimType";
}

/// Variables of which TVM knows nothing, in place of those in quotients and remainders of sums with
/// a constant.
class HiddenVariables {
 public:
  Expr hide(const Expr& function) {
    Expr result = function;
    for (const char* key : {"prim.FloorDiv", "prim.FloorMod"})
      result = replace_objects(result, key, [&](const ObjectRef& ratio) { return hidden(ratio); });
    return result;
  }

  Expr restore(const Expr& function) const {
    return replace_objects(function, "ir.Var", [&](const ObjectRef& other) -> ObjectRef {
      for (const Pair& pair : pairs_) {
        if (other.same_as(pair.hidden)) return pair.variable;
      }
      return other;
    });
  }

 private:
  struct Pair {
    ObjectRef variable;
    Var hidden;
  };

  ObjectRef hidden(const ObjectRef& ratio) {
    if (!has_offset(field<PrimExpr>(ratio, "a"))) return ratio;
    return replace_objects(as<Expr>(ratio), "ir.Var", [&](const ObjectRef& other) -> ObjectRef {
      return is_index(other) ? hidden_for(other) : other;
    });
  }

  ObjectRef hidden_for(const ObjectRef& variable) {
    for (const Pair& pair : pairs_) {
      if (variable.same_as(pair.variable) || variable.same_as(pair.hidden)) return pair.hidden;
    }
    pairs_.push_back({variable, var("hidden", field<Type>(variable, "ty"))});
    return pairs_.back().hidden;
  }

  std::vector<Pair> pairs_;
};

IRModule flatten(const IRModule& module) {
  std::vector<NamedFunction> functions = functions_of(module);
  std::vector<HiddenVariables> hidden(functions.size());
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

Pass flat_buffers() { return make_pass("nnef_tvm.FlatBuffers", flatten); }

}  // namespace nnef_tvm
