#include "compile/kernels/linear.h"

#include "compile/kernels/reduce.h"
#include "tvm/topi.h"

namespace nnef_tvm {
namespace {

Expr einsum(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  std::vector<te::Tensor> tensors;
  for (const Expr& item : kernel.items(0)) tensors.push_back(kernel.input(item));
  return kernel.finish(topi::einsum(kernel.text("subscripts"), tensors));
}

Expr outer(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor a = kernel.input(0);
  const te::Tensor b = kernel.input(1);
  return kernel.finish(te::compute(kernel.shape(), "outer",
                                   [&](const te::Indices& i) { return a({i[0]}) * b({i[1]}); }));
}

/// The indices of the axes before the last two (vectors have none), broadcast.
te::Indices batch_indices(const te::Tensor& tensor, const te::Indices& batch) {
  te::Indices own;
  const size_t count = tensor.rank() > 2 ? tensor.rank() - 2 : 0;
  for (size_t axis = 0; axis < count; ++axis) {
    own.push_back(is_known(tensor.extent(axis), 1) ? int_imm(0)
                                                   : batch[batch.size() - count + axis]);
  }
  return own;
}

constexpr LegalisationRow kRows[] = {
    {"relax.einsum", einsum},
    {"relax.matmul", matmul},
    {"relax.outer", outer},

    {"relax.nn.batch_norm", batch_norm},
    {"relax.nn.group_norm", group_norm},
    {"relax.nn.instance_norm", instance_norm},
    {"relax.nn.layer_norm", layer_norm},
    {"relax.nn.rms_norm", rms_norm},
};

}  // namespace

Expr matmul(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor a = kernel.input(0);
  const te::Tensor b = kernel.input(1);
  const bool a_is_vector = a.rank() == 1;
  const bool b_is_vector = b.rank() == 1;
  const PrimExpr inner = a.extent(a.rank() - 1);
  const DLDataType type = wrapping_type(accumulator_type(kernel.dtype()));
  const te::ReduceAxis k = te::reduce_axis(inner, "k");
  const te::Tensor product = te::compute(kernel.shape(), "matmul", [&](const te::Indices& i) {
    if (is_known(inner, 0)) return number(0, type);
    // The result is [batch..., row of a, column of b]; vectors have no axis there.
    te::Indices batch(i.begin(), i.end() - (a_is_vector ? 0 : 1) - (b_is_vector ? 0 : 1));
    te::Indices a_indices = batch_indices(a, batch);
    te::Indices b_indices = batch_indices(b, batch);
    if (!a_is_vector) a_indices.push_back(i[batch.size()]);
    a_indices.push_back(k.index);
    b_indices.push_back(k.index);
    if (!b_is_vector) b_indices.push_back(i.back());
    return te::sum(cast(a(a_indices), type) * cast(b(b_indices), type), {&k, 1});
  });
  return kernel.finish(cast_stage(product, kernel.dtype()));
}

std::span<const LegalisationRow> linear_kernels() { return kRows; }

}  // namespace nnef_tvm
