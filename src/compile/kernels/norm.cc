// Normalisations: statistics in stages of their own, in 32 bits at least, then one elementwise
// stage.
#include "compile/kernels/linear.h"
#include "compile/kernels/reduce.h"

namespace nnef_tvm {
namespace {

te::Indices select_axes(const te::Indices& indices, const std::vector<size_t>& axes) {
  te::Indices selected;
  for (size_t axis : axes) selected.push_back(indices[axis]);
  return selected;
}

/// (x - mean) / sqrt(variance + epsilon) over some axes, then scaled and shifted. The attributes
/// "scale" and "center" say whether to.
class Normalisation {
 public:
  Normalisation(const KernelCall& kernel, const te::Tensor& x, const std::vector<size_t>& axes)
      : x_(x),
        axes_(axes),
        type_(accumulator_type(x.dtype())),
        epsilon_(kernel.real("epsilon")),
        scales_(kernel.flag("scale")),
        centers_(kernel.flag("center")),
        mean_(mean_stage(x, axes, true, "mean",
                         [&](const te::Indices& i) { return cast(x(i), type_); })),
        variance_(variance_stage(x, mean_, axes, true)) {}

  /// The normalised item, scaled by gamma and shifted by beta at the given indices of theirs.
  PrimExpr at(const te::Indices& i, const te::Tensor& gamma, const te::Tensor& beta,
              const te::Indices& place) const {
    const te::Indices kept = at_kept(i, axes_);
    PrimExpr y = (cast(x_(i), type_) - mean_(kept)) * rsqrt_of(variance_(kept) + epsilon_);
    if (scales_) y = y * cast(gamma(place), type_);
    if (centers_) y = y + cast(beta(place), type_);
    return y;
  }

  static PrimExpr rsqrt_of(const PrimExpr& x) { return 1 / sqrt(x); }

 private:
  te::Tensor x_;
  std::vector<size_t> axes_;
  DLDataType type_;
  double epsilon_;
  bool scales_;
  bool centers_;
  te::Tensor mean_;
  te::Tensor variance_;
};

}  // namespace

Expr layer_norm(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::Tensor gamma = kernel.input(1);
  const te::Tensor beta = kernel.input(2);
  const std::vector<size_t> axes = kernel.axes("axes", x.rank());
  const Normalisation normalisation(kernel, x, axes);
  return kernel.finish(te::compute(x.shape(), "layer_norm", [&](const te::Indices& i) {
    return cast(normalisation.at(i, gamma, beta, select_axes(i, axes)), kernel.dtype());
  }));
}

Expr instance_norm(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::Tensor gamma = kernel.input(1);
  const te::Tensor beta = kernel.input(2);
  const size_t channel = kernel.axis("channel_axis", x.rank());
  const Normalisation normalisation(kernel, x, kernel.axes("axes", x.rank()));
  return kernel.finish(te::compute(x.shape(), "instance_norm", [&](const te::Indices& i) {
    return cast(normalisation.at(i, gamma, beta, {i[channel]}), kernel.dtype());
  }));
}

/// Channels are cut into groups: a stage of [..., groups, channels of a group, ...] makes that an
/// axis.
Expr group_norm(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::Tensor gamma = kernel.input(1);
  const te::Tensor beta = kernel.input(2);
  const size_t channel = kernel.axis("channel_axis", x.rank());
  const PrimExpr groups = int_imm(kernel.integer("num_groups"));
  const PrimExpr size = floordiv(x.extent(channel), groups);
  const auto after_channel = static_cast<std::ptrdiff_t>(channel) + 1;

  te::Shape shape = x.shape();
  shape[channel] = groups;
  shape.insert(shape.begin() + after_channel, size);
  const te::Tensor grouped = te::compute(shape, "grouped", [&](te::Indices i) {
    i[channel] = i[channel] * size + i[channel + 1];
    i.erase(i.begin() + after_channel);
    return x(i);
  });
  std::vector<size_t> axes{channel + 1};
  for (size_t axis : kernel.axes("axes", x.rank()))
    axes.push_back(axis < channel ? axis : axis + 1);
  const Normalisation normalisation(kernel, grouped, axes);
  return kernel.finish(te::compute(x.shape(), "group_norm", [&](const te::Indices& i) {
    te::Indices place = i;
    place[channel] = floordiv(i[channel], size);
    place.insert(place.begin() + after_channel, floormod(i[channel], size));
    return cast(normalisation.at(place, gamma, beta, {i[channel]}), kernel.dtype());
  }));
}

Expr rms_norm(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::Tensor weight = kernel.input(1);
  const std::vector<size_t> axes = kernel.axes("axes", x.rank());
  const DLDataType type = accumulator_type(x.dtype());
  const double epsilon = kernel.real("epsilon");
  const te::Tensor squares = mean_stage(x, axes, true, "mean_square", [&](const te::Indices& i) {
    const PrimExpr item = cast(x(i), type);
    return item * item;
  });
  return kernel.finish(te::compute(x.shape(), "rms_norm", [&](const te::Indices& i) {
    const PrimExpr scale = Normalisation::rsqrt_of(squares(at_kept(i, axes)) + epsilon);
    const PrimExpr factor = cast(weight(select_axes(i, axes)), type);
    return cast(cast(x(i), type) * scale * factor, kernel.dtype());
  }));
}

/// For inference: with the given mean and variance, which are results unchanged.
Expr batch_norm(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  if (kernel.flag("training")) return call;
  const te::Tensor x = kernel.input(0);
  const te::Tensor gamma = kernel.input(1);
  const te::Tensor beta = kernel.input(2);
  const te::Tensor mean = kernel.input(3);
  const te::Tensor variance = kernel.input(4);
  const size_t axis = kernel.axis("axis", x.rank());
  const double epsilon = kernel.real("epsilon");
  const te::Tensor y = te::compute(x.shape(), "batch_norm", [&](const te::Indices& i) {
    const te::Indices channel{i[axis]};
    PrimExpr item = (x(i) - mean(channel)) * Normalisation::rsqrt_of(variance(channel) + epsilon);
    if (kernel.flag("scale")) item = item * gamma(channel);
    if (kernel.flag("center")) item = item + beta(channel);
    return item;
  });
  return tuple({kernel.finish_item("batch_norm", y, 0), kernel.arg(3), kernel.arg(4)});
}

}  // namespace nnef_tvm
