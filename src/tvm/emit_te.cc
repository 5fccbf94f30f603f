#include "tvm/emit_te.h"

namespace nnef_tvm {

Expr emit_te(BlockBuilder& builder, const std::string& name, const std::vector<Expr>& args,
             const TeKernel& kernel, const Extents& numbers) {
  Array<Expr> bound;
  Array<ObjectRef> parameters;
  std::vector<te::Tensor> tensors;
  for (const Expr& arg : args) {
    bound.push_back(builder.emit(arg));
    const std::string parameter = "p" + std::to_string(tensors.size());
    tensors.push_back(te::placeholder(extents_of(bound.back()), dtype_of(bound.back()), parameter));
    parameters.push_back(tensors.back().handle());
  }
  const te::Tensor result = kernel(tensors);
  for (const ObjectRef& variable : te::unbound_variables(tensors, {result}, numbers)) {
    parameters.push_back(variable);
    bound.push_back(as<Expr>(variable));
  }
  parameters.push_back(result.handle());
  const Array<Type> types{tensor_type(result.shape(), result.dtype())};
  return builder.emit(
      te::call_kernel(builder.handle(), te::prim_func(parameters), name, bound, types));
}

}  // namespace nnef_tvm
