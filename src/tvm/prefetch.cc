#include "tvm/prefetch.h"

#include <optional>

#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/te.h"
#include "tvm/visit.h"

namespace nnef_tvm {
namespace {

std::optional<int64_t> annotation(const ObjectRef& loop, const char* key) {
  const auto annotations = field<Map<String, Any>>(loop, "annotations");
  const auto found = annotations.find(key);
  if (found == annotations.end()) return std::nullopt;
  // TVM unpacks constants, or does not.
  const Any value = (*found).second;
  if (const auto number = value.as<int64_t>()) return *number;
  return known_int(value.cast<PrimExpr>());
}

int64_t item_bits(const Var& buffer) {
  const auto type = field<ObjectRef>(field<ObjectRef>(buffer, "ty"), "dtype");
  return field<DLDataType>(type, "dtype").bits;
}

/// The first vector that a loop reads at a place which moves with it, and where it begins.
struct Vector {
  Var buffer;
  PrimExpr begin;
};

std::optional<Vector> moving_vector(const ObjectRef& body, const Var& loop_var) {
  std::optional<Vector> first;
  for_each(body, "ir.TensorLoad", [&](const ObjectRef& load) {
    const auto indices = field<Array<PrimExpr>>(load, "indices");
    if (first || indices.size() != 1 || type_key(indices[0]) != "prim.Ramp") return;
    const auto begin = field<PrimExpr>(indices[0], "base");
    if (uses(begin, loop_var)) first = Vector{field<Var>(load, "source"), begin};
  });
  return first;
}

/// The vector with which the first loop inside of a statement that reads any begins.
std::optional<Vector> first_vector(const ObjectRef& body) {
  std::optional<Vector> first;
  for_each(body, "tirx.For", [&](const ObjectRef& loop) {
    if (!first) first = moving_vector(field<ObjectRef>(loop, "body"), field<Var>(loop, "loop_var"));
  });
  if (!first) return first;
  for_each(body, "tirx.For", [&](const ObjectRef& loop) {
    const auto loop_var = field<Var>(loop, "loop_var");
    first->begin = as<PrimExpr>(
        replace_objects(first->begin, "ir.Var", [&](const ObjectRef& var) -> ObjectRef {
          return var.same_as(loop_var) ? ObjectRef(int_imm(0, item_type(loop_var))) : var;
        }));
  });
  return first;
}

/// Fetches the cache line with an item into the second cache.
ObjectRef fetch(const Var& buffer, const PrimExpr& place) {
  constexpr DLDataType kNothing{kDLOpaqueHandle, 0, 0};
  constexpr int kRead = 0;
  constexpr int kSecondCache = 2;
  constexpr int kData = 1;
  const auto load = call<PrimExpr>("tirx.BufferLoad", buffer, Array<PrimExpr>{place}, nullptr);
  const auto pointer = call<Type>("ir.PointerType", type_of(as<Expr>(load)), "global");
  const auto address =
      call<PrimExpr>("ir.Call", pointer, call<ObjectRef>("ir.GetOp", "tirx.address_of"),
                     Array<PrimExpr>{load}, nullptr, Array<Type>{}, nullptr);
  const auto prefetch =
      call<PrimExpr>("ir.Call", prim_type(kNothing), call<ObjectRef>("ir.GetOp", "tirx.prefetch"),
                     Array<PrimExpr>{address, int_imm(kRead, int32), int_imm(kSecondCache, int32),
                                     int_imm(kData, int32)},
                     nullptr, Array<Type>{}, nullptr);
  return call<ObjectRef>("tirx.Evaluate", prefetch, nullptr);
}

ObjectRef serial_loop(const ObjectRef& loop_var, const Any& min, const Any& extent,
                      const ObjectRef& body) {
  constexpr int kSerial = 0;
  return call<ObjectRef>("tirx.For", loop_var, min, extent, kSerial, body, nullptr,
                         Map<String, Any>(), nullptr, nullptr);
}

ObjectRef with_prefetch(const ObjectRef& loop, const PrimExpr& steps) {
  const auto items = annotation(loop, kPrefetchItems);
  const auto ahead = annotation(loop, kPrefetchAhead);
  if (!items || !ahead) return loop;
  const auto body = field<ObjectRef>(loop, "body");
  const auto vector = first_vector(body);
  if (!vector) return loop;
  constexpr int64_t kLineBytes = 64;
  const int64_t line = kLineBytes * 8 / item_bits(vector->buffer);
  const DLDataType type = item_type(vector->begin);
  const Var index = var("line", prim_type(type));
  const PrimExpr place =
      vector->begin + cast(steps, type) + (int_imm(*ahead, type) + index * int_imm(line, type));
  const ObjectRef fetches = serial_loop(index, int_imm(0, type), int_imm(*items / line, type),
                                        fetch(vector->buffer, place));
  const auto both = call<ObjectRef>("tirx.SeqStmt", Array<ObjectRef>{fetches, body}, nullptr);
  return serial_loop(field<Var>(loop, "loop_var"), field(loop, "min"), field(loop, "extent"), both);
}

Expr with_prefetches(const Expr& function) {
  PrimExpr steps = int_imm(0, int32);
  bool any = false;
  for_each(field<ObjectRef>(function, "body"), "tirx.For", [&](const ObjectRef& loop) {
    any = any || annotation(loop, kPrefetchAhead);
    if (const auto step = annotation(loop, kPrefetchStep)) {
      steps = steps + cast(field<Var>(loop, "loop_var"), int32) * int_imm(*step, int32);
    }
  });
  if (!any) return function;
  return replace_objects(function, "tirx.For",
                         [&](const ObjectRef& loop) { return with_prefetch(loop, steps); });
}

}  // namespace

IRModule insert_prefetches(const IRModule& module) {
  std::vector<NamedFunction> functions = functions_of(module);
  for (NamedFunction& item : functions) {
    if (is_prim_func(item.function)) item.function = with_prefetches(item.function);
  }
  return make_module(functions);
}

}  // namespace nnef_tvm
