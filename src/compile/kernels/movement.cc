#include "compile/kernels/movement.h"

#include <algorithm>

#include "compile/kernels/elementwise.h"
#include "tvm/indices.h"

namespace nnef_tvm {
namespace {

constexpr LegalisationRow kRows[] = {
    {"relax.broadcast_to", broadcast_to},
    {"relax.concat", concat},
    {"relax.expand_dims", reshape},
    {"relax.flatten", reshape},
    {"relax.flip", flip},
    {"relax.layout_transform", layout_transform},
    {"relax.nn.batch_flatten", reshape},
    {"relax.nn.pad", pad},
    {"relax.nn.pixel_shuffle", pixel_shuffle},
    {"relax.permute_dims", permute_dims},
    {"relax.repeat", repeat},
    {"relax.reshape", reshape},
    {"relax.split", split},
    {"relax.squeeze", reshape},
    {"relax.stack", stack},
    {"relax.strided_slice", strided_slice},
    {"relax.tile", tile},

    {"relax.gather_elements", gather_elements},
    {"relax.gather_nd", gather_nd},
    {"relax.one_hot", one_hot},
    {"relax.scatter_elements", scatter_elements},
    {"relax.scatter_nd", scatter_nd},
    {"relax.take", take},

    {"relax.arange", arange},
    {"relax.eye", eye},
    {"relax.eye_like", eye},
    {"relax.full", full},
    {"relax.full_like", full},
    {"relax.ones", ones},
    {"relax.ones_like", ones},
    {"relax.tril", tril},
    {"relax.triu", triu},
    {"relax.zeros", zeros},
    {"relax.zeros_like", zeros},
};

/// A kernel of one stage that takes each item of the result from one place of the first argument.
Expr move_items(KernelCall& kernel,
                const std::function<te::Indices(const te::Tensor&, const te::Indices&)>& source) {
  const te::Tensor x = kernel.input(0);
  return kernel.finish(te::compute(kernel.shape(), kernel.name(),
                                   [&](const te::Indices& i) { return x(source(x, i)); }));
}

/// The item from the tensor in whose part of an axis the index lies; `index_in` its index there.
PrimExpr choose(const std::vector<te::Tensor>& tensors, const std::vector<PrimExpr>& ends,
                const PrimExpr& index, const std::function<PrimExpr(size_t)>& load) {
  PrimExpr value = load(tensors.size() - 1);
  for (size_t i = tensors.size() - 1; i-- > 0;) {
    value = if_then_else(lt(index, ends[i]), load(i), value);
  }
  return value;
}

std::vector<te::Tensor> inputs_of(KernelCall& kernel) {
  std::vector<te::Tensor> tensors;
  for (const Expr& item : kernel.items(0)) tensors.push_back(kernel.input(item));
  return tensors;
}

}  // namespace

Expr broadcast_to(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  return move_items(kernel, [&](const te::Tensor& x, const te::Indices& i) {
    return broadcast_indices(x, i, kernel.shape());
  });
}

Expr concat(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const std::vector<te::Tensor> tensors = inputs_of(kernel);
  const size_t axis = kernel.has("axis") ? kernel.axis("axis", tensors[0].rank()) : 0;
  std::vector<PrimExpr> ends{tensors[0].extent(axis)};
  for (size_t i = 1; i < tensors.size(); ++i) ends.push_back(ends.back() + tensors[i].extent(axis));
  return kernel.finish(te::compute(kernel.shape(), "concat", [&](const te::Indices& indices) {
    return choose(tensors, ends, indices[axis], [&](size_t i) {
      te::Indices source = indices;
      if (i > 0) source[axis] = indices[axis] - ends[i - 1];
      return tensors[i](source);
    });
  }));
}

Expr stack(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const std::vector<te::Tensor> tensors = inputs_of(kernel);
  const size_t axis = kernel.has("axis") ? kernel.axis("axis", tensors[0].rank() + 1) : 0;
  std::vector<PrimExpr> ends;
  for (size_t i = 0; i < tensors.size(); ++i) ends.push_back(int_imm(static_cast<int64_t>(i) + 1));
  return kernel.finish(te::compute(kernel.shape(), "stack", [&](const te::Indices& indices) {
    te::Indices source = indices;
    source.erase(source.begin() + static_cast<std::ptrdiff_t>(axis));
    return choose(tensors, ends, indices[axis], [&](size_t i) { return tensors[i](source); });
  }));
}

Expr flip(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  return move_items(kernel, [&](const te::Tensor& x, te::Indices i) {
    const size_t axis = kernel.axis("axis", x.rank());
    i[axis] = x.extent(axis) - 1 - i[axis];
    return i;
  });
}

Expr permute_dims(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  return move_items(kernel, [&](const te::Tensor& x, const te::Indices& i) {
    std::vector<size_t> axes = kernel.axes("axes", x.rank());
    if (!kernel.has("axes")) std::reverse(axes.begin(), axes.end());
    te::Indices source(x.rank());
    for (size_t k = 0; k < axes.size(); ++k) source[axes[k]] = i[k];
    return source;
  });
}

Expr pixel_shuffle(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const int64_t factor = kernel.integer("upscale_factor");
  return move_items(kernel, [&](const te::Tensor& x, te::Indices i) {
    PrimExpr& channel = i[x.rank() - 3];
    PrimExpr& row = i[x.rank() - 2];
    PrimExpr& column = i[x.rank() - 1];
    channel = (channel * factor + floormod(row, factor)) * factor + floormod(column, factor);
    row = floordiv(row, factor);
    column = floordiv(column, factor);
    return i;
  });
}

Expr repeat(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const int64_t repeats = kernel.integer("repeats");
  return move_items(kernel, [&](const te::Tensor& x, te::Indices i) {
    if (!kernel.has("axis")) return unravel(floordiv(i[0], repeats), x.shape());
    PrimExpr& index = i[kernel.axis("axis", x.rank())];
    index = floordiv(index, repeats);
    return i;
  });
}

Expr tile(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  return move_items(kernel, [&](const te::Tensor& x, const te::Indices& i) {
    te::Indices source(i.end() - static_cast<std::ptrdiff_t>(x.rank()), i.end());
    const te::Shape shape = kernel.shape();
    const size_t offset = i.size() - x.rank();
    for (size_t axis = 0; axis < x.rank(); ++axis) {
      if (same_extent(shape[offset + axis], x.extent(axis))) continue;
      source[axis] = floormod(source[axis], x.extent(axis));
    }
    return source;
  });
}

Expr reshape(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::Shape shape = kernel.shape();
  const bool is_empty = std::any_of(shape.begin(), shape.end(),
                                    [](const PrimExpr& extent) { return is_known(extent, 0); });
  return kernel.finish(te::compute(shape, kernel.name(), [&](const te::Indices& i) {
    return is_empty ? number(0, x.dtype()) : x(reshaped(i, shape, x.shape()));
  }));
}

/// Each part is a kernel of its own, so that it can be fused with what uses it.
Expr split(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  Array<Expr> parts;
  PrimExpr begin = int_imm(0);
  for (size_t part = 0; part < kernel.results(); ++part) {
    const te::Tensor x = kernel.input(0);
    const size_t axis = kernel.axis("axis", x.rank());
    const te::Shape shape = kernel.shape(part);
    const te::Tensor item = te::compute(shape, "split", [&](te::Indices i) {
      i[axis] = i[axis] + begin;
      return x(i);
    });
    parts.push_back(kernel.finish_item("split", item, part));
    begin = begin + shape[axis];
  }
  return tuple(parts);
}

Expr strided_slice(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const std::vector<PrimExpr> axes = kernel.prims(1);
  const std::vector<PrimExpr> begins = kernel.prims(2);
  const std::vector<PrimExpr> strides =
      kernel.arity() > 4 ? kernel.prims(4) : std::vector<PrimExpr>(axes.size(), int_imm(1));
  const bool in_bounds = kernel.flag("assume_inbound");
  for (size_t k = 0; k < axes.size(); ++k) {
    if (!known_int(axes[k]) || !known_int(strides[k])) return call;
  }
  return move_items(kernel, [&](const te::Tensor& x, te::Indices i) {
    for (size_t k = 0; k < axes.size(); ++k) {
      const size_t axis = from_front(*known_int(axes[k]), x.rank());
      const int64_t stride = *known_int(strides[k]);
      PrimExpr begin = cast(begins[k], int64);
      if (!in_bounds) {
        const PrimExpr& extent = x.extent(axis);
        begin = select(lt(begin, 0), begin + extent, begin);
        begin = stride > 0 ? max(min(begin, extent), 0) : max(min(begin, extent - 1), -1);
      }
      i[axis] = begin + i[axis] * stride;
    }
    return i;
  });
}

Expr layout_transform(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const te::InverseMap inverse = te::inverse_map(kernel.object("index_map"), x.shape());
  PrimExpr padding = number(0, x.dtype());
  if (kernel.has("pad_value")) padding = cast(as<PrimExpr>(kernel.object("pad_value")), x.dtype());
  return kernel.finish(te::compute(kernel.shape(), "layout_transform", [&](const te::Indices& i) {
    const te::Indices source = inverse.map(i);
    if (!inverse.pads) return x(source);
    std::vector<PrimExpr> inside;
    for (size_t axis = 0; axis < x.rank(); ++axis) {
      inside.push_back(lt(source[axis], x.extent(axis)));
    }
    return if_then_else(all_of(inside), x(source), padding);
  }));
}

std::span<const LegalisationRow> movement_kernels() { return kRows; }

}  // namespace nnef_tvm
