#include "compile/schedule/cpu/weights.h"

#include "compile/passes/weight_vars.h"
#include "tvm/bindings.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

using ArgumentMap = std::map<std::string, std::vector<bool>>;

/// `weights` of the function; null where it has none.
void note_kernel(const Expr& value, const WeightVars* weights, ArgumentMap& arguments) {
  if (operator_name(value) != "relax.call_tir") return;
  const Array<Expr> args = args_of(value);
  const auto tensors = field<Array<ObjectRef>>(args[1], "fields");
  const std::string name = field<String>(args[0], "name_hint");
  const auto [found, is_new] = arguments.try_emplace(name, tensors.size(), true);
  for (size_t i = 0; i < tensors.size() && i < found->second.size(); ++i) {
    found->second[i] = found->second[i] && weights != nullptr && weights->is_weight(tensors[i]);
  }
}

}  // namespace

std::map<std::string, std::vector<bool>> weight_arguments(const IRModule& module) {
  const Expr main = find_function(module, "main");
  if (!main.defined() || !is_relax_function(main)) return {};
  const WeightVars weights(main);
  ArgumentMap arguments;
  for (const Binding& binding : bindings_of(main)) note_kernel(binding.value, &weights, arguments);
  // What main calls loops have none.
  for (const NamedFunction& item : functions_of(module)) {
    if (!is_relax_function(item.function) || item.name == "main") continue;
    for (const Binding& binding : bindings_of(item.function))
      note_kernel(binding.value, nullptr, arguments);
  }
  return arguments;
}

}  // namespace nnef_tvm
