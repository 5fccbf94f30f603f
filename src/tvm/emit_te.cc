#include "tvm/emit_te.h"

#include "tvm/indices.h"

namespace nnef_tvm {
namespace {

std::vector<int64_t> known_extents(const te::Shape& shape) {
  std::vector<int64_t> extents;
  for (const PrimExpr& extent : shape) extents.push_back(known_int(extent).value());
  return extents;
}

}  // namespace

Expr emit_te(BlockBuilder& builder, const std::string& name, const std::vector<Expr>& args,
             const TeKernel& kernel) {
  Array<Expr> bound;
  Array<ObjectRef> parameters;
  std::vector<te::Tensor> tensors;
  for (const Expr& arg : args) {
    bound.push_back(builder.emit(arg));
    const std::string parameter = "p" + std::to_string(tensors.size());
    tensors.push_back(
        te::placeholder(te_shape(shape_of(bound.back())), dtype_of(bound.back()), parameter));
    parameters.push_back(tensors.back().handle());
  }
  const te::Tensor result = kernel(tensors);
  parameters.push_back(result.handle());
  const Array<Type> types{tensor_type(known_extents(result.shape()), result.dtype())};
  return builder.emit(
      te::call_kernel(builder.handle(), te::prim_func(parameters), name, bound, types));
}

}  // namespace nnef_tvm
