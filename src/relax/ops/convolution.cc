// Convolutions over more spatial axes than TVM's operators have, as kernels of their own.
#include "relax/ops/window.h"
#include "tvm/emit_te.h"
#include "tvm/indices.h"

namespace nnef_tvm {
namespace {

/// What is summed up for one item: channels of a group, and the filter's items.
struct Taps {
  std::vector<te::ReduceAxis> axes;

  Taps(int64_t channels, const Ints& filter) {
    axes.push_back(te::reduce_axis(int_imm(channels), "c"));
    for (size_t axis = 2; axis < filter.size(); ++axis) {
      axes.push_back(te::reduce_axis(int_imm(filter[axis]), "k" + std::to_string(axis)));
    }
  }

  const PrimExpr& channel() const { return axes[0].index; }
  const PrimExpr& offset(size_t spatial_axis) const { return axes[spatial_axis + 1].index; }
  /// Of the filter at two given indices.
  te::Indices filter_at(const PrimExpr& first, const PrimExpr& second) const {
    te::Indices at{first, second};
    for (size_t i = 1; i < axes.size(); ++i) at.push_back(axes[i].index);
    return at;
  }
};

}  // namespace

Expr any_conv(const LoweringContext& op, const Expr& x) {
  const Ints filter = op.extents("filter");
  const Ints stride = op.resolved_integers("stride");
  const Ints dilation = op.resolved_integers("dilation");
  const Ints result = op.result_extents();
  const int64_t results_per_group = result[1] / op.resolved_integer("groups");
  const Taps taps(filter[1], filter);
  return emit_te(op.builder(), "conv", {x, op.input("filter")}, [&](const auto& args) {
    return te::compute(te_shape(result), "conv", [&](const te::Indices& i) {
      const PrimExpr group = floordiv(i[1], results_per_group);
      te::Indices at{i[0], group * filter[1] + taps.channel()};
      for (size_t axis = 0; axis < stride.size(); ++axis) {
        at.push_back(i[axis + 2] * stride[axis] + taps.offset(axis) * dilation[axis]);
      }
      return te::sum(args[0](at) * args[1](taps.filter_at(i[1], taps.channel())), taps.axes);
    });
  });
}

Expr any_transposed_conv(const LoweringContext& op, const Expr& x, const TransposedConv& written) {
  const Ints filter = op.extents("filter");
  TransposedConv conv = written;
  Ints spans;
  for (size_t axis = 0; axis < conv.stride.size(); ++axis) {
    spans.push_back((filter[axis + 2] - 1) * conv.dilation[axis] + 1);
  }
  Ints extents = op.extents("input");
  const Expr extended = extend_input(x, extents, spans, conv);
  const int64_t inputs_per_group = extents[1] / conv.groups;
  const Taps taps(inputs_per_group, filter);
  return emit_te(op.builder(), "deconv", {extended, op.input("filter")}, [&](const auto& args) {
    return te::compute(te_shape(op.result_extents()), "deconv", [&](const te::Indices& i) {
      const PrimExpr channel = floordiv(i[1], filter[1]) * inputs_per_group + taps.channel();
      te::Indices at{i[0], channel};
      std::vector<PrimExpr> exists;
      for (size_t axis = 0; axis < conv.stride.size(); ++axis) {
        const PrimExpr reach =
            i[axis + 2] + conv.padding[axis].first - taps.offset(axis) * conv.dilation[axis];
        at.push_back(floordiv(reach, conv.stride[axis]));
        exists.push_back(eq(floormod(reach, conv.stride[axis]), 0));
        exists.push_back(both(ge(at.back(), 0), lt(at.back(), extents[axis + 2])));
      }
      const PrimExpr product =
          args[0](at) * args[1](taps.filter_at(channel, floormod(i[1], filter[1])));
      return te::sum(if_then_else(all_of(exists), product, number(0, args[0].dtype())), taps.axes);
    });
  });
}

}  // namespace nnef_tvm
