// Poolings: padding as a stage of its own, then one reduction over the window.
#include "compile/kernels/reduce.h"
#include "compile/kernels/window.h"

namespace nnef_tvm {
namespace {

/// A pooling call seen from its layout.
struct Pool {
  Layout layout;
  te::Tensor x;
  std::vector<WindowAxis> window;
  std::vector<int64_t> size;
  te::Shape shape;  ///< of the result

  explicit Pool(KernelCall& kernel)
      : layout(kernel.text("layout")),
        x(kernel.input(0)),
        window(window_axes(kernel)),
        size(kernel.integers("pool_size")),
        shape(kernel.shape()) {}

  te::Tensor padded(const PrimExpr& value) const {
    std::vector<Padding> paddings;
    for (size_t k = 0; k < window.size(); ++k) {
      const size_t axis = layout.spatial()[k];
      const PrimExpr missing =
          missing_padding(window[k], x.extent(axis), int_imm(size[k]), shape[axis]);
      paddings.push_back({axis, int_imm(window[k].before), missing + window[k].after});
    }
    return pad_stage(x, paddings, value);
  }

  std::vector<te::ReduceAxis> reductions() const {
    std::vector<te::ReduceAxis> axes;
    for (int64_t extent : size) {
      axes.push_back(te::reduce_axis(int_imm(extent), "k" + std::to_string(axes.size())));
    }
    return axes;
  }

  te::Indices source(te::Indices indices, const std::vector<te::ReduceAxis>& axes) const {
    for (size_t k = 0; k < window.size(); ++k) {
      PrimExpr& index = indices[layout.spatial()[k]];
      index = index * window[k].stride + axes[k].index * window[k].dilation;
    }
    return indices;
  }

  /// How many items of the window at the indices are inside the tensor; at least one.
  PrimExpr count_inside(const te::Indices& indices) const {
    PrimExpr count = int_imm(1);
    for (size_t k = 0; k < window.size(); ++k) {
      const size_t axis = layout.spatial()[k];
      const PrimExpr start = indices[axis] * window[k].stride - window[k].before;
      const PrimExpr first = max(ceildiv(-start, window[k].dilation), 0);
      const PrimExpr end = min(ceildiv(x.extent(axis) - start, window[k].dilation), size[k]);
      count = count * max(end - first, 0);
    }
    return max(count, 1);
  }

  int64_t window_count() const {
    int64_t count = 1;
    for (int64_t extent : size) count *= extent;
    return count;
  }
};

bool has_plain_layout(const KernelCall& kernel) {
  return kernel.text("layout") == kernel.text("out_layout") &&
         Layout(kernel.text("layout")).is_plain();
}

}  // namespace

Expr max_pool(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  if (!has_plain_layout(kernel)) return call;
  const Pool pool(kernel);
  const te::Tensor padded = pool.padded(lowest(pool.x.dtype()));
  const std::vector<te::ReduceAxis> axes = pool.reductions();
  return kernel.finish(te::compute(
      pool.shape, kernel.name() + "_" + pool.layout.suffix(),
      [&](const te::Indices& i) { return te::maximum(padded(pool.source(i, axes)), axes); }));
}

Expr avg_pool(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  if (!has_plain_layout(kernel)) return call;
  const Pool pool(kernel);
  const te::Tensor padded = pool.padded(number(0, pool.x.dtype()));
  const std::vector<te::ReduceAxis> axes = pool.reductions();
  const DLDataType type = accumulator_type(pool.x.dtype());
  const te::Tensor sum = te::compute(pool.shape, "pool_sum", [&](const te::Indices& i) {
    return te::sum(cast(padded(pool.source(i, axes)), wrapping_type(type)), axes);
  });
  const bool whole_window = kernel.flag("count_include_pad");
  return kernel.finish(te::compute(
      pool.shape, kernel.name() + "_" + pool.layout.suffix(), [&](const te::Indices& i) {
        const PrimExpr count = whole_window ? int_imm(pool.window_count()) : pool.count_inside(i);
        return cast(wrap(sum(i), type) / cast(count, type), kernel.dtype());
      }));
}

namespace {

/// The part of an axis that one position of an adaptive pooling averages.
struct AdaptiveWindow {
  PrimExpr extent;
  PrimExpr result_extent;
  te::ReduceAxis offset;
  bool divides;  ///< all windows have one size and do not overlap

  AdaptiveWindow(const PrimExpr& extent, const PrimExpr& result_extent, const std::string& name)
      : extent(extent), result_extent(result_extent) {
    const auto from = known_int(extent);
    const auto to = known_int(result_extent);
    divides = to && (*to == 1 || (from && *from % *to == 0));
    const PrimExpr longest =
        divides ? floordiv(extent, result_extent) : ceildiv(extent, result_extent) + 1;
    offset = te::reduce_axis(longest, name);
  }

  PrimExpr start(const PrimExpr& index) const {
    return divides ? index * floordiv(extent, result_extent)
                   : floordiv(index * extent, result_extent);
  }
  PrimExpr size(const PrimExpr& index) const {
    return divides ? floordiv(extent, result_extent)
                   : ceildiv((index + 1) * extent, result_extent) - start(index);
  }
};

}  // namespace

Expr adaptive_avg_pool(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  if (!has_plain_layout(kernel)) return call;
  const Layout layout(kernel.text("layout"));
  const te::Tensor x = kernel.input(0);
  const te::Shape shape = kernel.shape();
  std::vector<AdaptiveWindow> windows;
  std::vector<te::ReduceAxis> axes;
  for (size_t axis : layout.spatial()) {
    windows.emplace_back(x.extent(axis), shape[axis], "k" + std::to_string(axes.size()));
    axes.push_back(windows.back().offset);
  }
  const DLDataType type = accumulator_type(x.dtype());
  const te::Tensor sum = te::compute(shape, "adaptive_pool_sum", [&](const te::Indices& i) {
    te::Indices source = i;
    std::vector<PrimExpr> inside;
    for (size_t k = 0; k < windows.size(); ++k) {
      const size_t axis = layout.spatial()[k];
      source[axis] = windows[k].start(i[axis]) + axes[k].index;
      if (!windows[k].divides) inside.push_back(lt(axes[k].index, windows[k].size(i[axis])));
    }
    const PrimExpr item = cast(x(source), wrapping_type(type));
    return te::sum(inside.empty() ? item : if_then_else(all_of(inside), item, number_like(0, item)),
                   axes);
  });
  return kernel.finish(
      te::compute(shape, kernel.name() + "_" + layout.suffix(), [&](const te::Indices& i) {
        PrimExpr count = int_imm(1);
        for (size_t k = 0; k < windows.size(); ++k) {
          count = count * windows[k].size(i[layout.spatial()[k]]);
        }
        return cast(wrap(sum(i), type) / cast(count, type), kernel.dtype());
      }));
}

}  // namespace nnef_tvm
