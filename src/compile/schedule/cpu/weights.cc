#include "compile/schedule/cpu/weights.h"

#include <algorithm>
#include <unordered_set>

#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

class WeightFinder {
 public:
  explicit WeightFinder(const Expr& main) {
    const auto count = function_attr(main, "num_input");
    const size_t inputs = count ? static_cast<size_t>(count->cast<int64_t>()) : SIZE_MAX;
    const auto params = field<Array<ObjectRef>>(main, "params");
    for (size_t i = inputs; i < params.size(); ++i) add(params[i]);
    visit(field<ObjectRef>(main, "body"));
  }

  std::map<std::string, std::vector<bool>> arguments() && { return std::move(arguments_); }

 private:
  void add(const ObjectRef& var) { weights_.insert(var.get()); }

  void visit(const ObjectRef& body) {
    if (type_key(body) != "relax.expr.SeqExpr") return;
    for (const ObjectRef& block : field<Array<ObjectRef>>(body, "blocks")) {
      for (const ObjectRef& binding : field<Array<ObjectRef>>(block, "bindings")) {
        auto value = field<ObjectRef>(binding, "value");
        note_kernel(value);
        if (is_weight(value)) add(field<ObjectRef>(binding, "var"));
      }
    }
  }

  bool is_weight(const ObjectRef& expr) const {
    const std::string key = type_key(expr);
    if (key == "ir.GenericConst" || key == "relax.expr.Constant") return true;
    if (key == "ir.Tuple" || key == "relax.expr.Tuple") return all(expr, "fields");
    if (key == "ir.Call") return all(expr, "args");
    if (key == "ir.GlobalVar" || key == "relax.expr.ShapeExpr") return true;
    return weights_.count(expr.get()) > 0;
  }

  bool all(const ObjectRef& expr, const char* list) const {
    const auto items = field<Array<ObjectRef>>(expr, list);
    return std::all_of(items.begin(), items.end(),
                       [&](const ObjectRef& item) { return is_weight(item); });
  }

  void note_kernel(const ObjectRef& value) {
    if (type_key(value) != "ir.Call") return;
    auto callee = field<ObjectRef>(value, "op");
    if (type_key(callee) != "ir.Op") return;
    if (std::string(field<String>(callee, "name")) != "relax.call_tir") return;
    const auto args = field<Array<ObjectRef>>(value, "args");
    const auto tensors = field<Array<ObjectRef>>(args[1], "fields");
    const std::string name = field<String>(args[0], "name_hint");
    const auto [found, is_new] = arguments_.try_emplace(name, tensors.size(), true);
    for (size_t i = 0; i < tensors.size() && i < found->second.size(); ++i) {
      found->second[i] = found->second[i] && is_weight(tensors[i]);
    }
  }

  std::unordered_set<const void*> weights_;
  std::map<std::string, std::vector<bool>> arguments_;
};

}  // namespace

std::map<std::string, std::vector<bool>> weight_arguments(const IRModule& module) {
  const Expr main = find_function(module, "main");
  if (!main.defined() || !is_relax_function(main)) return {};
  return WeightFinder(main).arguments();
}

}  // namespace nnef_tvm
