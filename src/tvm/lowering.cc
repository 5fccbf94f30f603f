#include "tvm/lowering.h"

#include <string>
#include <utility>

namespace nnef_tvm {

namespace {
constexpr int kAboveOthers = 99;  // priority; TVM's own rules have 10

/// Nothing, too, where TVM has no rules for the kind of target at all.
std::optional<ffi::Function> rule_before(const ObjectRef& op, const std::string& attribute) {
  try {
    return call("ir.OpGetAttr", op, attribute).as<ffi::Function>();
  } catch (const ffi::Error&) {
    return std::nullopt;
  }
}
}  // namespace

bool first_in_process(const char* what) {
  const std::string name = std::string("nnef_tvm.registered.") + what;
  if (ffi::Function::GetGlobal(name).has_value()) return false;
  ffi::Function::SetGlobal(name, ffi::Function::FromTyped([] {}));
  return true;
}

void set_call_lowering(const char* target_kind, const char* op, CallLowering lowering) {
  const auto attribute = std::string(target_kind) + ".FLowerIntrinsic";
  const auto before = rule_before(call<ObjectRef>("ir.GetOp", op), attribute);
  const auto rule = [before, lowering = std::move(lowering)](const PrimExpr& expr) -> PrimExpr {
    if (auto lowered = lowering(expr)) return *lowered;
    // A call that comes back unchanged goes on to TVM's rules for all targets.
    return before ? (*before)(expr).cast<PrimExpr>() : expr;
  };
  call<void>("tirx.RegisterOpLowerIntrinsic", op, ffi::Function::FromTyped(rule), target_kind,
             kAboveOthers);
}

void set_lowering(const char* target_kind, const char* op, Lowering lowering) {
  set_call_lowering(target_kind, op, [lowering = std::move(lowering)](const PrimExpr& call) {
    return lowering(field<Array<PrimExpr>>(call, "args"));
  });
}

void mark_vectorizable(const char* op) {
  call<void>("ir.OpSetAttr", call<ObjectRef>("ir.GetOp", op), "TVectorizable", true, kAboveOthers);
}

}  // namespace nnef_tvm
