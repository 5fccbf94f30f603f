// Convolutions: padding as a stage of its own, then one reduction over the window and the input
// channels.
#include "compile/kernels/reduce.h"
#include "compile/kernels/window.h"

namespace nnef_tvm {
namespace {

struct ConvLayouts {
  Layout data;
  Layout weight;
  Layout out;

  explicit ConvLayouts(const KernelCall& kernel)
      : data(kernel.text("data_layout")),
        weight(kernel.text("kernel_layout")),
        out(kernel.text("out_layout")) {}

  bool are_plain() const { return data.is_plain() && weight.is_plain() && out.is_plain(); }
};

std::vector<te::ReduceAxis> window_reductions(const te::Tensor& weight, const Layout& layout) {
  std::vector<te::ReduceAxis> axes;
  for (size_t axis : layout.spatial()) {
    axes.push_back(te::reduce_axis(weight.extent(axis), "k" + std::to_string(axes.size())));
  }
  return axes;
}

}  // namespace

Expr conv(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const ConvLayouts layouts(kernel);
  if (!layouts.are_plain()) return call;
  const te::Tensor x = kernel.input(0);
  const te::Tensor weight = kernel.input(1);
  const std::vector<WindowAxis> window = window_axes(kernel);
  const int64_t groups = kernel.integer("groups");
  const PrimExpr group_inputs = weight.extent(layouts.weight.axis('I'));
  const PrimExpr group_outputs = floordiv(weight.extent(layouts.weight.axis('O')), groups);
  const bool depthwise = groups > 1 && is_known(group_inputs, 1);

  std::vector<Padding> paddings;
  for (size_t i = 0; i < window.size(); ++i) {
    paddings.push_back(
        {layouts.data.spatial()[i], int_imm(window[i].before), int_imm(window[i].after)});
  }
  const te::Tensor padded = pad_stage(x, paddings, number(0, x.dtype()));

  std::vector<te::ReduceAxis> axes = window_reductions(weight, layouts.weight);
  const te::ReduceAxis channel = te::reduce_axis(group_inputs, "ic");
  if (!depthwise) axes.push_back(channel);
  const DLDataType type = wrapping_type(accumulator_type(kernel.dtype()));
  const std::string name = (depthwise    ? "depthwise_"
                            : groups > 1 ? "grouped_"
                                         : "") +
                           kernel.name();
  const te::Tensor result =
      te::compute(kernel.shape(), name + "_" + layouts.out.suffix(), [&](const te::Indices& i) {
        const PrimExpr output = i[layouts.out.axis('C')];
        te::Indices data(x.rank(), int_imm(0));
        te::Indices filter(weight.rank(), int_imm(0));
        data[layouts.data.axis('N')] = i[layouts.out.axis('N')];
        filter[layouts.weight.axis('O')] = output;
        if (!depthwise) filter[layouts.weight.axis('I')] = channel.index;
        const PrimExpr group = groups == 1 ? int_imm(0) : floordiv(output, group_outputs);
        data[layouts.data.axis('C')] = depthwise ? group : group * group_inputs + channel.index;
        for (size_t k = 0; k < window.size(); ++k) {
          data[layouts.data.spatial()[k]] =
              i[layouts.out.spatial()[k]] * window[k].stride + axes[k].index * window[k].dilation;
          filter[layouts.weight.spatial()[k]] = axes[k].index;
        }
        return te::sum(cast(padded(data), type) * cast(weight(filter), type), axes);
      });
  return kernel.finish(kernel.name(), {cast_stage(result, kernel.dtype())});
}

namespace {

/// One spatial axis of a transposed convolution with stride s. Output position o takes part of
/// window item k from input position (o + before - k * dilation) / s where that divides. With k = r
/// + s * j, r = (o + before) mod s, it always does: j runs over what is left of the window, without
/// the zeros between inputs.
struct TransposedAxis {
  int64_t stride;
  int64_t before;
  int64_t reach;  ///< window items with the gaps of the dilation
  int64_t taps;   ///< items of one phase of the window
  Padding padding;
};

int64_t floor_of_ratio(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

TransposedAxis transposed_axis(const WindowAxis& window, int64_t size, int64_t output_padding,
                               size_t data_axis) {
  const int64_t reach = (size - 1) * window.dilation + 1;
  const int64_t taps = (reach + window.stride - 1) / window.stride;
  // Input positions are used from `first` to `beyond` after the last one.
  const int64_t first = floor_of_ratio(window.before, window.stride) - taps + 1;
  const int64_t beyond = floor_of_ratio(reach - 1 + output_padding - window.after, window.stride);
  return {window.stride, window.before, reach, taps, {data_axis, int_imm(-first), int_imm(beyond)}};
}

/// The weight with zeros in the gaps of the dilation and up to a whole number of phases.
te::Tensor spread_weight(const te::Tensor& weight, const Layout& layout,
                         const std::vector<WindowAxis>& window,
                         const std::vector<TransposedAxis>& axes) {
  te::Shape shape = weight.shape();
  bool same = true;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t extent = axes[k].taps * axes[k].stride;
    same = same && is_known(shape[layout.spatial()[k]], extent);
    shape[layout.spatial()[k]] = int_imm(extent);
  }
  if (same) return weight;
  return te::compute(shape, "spread_weight", [&](const te::Indices& i) {
    te::Indices source = i;
    std::vector<PrimExpr> filled;
    for (size_t k = 0; k < axes.size(); ++k) {
      const size_t axis = layout.spatial()[k];
      if (axes[k].reach < axes[k].taps * axes[k].stride)
        filled.push_back(lt(i[axis], axes[k].reach));
      if (window[k].dilation == 1) continue;
      filled.push_back(eq(floormod(i[axis], window[k].dilation), 0));
      source[axis] = floordiv(i[axis], window[k].dilation);
    }
    return if_then_else(all_of(filled), weight(source), number(0, weight.dtype()));
  });
}

}  // namespace

Expr conv_transpose(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const ConvLayouts layouts(kernel);
  if (!layouts.are_plain()) return call;
  const te::Tensor x = kernel.input(0);
  const te::Tensor weight = kernel.input(1);
  const std::vector<WindowAxis> window = window_axes(kernel);
  const std::vector<int64_t> output_padding = kernel.integers("output_padding");
  const int64_t groups = kernel.integer("groups");

  std::vector<TransposedAxis> axes;
  std::vector<Padding> paddings;
  for (size_t k = 0; k < window.size(); ++k) {
    const auto size = known_int(weight.extent(layouts.weight.spatial()[k]));
    if (!size) return call;
    axes.push_back(transposed_axis(window[k], *size, output_padding[k], layouts.data.spatial()[k]));
    paddings.push_back(axes.back().padding);
  }
  const te::Tensor padded = pad_stage(x, paddings, number(0, x.dtype()));
  const te::Tensor spread = spread_weight(weight, layouts.weight, window, axes);

  const PrimExpr group_inputs = floordiv(weight.extent(layouts.weight.axis('I')), groups);
  const PrimExpr group_outputs = weight.extent(layouts.weight.axis('O'));
  std::vector<te::ReduceAxis> reductions;
  for (const TransposedAxis& axis : axes) {
    reductions.push_back(
        te::reduce_axis(int_imm(axis.taps), "k" + std::to_string(reductions.size())));
  }
  reductions.push_back(te::reduce_axis(group_inputs, "ic"));
  const DLDataType type = wrapping_type(accumulator_type(kernel.dtype()));
  const te::Tensor result = te::compute(
      kernel.shape(), kernel.name() + "_" + layouts.out.suffix(), [&](const te::Indices& i) {
        const PrimExpr output = i[layouts.out.axis('C')];
        const PrimExpr group = groups == 1 ? int_imm(0) : floordiv(output, group_outputs);
        const PrimExpr input = group * group_inputs + reductions.back().index;
        te::Indices data(x.rank(), int_imm(0));
        te::Indices filter(weight.rank(), int_imm(0));
        data[layouts.data.axis('N')] = i[layouts.out.axis('N')];
        data[layouts.data.axis('C')] = input;
        filter[layouts.weight.axis('I')] = input;
        filter[layouts.weight.axis('O')] = groups == 1 ? output : floormod(output, group_outputs);
        for (size_t k = 0; k < axes.size(); ++k) {
          const PrimExpr tap = reductions[k].index;
          const PrimExpr position = i[layouts.out.spatial()[k]] + axes[k].before;
          data[layouts.data.spatial()[k]] =
              floordiv(position, axes[k].stride) - tap + axes[k].padding.before;
          filter[layouts.weight.spatial()[k]] =
              floormod(position, axes[k].stride) + tap * axes[k].stride;
        }
        return te::sum(cast(padded(data), type) * cast(spread(filter), type), reductions);
      });
  return kernel.finish(kernel.name(), {cast_stage(result, kernel.dtype())});
}

}  // namespace nnef_tvm
