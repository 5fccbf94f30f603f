#include "tvm/vector_masks.h"

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/te.h"
#include "tvm/transform.h"
#include "tvm/visit.h"

namespace nnef_tvm {
namespace {

constexpr const char* kMask = "nnef_tvm.mask";
constexpr const char* kActiveLanes = "tirx.get_active_lane_mask";

/// base + lane < limit
struct LaneCondition {
  PrimExpr base;
  PrimExpr limit;
};

void collect(const PrimExpr& expr, const char* operation, std::vector<PrimExpr>& operands) {
  if (type_key(expr) != operation) {
    operands.push_back(expr);
    return;
  }
  collect(field<PrimExpr>(expr, "a"), operation, operands);
  collect(field<PrimExpr>(expr, "b"), operation, operands);
}

/// c of `lane // c`; 1 of `lane`; nullopt of all else.
std::optional<int64_t> divisor_of_lane(const PrimExpr& term, const Var& lane) {
  if (term.same_as(lane)) return 1;
  if (type_key(term) != "prim.FloorDiv" || !field<PrimExpr>(term, "a").same_as(lane))
    return std::nullopt;
  return known_int(field<PrimExpr>(term, "b"));
}

std::optional<LaneCondition> lane_condition(const PrimExpr& condition, const Var& lane) {
  if (type_key(condition) != "prim.LT") return std::nullopt;
  const auto limit = known_int(field<PrimExpr>(condition, "b"));
  std::vector<PrimExpr> terms;
  collect(field<PrimExpr>(condition, "a"), "prim.Add", terms);
  std::optional<int64_t> divisor;
  const DLDataType type = item_type(lane);
  PrimExpr rest = int_imm(0, type);
  for (const PrimExpr& term : terms) {
    if (!uses(term, lane)) {
      rest = rest + term;
      continue;
    }
    if (divisor) return std::nullopt;
    divisor = divisor_of_lane(term, lane);
    if (!divisor) return std::nullopt;
  }
  // TVM calls LLVM's function for int32 only.
  if (!limit || !divisor || *limit > std::numeric_limits<int32_t>::max() / *divisor)
    return std::nullopt;
  return LaneCondition{cast(rest * int_imm(*divisor, type), int32),
                       int_imm(*limit * *divisor, int32)};
}

ObjectRef if_stmt(const PrimExpr& condition, const ObjectRef& body) {
  return call<ObjectRef>("tirx.IfThenElse", condition, body, nullptr, nullptr);
}

PrimExpr intrinsic(const char* op, const Type& type, const Array<ObjectRef>& args) {
  return call<PrimExpr>("ir.Call", type, call<ObjectRef>("ir.GetOp", op), args, nullptr,
                        Array<Type>{}, nullptr);
}

/// The loop without the condition on its lane, which a statement around it keeps as a mask.
ObjectRef with_mask_around(const ObjectRef& loop) {
  constexpr int kVectorized = 2;
  const auto lanes = known_int(field<PrimExpr>(loop, "extent"));
  if (field<int>(loop, "kind") != kVectorized || !lanes) return loop;
  const auto branch = field<ObjectRef>(loop, "body");
  if (type_key(branch) != "tirx.IfThenElse" || field(branch, "else_case") != nullptr) return loop;
  const auto store = field<ObjectRef>(branch, "then_case");
  if (type_key(store) != "tirx.BufferStore") return loop;
  const auto lane = field<Var>(loop, "loop_var");
  std::vector<PrimExpr> conditions;
  collect(field<PrimExpr>(branch, "condition"), "prim.And", conditions);
  std::optional<LaneCondition> masked;
  std::optional<PrimExpr> others;
  for (const PrimExpr& condition : conditions) {
    if (!uses(condition, lane)) {
      others = others ? both(*others, condition) : condition;
      continue;
    }
    if (masked) return loop;
    masked = lane_condition(condition, lane);
    if (!masked) return loop;
  }
  if (!masked) return loop;
  const auto whole =
      call<ObjectRef>("tirx.For", lane, field(loop, "min"), field(loop, "extent"), kVectorized,
                      store, nullptr, field(loop, "annotations"), nullptr, nullptr);
  const DLDataType bits{kDLUInt, 1, static_cast<uint16_t>(*lanes)};
  const PrimExpr mask = intrinsic(kActiveLanes, prim_type(bits), {masked->base, masked->limit});
  const auto marked =
      call<ObjectRef>("tirx.AttrStmt", int_imm(0, int32), kMask, mask, whole, nullptr);
  return others ? if_stmt(*others, marked) : marked;
}

/// Masks what a loop that with_mask_around() made became.
class Masking {
 public:
  explicit Masking(const PrimExpr& mask) : mask_(mask) {
    const auto args = field<Array<PrimExpr>>(mask, "args");
    base_ = args[0];
    limit_ = args[1];
    lanes_ = item_type(mask).lanes;
  }

  /// Nullopt when it is not one vector with its items side by side.
  std::optional<ObjectRef> masked(const ObjectRef& body) {
    if (type_key(body) == "tirx.For") return lane_by_lane(body);
    if (type_key(body) != "tirx.BufferStore") return std::nullopt;
    const auto indices = field<Array<PrimExpr>>(body, "indices");
    if (!is_vector(indices)) return std::nullopt;
    const PrimExpr value =
        as<PrimExpr>(replace_objects(field<PrimExpr>(body, "value"), "ir.TensorLoad",
                                     [&](const ObjectRef& load) { return masked_load(load); }));
    if (!possible_) return std::nullopt;
    const auto buffer = field<ObjectRef>(body, "buffer");
    const auto store =
        call<ObjectRef>("tirx.Evaluate",
                        intrinsic("tirx.masked_store", prim_type({kDLOpaqueHandle, 0, 0}),
                                  {buffer, value, indices[0], mask_}),
                        nullptr);
    return reads_items_ ? if_stmt(lt(base_, limit_), store) : store;
  }

 private:
  /// Where TVM could make no vectors.
  ObjectRef lane_by_lane(const ObjectRef& loop) const {
    const auto lane = field<Var>(loop, "loop_var");
    return call<ObjectRef>(
        "tirx.For", lane, field(loop, "min"), field(loop, "extent"), field(loop, "kind"),
        if_stmt(lt(base_ + cast(lane, item_type(base_)), limit_), field<ObjectRef>(loop, "body")),
        nullptr, field(loop, "annotations"), nullptr, nullptr);
  }

  bool is_vector(const Array<PrimExpr>& indices) const {
    return indices.size() == 1 && type_key(indices[0]) == "prim.Ramp" &&
           item_type(indices[0]).lanes == lanes_ &&
           known_int(field<PrimExpr>(indices[0], "stride")) == 1;
  }

  ObjectRef masked_load(const ObjectRef& load) {
    const auto indices = field<Array<PrimExpr>>(load, "indices");
    const auto buffer = field<ObjectRef>(load, "source");
    const auto type = type_of(as<Expr>(load));
    if (is_local(buffer)) return load;
    if (is_vector(indices)) return intrinsic("tirx.masked_load", type, {buffer, indices[0], mask_});
    // One item for all lanes is there if any of these is.
    reads_items_ = true;
    possible_ = possible_ && item_type(as<PrimExpr>(load)).lanes == 1;
    return load;
  }

  static bool is_local(const ObjectRef& buffer) {
    return field<String>(field<ObjectRef>(buffer, "ty"), "storage_scope") == "local";
  }

  PrimExpr mask_, base_, limit_;
  int lanes_ = 0;
  bool possible_ = true;
  bool reads_items_ = false;
};

Expr vectorized(const NamedFunction& item) {
  const Pass pass = call<Pass>("tirx.transform.VectorizeLoop", /*enable_vectorize=*/true);
  const auto run = [&](const Expr& function) {
    return functions_of(run_pass(pass, make_module({{item.var, item.name, function}})))
        .front()
        .function;
  };
  bool possible = true;
  const Expr marked = replace_objects(item.function, "tirx.For", with_mask_around);
  const Expr result =
      replace_objects(run(marked), "tirx.AttrStmt", [&](const ObjectRef& attribute) -> ObjectRef {
        if (field<String>(attribute, "attr_key") != kMask) return attribute;
        const auto masked = Masking(field<PrimExpr>(attribute, "value"))
                                .masked(field<ObjectRef>(attribute, "body"));
        possible = possible && masked;
        return masked.value_or(attribute);
      });
  return possible ? result : run(item.function);
}

IRModule vectorize(const IRModule& module) {
  std::vector<NamedFunction> functions = functions_of(module);
  for (NamedFunction& item : functions) {
    if (is_prim_func(item.function)) item.function = vectorized(item);
  }
  return make_module(functions);
}

}  // namespace

Pass vectorize_loops() { return make_pass("nnef_tvm.VectorizeLoops", vectorize); }

}  // namespace nnef_tvm
