// TVM's library of tensor expressions, where it has what would be long to write here.
#pragma once

#include <string>
#include <vector>

#include "tvm/te.h"

namespace nnef_tvm::topi {

/// Sums of products by Einstein's notation: "ij,jk->ik".
te::Tensor einsum(const std::string& subscripts, const std::vector<te::Tensor>& tensors);

}  // namespace nnef_tvm::topi
