#include "compile/kernels/reduce.h"

#include <algorithm>

namespace nnef_tvm {

ReducedSpace::ReducedSpace(const te::Shape& shape, std::vector<size_t> axes, bool keep)
    : count_(int_imm(1)) {
  std::sort(axes.begin(), axes.end());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) {
      result_axis_.push_back(shape_.size());
      shape_.push_back(shape[axis]);
      continue;
    }
    result_axis_.push_back(kReduced);
    axes_.push_back(te::reduce_axis(shape[axis], "k" + std::to_string(axes_.size())));
    extents_.push_back(shape[axis]);
    count_ = count_ * shape[axis];
    if (keep) shape_.push_back(int_imm(1));
  }
}

te::Indices ReducedSpace::source(const te::Indices& indices) const {
  te::Indices source;
  size_t next = 0;
  for (size_t axis : result_axis_) {
    source.push_back(axis == kReduced ? axes_[next++].index : indices[axis]);
  }
  return source;
}

PrimExpr ReducedSpace::position() const {
  PrimExpr position = int_imm(0);
  for (size_t i = 0; i < axes_.size(); ++i) position = position * extents_[i] + axes_[i].index;
  return position;
}

DLDataType accumulator_type(DLDataType type) {
  if (is_boolean(type)) return int32;
  return is_float(type) && type.bits < 32 ? float32 : type;
}

te::Tensor cast_stage(const te::Tensor& x, DLDataType type) {
  if (x.dtype() == type) return x;
  return te::compute(x.shape(), "cast", [&](const te::Indices& i) { return wrap(x(i), type); });
}

namespace {

/// The items of float32 in the widest vectors of any CPU.
constexpr int64_t kWidestVector = 16;

/// How many items of rows fill vectors, so that the others are a stage of their own; nothing where
/// rows are not along the last axis, short, or filled. Of symbolic length, at least one is left: no
/// reduction over nothing has a value.
std::optional<PrimExpr> whole_vectors(const te::Shape& shape, const std::vector<size_t>& axes) {
  if (axes.size() != 1 || axes[0] + 1 != shape.size()) return std::nullopt;
  const auto length = known_int(shape.back());
  if (!length) {
    if (known_factor(shape.back()) % kWidestVector == 0) return std::nullopt;
    return floordiv(shape.back() - 1, kWidestVector) * kWidestVector;
  }
  const int64_t rest = *length % kWidestVector;
  if (*length < 4 * kWidestVector || rest == 0) return std::nullopt;
  return int_imm(*length - rest);
}

}  // namespace

te::Tensor reduction_stage(const te::Shape& shape, const std::vector<size_t>& axes, bool keep,
                           const std::string& name, const te::Body& value,
                           const RowReducer& reducer) {
  const auto whole = whole_vectors(shape, axes);
  const auto part = [&](const std::string& part_name, const PrimExpr& start,
                        const PrimExpr& length) {
    te::Shape part_shape = shape;
    if (!part_shape.empty()) part_shape.back() = length;
    const ReducedSpace space(part_shape, axes, keep);
    return te::compute(space.shape(), part_name, [&](const te::Indices& i) {
      te::Indices source = space.source(i);
      if (!is_known(start, 0)) source.back() = source.back() + start;
      return reducer.reduce(value(source), space.axes());
    });
  };
  if (!whole) return part(name, int_imm(0), shape.empty() ? int_imm(1) : shape.back());
  const auto length = known_int(shape.back());
  const PrimExpr rest = length ? int_imm(*length - *known_int(*whole)) : shape.back() - *whole;
  const te::Tensor first = part(name + "_vectors", int_imm(0), *whole);
  const te::Tensor last = part(name + "_rest", *whole, rest);
  return te::compute(first.shape(), name, [&](const te::Indices& i) {
    const PrimExpr both = reducer.combine(first(i), last(i));
    return length ? both : select(gt(*whole, 0), both, last(i));
  });
}

te::Tensor sum_stage(const te::Tensor& x, const std::vector<size_t>& axes, bool keep,
                     const std::string& name, const te::Body& value) {
  const ReducedSpace space(x.shape(), axes, keep);
  if (space.is_empty()) {
    return te::compute(space.shape(), name, [&](const te::Indices& i) {
      return number_like(0, value(space.source(i)));
    });
  }
  DLDataType type{};
  const auto item = [&](const te::Indices& i) {
    const PrimExpr plain = value(i);
    type = item_type(plain);
    return cast(plain, wrapping_type(type));
  };
  const auto add = [](const PrimExpr& a, const PrimExpr& b) { return a + b; };
  const te::Tensor sum = reduction_stage(x.shape(), axes, keep, name, item, {te::sum, add});
  return cast_stage(sum, type);
}

te::Tensor mean_stage(const te::Tensor& x, const std::vector<size_t>& axes, bool keep,
                      const std::string& name, const te::Body& value) {
  const te::Tensor sum = sum_stage(x, axes, keep, name + "_sum", value);
  const PrimExpr count = max(ReducedSpace(x.shape(), axes, keep).count(), 1);
  return te::compute(sum.shape(), name,
                     [&](const te::Indices& i) { return sum(i) / cast(count, sum.dtype()); });
}

te::Indices at_kept(te::Indices indices, const std::vector<size_t>& axes) {
  for (size_t axis : axes) indices[axis] = int_imm(0);
  return indices;
}

te::Tensor variance_stage(const te::Tensor& x, const te::Tensor& kept_mean,
                          const std::vector<size_t>& axes, bool keep) {
  return mean_stage(x, axes, keep, "variance", [&](const te::Indices& i) {
    const PrimExpr distance = cast(x(i), kept_mean.dtype()) - kept_mean(at_kept(i, axes));
    return distance * distance;
  });
}

namespace {

using Reducer = PrimExpr (*)(const PrimExpr&, std::span<const te::ReduceAxis>);

/// `identity` is the value of no items.
template <Reducer reducer, int identity>
Expr reduce(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const ReducedSpace space(x.shape(), kernel.axes("axis", x.rank()), kernel.flag("keepdims"));
  const DLDataType type = wrapping_type(accumulator_type(x.dtype()));
  const te::Tensor result = te::compute(space.shape(), kernel.name(), [&](const te::Indices& i) {
    if (space.is_empty()) return number(identity, type);
    return reducer(cast(x(space.source(i)), type), space.axes());
  });
  return kernel.finish(cast_stage(result, kernel.dtype()));
}

/// Of no items there is no extreme.
template <Reducer reducer>
Expr extreme(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const ReducedSpace space(x.shape(), kernel.axes("axis", x.rank()), kernel.flag("keepdims"));
  if (space.is_empty()) return call;
  const DLDataType type = is_boolean(x.dtype()) ? int8 : x.dtype();
  const te::Tensor result = te::compute(space.shape(), kernel.name(), [&](const te::Indices& i) {
    return reducer(cast(x(space.source(i)), type), space.axes());
  });
  return kernel.finish(cast_stage(result, kernel.dtype()));
}

template <bool greatest>
Expr arg_extreme(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  std::vector<size_t> axes;
  if (kernel.has("axis")) {
    axes = {kernel.axis("axis", x.rank())};
  } else {
    for (size_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  }
  const ReducedSpace space(x.shape(), axes, kernel.flag("keepdims"));
  if (space.is_empty()) return call;
  if (space.axes().empty()) {
    return kernel.finish(te::compute(kernel.shape(), kernel.name(), [&](const te::Indices&) {
      return number(0, kernel.dtype());
    }));
  }
  const DLDataType type = is_boolean(x.dtype()) ? int8 : x.dtype();
  const auto pair =
      te::compute_together(space.shape(), kernel.name() + "_pair", [&](const te::Indices& i) {
        return te::arg_extreme(cast(x(space.source(i)), type),
                               cast(space.position(), kernel.dtype()), greatest, space.axes());
      });
  return kernel.finish(
      te::compute(space.shape(), kernel.name(), [&](const te::Indices& i) { return pair[1](i); }));
}

/// The mean of integers is one of their type, though their sum may not be.
Expr mean(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  DLDataType type = accumulator_type(x.dtype());
  if (!is_float(type)) type.bits = 64;
  const te::Tensor result =
      mean_stage(x, kernel.axes("axis", x.rank()), kernel.flag("keepdims"), "mean",
                 [&](const te::Indices& i) { return cast(x(i), type); });
  return kernel.finish(cast_stage(result, kernel.dtype()));
}

template <bool take_root>
Expr variance(ObjectRef builder, Expr call) {
  KernelCall kernel(builder, call);
  const te::Tensor x = kernel.input(0);
  const std::vector<size_t> axes = kernel.axes("axis", x.rank());
  const DLDataType type = accumulator_type(x.dtype());
  const te::Tensor mean =
      mean_stage(x, axes, true, "mean", [&](const te::Indices& i) { return cast(x(i), type); });
  te::Tensor result = variance_stage(x, mean, axes, kernel.flag("keepdims"));
  if (take_root) {
    result = te::compute(result.shape(), "std",
                         [x = result](const te::Indices& i) { return sqrt(x(i)); });
  }
  return kernel.finish(cast_stage(result, kernel.dtype()));
}

constexpr LegalisationRow kRows[] = {
    {"relax.argmax", arg_extreme<true>},
    {"relax.argmin", arg_extreme<false>},
    {"relax.max", extreme<te::maximum>},
    {"relax.mean", mean},
    {"relax.min", extreme<te::minimum>},
    {"relax.prod", reduce<te::prod, 1>},
    {"relax.std", variance<true>},
    {"relax.sum", reduce<te::sum, 0>},
    {"relax.variance", variance<false>},

    {"relax.nn.log_softmax", log_softmax},
    {"relax.nn.softmax", softmax},

    {"relax.argsort", argsort},
    {"relax.cumprod", cumulate},
    {"relax.cumsum", cumulate},
    {"relax.sort", sort},
    {"relax.topk", topk},
};

}  // namespace

std::span<const LegalisationRow> reduce_kernels() { return kRows; }

}  // namespace nnef_tvm
