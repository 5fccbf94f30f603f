#include "compile/kernels/reduce.h"

namespace nnef_tvm {
namespace {

/// The greatest item along the axis, and the sum of the exponentials of the distances from it.
struct Normaliser {
  te::Tensor greatest;
  te::Tensor exponentials;
  te::Tensor sum;
};

Normaliser normaliser(const te::Tensor& x, size_t axis) {
  const DLDataType type = accumulator_type(x.dtype());
  const std::vector<size_t> axes{axis};
  const te::Tensor greatest =
      reduction_stage(x.shape(), axes, true, "softmax_max",
                      [&](const te::Indices& i) { return cast(x(i), type); }, {te::maximum, max});
  const te::Tensor exponentials = te::compute(x.shape(), "softmax_exp", [&](const te::Indices& i) {
    return exp(cast(x(i), type) - greatest(at_kept(i, axes)));
  });
  const te::Tensor sum = sum_stage(x, axes, true, "softmax_sum", exponentials);
  return {greatest, exponentials, sum};
}

}  // namespace

Expr softmax(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const size_t axis = kernel.axis("axis", x.rank());
  const Normaliser parts = normaliser(x, axis);
  return kernel.finish(te::compute(x.shape(), "softmax", [&](const te::Indices& i) {
    return cast(parts.exponentials(i) / parts.sum(at_kept(i, {axis})), kernel.dtype());
  }));
}

Expr log_softmax(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const size_t axis = kernel.axis("axis", x.rank());
  const Normaliser parts = normaliser(x, axis);
  const DLDataType type = parts.sum.dtype();
  return kernel.finish(te::compute(x.shape(), "log_softmax", [&](const te::Indices& i) {
    const te::Indices kept = at_kept(i, {axis});
    return cast(cast(x(i), type) - parts.greatest(kept) - log(parts.sum(kept)), kernel.dtype());
  }));
}

}  // namespace nnef_tvm
