#include "tvm/topi.h"

namespace nnef_tvm::topi {

te::Tensor einsum(const std::string& subscripts, const std::vector<te::Tensor>& tensors) {
  Array<TETensor> handles;
  for (const te::Tensor& tensor : tensors) handles.push_back(tensor.handle());
  return te::Tensor(call<TETensor>("topi.einsum", subscripts, handles));
}

}  // namespace nnef_tvm::topi
