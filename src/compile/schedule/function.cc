#include "compile/schedule/function.h"

#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {
constexpr const char* kScheduled = "tirx.is_scheduled";
}  // namespace

bool is_scheduled(const Expr& function) {
  const auto attribute = function_attr(function, kScheduled);
  return attribute && attribute->cast<int64_t>() == 1;
}

Expr marked_scheduled(const PrimFunc& function) {
  return with_function_attr(function, kScheduled, int64_t{1});
}

std::vector<Var> parameters(const PrimFunc& function, const std::vector<bool>& chosen) {
  std::vector<Var> found;
  const auto params = field<Array<Var>>(function, "params");
  for (size_t i = 0; i < params.size() && i < chosen.size(); ++i) {
    if (chosen[i]) found.push_back(params[i]);
  }
  return found;
}

}  // namespace nnef_tvm
