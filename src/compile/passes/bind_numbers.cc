#include "compile/passes/bind_numbers.h"

#include <algorithm>

#include "tvm/ir_module.h"
#include "tvm/transform.h"

namespace nnef_tvm {

Model bind_numbers(const IRModule& module, const std::string& entry,
                   const std::vector<ffi::Tensor>& params) {
  const auto vars = field<Array<Var>>(find_function(module, entry), "params");
  Model model;
  Map<Var, ffi::Tensor> bound;
  const size_t inputs = vars.size() - std::min(vars.size(), params.size());
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].numel() == 1) {
      bound.Set(vars[static_cast<int64_t>(inputs + i)], params[i]);
    } else {
      model.params.push_back(params[i]);
    }
  }
  model.module = bound.empty() ? module : run_pass(relax_pass::bind_params(entry, bound), module);
  return model;
}

}  // namespace nnef_tvm
