#include "tvm/visit.h"

#include "tvm/ir_module.h"

namespace nnef_tvm {

void for_each(const ObjectRef& root, const char* key,
              const std::function<void(const ObjectRef&)>& visit) {
  replace_objects(as<Expr>(root), key, [&](const ObjectRef& object) {
    visit(object);
    return object;
  });
}

bool uses(const ObjectRef& root, const Var& var) {
  bool found = false;
  for_each(root, "ir.Var", [&](const ObjectRef& other) { found = found || other.same_as(var); });
  return found;
}

}  // namespace nnef_tvm
