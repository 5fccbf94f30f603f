#include "compile/passes/raise_extremes.h"

#include <optional>

#include "compile/passes/rewrite.h"
#include "tvm/bindings.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/relax.h"
#include "tvm/schedule.h"

namespace nnef_tvm {
namespace {

/// One store of a kernel, and the kernel's parameters.
struct Store {
  ObjectRef node;
  Array<Var> params;
};

/// The store of a kernel that is a single block of one; nullopt for any other.
std::optional<Store> only_store(const Expr& function) {
  if (!function.defined() || !is_prim_func(function)) return std::nullopt;
  const TirSchedule schedule(as<PrimFunc>(function));
  const auto blocks = schedule.blocks();
  if (blocks.size() != 1 || !schedule.has_trivial_binding(blocks[0])) return std::nullopt;
  const auto body = field<ObjectRef>(schedule.node(blocks[0]), "body");
  if (type_key(body) != "tirx.BufferStore") return std::nullopt;
  return Store{body, field<Array<Var>>(function, "params")};
}

bool same_indices(const Array<ObjectRef>& a, const Array<ObjectRef>& b) {
  if (a.size() != b.size()) return false;
  for (int64_t i = 0; i < static_cast<int64_t>(a.size()); ++i) {
    if (!a[i].same_as(b[i])) return false;
  }
  return true;
}

/// What an operand of the stored value is in the call: the argument that is read at the place of
/// the result or that has one item, or a number. Undefined for anything else.
Expr operand(const Store& store, const ObjectRef& value, const Array<Expr>& args,
             DLDataType dtype) {
  const std::string key = type_key(value);
  if (key == "ir.FloatImm") return constant(field<double>(value, "value"), dtype);
  if (key == "ir.IntImm") {
    return constant(static_cast<double>(field<int64_t>(value, "value")), dtype);
  }
  if (key != "ir.TensorLoad") return Expr();
  const auto indices = field<Array<ObjectRef>>(value, "indices");
  if (!indices.empty() && !same_indices(indices, field<Array<ObjectRef>>(store.node, "indices"))) {
    return Expr();
  }
  for (int64_t i = 0; i < static_cast<int64_t>(args.size()); ++i) {
    if (store.params[i].same_as(field<ObjectRef>(value, "source"))) return args[i];
  }
  return Expr();
}

bool like_result(const Expr& operand, const Expr& call) {
  return known_shape(operand) == known_shape(call) && dtype_of(operand) == dtype_of(call);
}

Expr raised(const IRModule& module, const Expr& call) {
  const Array<Expr> args = args_of(call);
  if (args.size() != 2 || type_key(args[1]) != "ir.Tuple" || !known_shape(call)) return Expr();
  const auto name = field<String>(args[0], "name_hint");
  const auto store = only_store(find_function(module, name));
  if (!store) return Expr();
  const auto value = field<ObjectRef>(store->node, "value");
  const std::string key = type_key(value);
  if (key != "prim.Max" && key != "prim.Min") return Expr();
  const auto inputs = field<Array<Expr>>(args[1], "fields");
  if (store->params.size() != inputs.size() + 1) return Expr();
  const Expr a = operand(*store, field<ObjectRef>(value, "a"), inputs, dtype_of(call));
  const Expr b = operand(*store, field<ObjectRef>(value, "b"), inputs, dtype_of(call));
  if (!a.defined() || !b.defined() || !(like_result(a, call) || like_result(b, call))) {
    return Expr();
  }
  return key == "prim.Max" ? relax::maximum(a, b) : relax::minimum(a, b);
}

}  // namespace

IRModule raise_extremes(const IRModule& module) {
  const Expr main = find_function(module, "main");
  std::vector<Expr> values;
  bool changed = false;
  for (const Binding& binding : bindings_of(main)) {
    Expr value = binding.value;
    if (operator_name(value) == "relax.call_tir") {
      if (const Expr result = raised(module, value); result.defined()) value = result;
    }
    changed = changed || !value.same_as(binding.value);
    values.push_back(value);
  }
  if (!changed) return module;
  return renormalised(
      with_function(module, find_global_var(module, "main"), with_values(main, values)), "main");
}

}  // namespace nnef_tvm
