// Kernels of their own in a Relax function, for what no Relax operator says.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tvm/relax.h"
#include "tvm/te.h"

namespace nnef_tvm {

/// A tensor as an expression of the arguments, which it sees as placeholders "p0", "p1", ...
using TeKernel = std::function<te::Tensor(const std::vector<te::Tensor>& args)>;

/// A call of the kernel, which is added to the module under `name` (or one like it). `numbers` are
/// what it uses of symbols besides extents of tensors.
Expr emit_te(BlockBuilder& builder, const std::string& name, const std::vector<Expr>& args,
             const TeKernel& kernel, const Extents& numbers = {});

}  // namespace nnef_tvm
