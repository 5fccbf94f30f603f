#include "compile/kernels/winograd.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "compile/kernels/window.h"
#include "compile/schedule/cpu/winograd_plan.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

constexpr int64_t kWindow = 3;

// TVM's kinds of operators, as far as fusion asks.
constexpr int64_t kTakesElementwise = 4;
constexpr int64_t kOpaque = 8;

using Row = std::vector<double>;

/// One dimension of the method: Y = output [(weight g) * (input d)], for each tile.
struct Matrices {
  int64_t tile;
  std::vector<Row> input;   ///< patch x patch
  std::vector<Row> weight;  ///< patch x 3
  std::vector<Row> output;  ///< tile x patch
  /// Columns whose terms several rows share, up to a factor.
  std::vector<std::vector<size_t>> input_groups;
  std::vector<std::vector<size_t>> output_groups;
};

const Matrices& matrices(int64_t tile) {
  // Points 0, 1, -1, infinity.
  static const Matrices small = {2,
                                 {{1, 0, -1, 0}, {0, 1, 1, 0}, {0, -1, 1, 0}, {0, 1, 0, -1}},
                                 {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}},
                                 {{1, 1, 1, 0}, {0, 1, -1, -1}},
                                 {{0, 1, 2, 3}},
                                 {{0}, {1, 2}, {3}}};
  // Points 0, 1, -1, 2, -2, infinity.
  static const Matrices large = {
      4,
      {{4, 0, -5, 0, 1, 0},
       {0, -4, -4, 1, 1, 0},
       {0, 4, -4, -1, 1, 0},
       {0, -2, -1, 2, 1, 0},
       {0, 2, -1, -2, 1, 0},
       {0, 4, 0, -5, 0, 1}},
      {{1.0 / 4, 0, 0},
       {-1.0 / 6, -1.0 / 6, -1.0 / 6},
       {-1.0 / 6, 1.0 / 6, -1.0 / 6},
       {1.0 / 24, 1.0 / 12, 1.0 / 6},
       {1.0 / 24, -1.0 / 12, 1.0 / 6},
       {0, 0, 1}},
      {{1, 1, 1, 1, 1, 0}, {0, 1, -1, 2, -2, 0}, {0, 1, 1, 4, 4, 0}, {0, 1, -1, 8, -8, 1}},
      {{0, 2, 4}, {1, 3, 5}},
      {{0}, {1, 2}, {3, 4}, {5}}};
  return tile == 2 ? small : large;
}

using Item = std::function<PrimExpr(int64_t)>;

/// sum + factor * term
PrimExpr plus(const PrimExpr& sum, double factor, const PrimExpr& term) {
  if (factor == 1) return sum.defined() ? sum + term : term;
  if (factor == -1 && sum.defined()) return sum - term;
  return sum.defined() ? sum + term * factor : term * factor;
}

/// The terms of a row that are not zero, group by group; each group is scaled to begin with factor
/// one, so that equal groups of several rows are equal expressions.
PrimExpr combination(const Row& row, const std::vector<std::vector<size_t>>& groups,
                     const Item& item) {
  PrimExpr sum;
  for (const std::vector<size_t>& group : groups) {
    double lead = 0;
    PrimExpr part;
    for (size_t column : group) {
      if (row[column] == 0) continue;
      if (lead == 0) lead = row[column];
      part = plus(part, row[column] / lead, item(static_cast<int64_t>(column)));
    }
    if (lead != 0) sum = plus(sum, lead, part);
  }
  return sum;
}

/// The row of the matrix that `index` names, applied to the items. Schedules unroll the index,
/// which leaves one of the rows.
PrimExpr transformed(const std::vector<Row>& matrix, const std::vector<std::vector<size_t>>& groups,
                     const PrimExpr& index, const Item& item) {
  PrimExpr value = combination(matrix.back(), groups, item);
  for (size_t row = matrix.size() - 1; row-- > 0;) {
    value =
        select(eq(index, static_cast<int64_t>(row)), combination(matrix[row], groups, item), value);
  }
  return value;
}

/// One convolution on its way to two kernels.
struct Convolution {
  WinogradPlan plan;
  std::vector<WindowAxis> window;
  std::vector<int64_t> input;   ///< NHWC
  std::vector<int64_t> result;  ///< NHWC

  int64_t channels() const { return input[3]; }
  int64_t outputs() const { return result[3]; }
  int64_t pieces() const { return (outputs() + plan.width() - 1) / plan.width(); }
};

te::Shape shape(const std::vector<int64_t>& extents) {
  te::Shape shape;
  for (int64_t extent : extents) shape.push_back(int_imm(extent));
  return shape;
}

/// HWIO to [patch * patch, pieces of the outputs, channels, outputs in a piece].
te::Tensor transformed_weight(const te::Tensor& weight, const Convolution& conv) {
  const Matrices& method = matrices(conv.plan.tile);
  const int64_t patch = conv.plan.patch();
  const int64_t width = conv.plan.width();
  const std::vector<std::vector<size_t>> whole = {{0, 1, 2}};
  const te::Tensor rows =
      te::compute(shape({patch, kWindow, conv.channels(), conv.outputs()}), "winograd_weight_rows",
                  [&](const te::Indices& i) {
                    return transformed(method.weight, whole, i[0], [&](int64_t r) {
                      return weight({int_imm(r), i[1], i[2], i[3]});
                    });
                  });
  return te::compute(shape({patch * patch, conv.pieces(), conv.channels(), width}),
                     "winograd_weight", [&](const te::Indices& i) {
                       const PrimExpr output = i[1] * width + i[3];
                       const PrimExpr value =
                           transformed(method.weight, whole, floormod(i[0], patch), [&](int64_t s) {
                             return rows({floordiv(i[0], patch), int_imm(s), i[2], output});
                           });
                       if (conv.outputs() % width == 0) return value;
                       return if_then_else(lt(output, conv.outputs()), value, number(0, float32));
                     });
}

/// The patches of all tiles, transformed: [blocks, patch, patch, tiles, channels].
te::Tensor transformed_input(const te::Tensor& x, const Convolution& conv) {
  const WinogradPlan& plan = conv.plan;
  const Matrices& method = matrices(plan.tile);
  const int64_t patch = plan.patch();
  const te::Tensor patches =
      te::compute(shape({plan.blocks, plan.block_tiles, patch, patch, conv.channels()}),
                  winograd_stage::kPatch, [&](const te::Indices& i) {
                    const PrimExpr row = i[0] * plan.block_rows + floordiv(i[1], plan.tile_columns);
                    const bool one_image = conv.input[0] == 1;
                    const PrimExpr image = one_image ? int_imm(0) : floordiv(row, plan.tile_rows);
                    const PrimExpr tile_row = one_image ? row : floormod(row, plan.tile_rows);
                    const PrimExpr h = tile_row * plan.tile + i[2] - conv.window[0].before;
                    const PrimExpr w = floormod(i[1], plan.tile_columns) * plan.tile + i[3] -
                                       conv.window[1].before;
                    std::vector<PrimExpr> inside = {ge(h, 0), lt(h, conv.input[1]), ge(w, 0),
                                                    lt(w, conv.input[2])};
                    if (plan.used_tiles() < plan.block_tiles)
                      inside.push_back(lt(i[1], plan.used_tiles()));
                    return if_then_else(all_of(inside), x({image, h, w, i[4]}), number(0, float32));
                  });
  const te::Tensor rows =
      te::compute(patches.shape(), winograd_stage::kInputRows, [&](const te::Indices& i) {
        return transformed(method.input, method.input_groups, i[2], [&](int64_t r) {
          return patches({i[0], i[1], int_imm(r), i[3], i[4]});
        });
      });
  return te::compute(shape({plan.blocks, patch, patch, plan.block_tiles, conv.channels()}),
                     winograd_stage::kInput, [&](const te::Indices& i) {
                       return transformed(method.input, method.input_groups, i[2], [&](int64_t s) {
                         return rows({i[0], i[3], i[1], int_imm(s), i[4]});
                       });
                     });
}

/// [blocks, patch * patch, tiles, outputs] with the outputs filled up to whole pieces.
te::Tensor product(const te::Tensor& input, const te::Tensor& weight, const Convolution& conv) {
  const int64_t patch = conv.plan.patch();
  const int64_t width = conv.plan.width();
  const te::ReduceAxis channel = te::reduce_axis(int_imm(conv.channels()), "ic");
  return te::compute(
      shape({conv.plan.blocks, patch * patch, conv.plan.block_tiles, conv.pieces() * width}),
      winograd_stage::kProduct, [&](const te::Indices& i) {
        const PrimExpr item =
            input({i[0], floordiv(i[1], patch), floormod(i[1], patch), i[2], channel.index});
        return te::sum(
            item * weight({i[1], floordiv(i[3], width), channel.index, floormod(i[3], width)}),
            {&channel, 1});
      });
}

/// Back to NHWC.
te::Tensor transformed_output(const te::Tensor& products, const Convolution& conv) {
  const WinogradPlan& plan = conv.plan;
  const Matrices& method = matrices(plan.tile);
  const int64_t patch = plan.patch();
  const te::Tensor rows =
      te::compute(shape({plan.blocks, plan.block_tiles, plan.tile, patch, conv.outputs()}),
                  winograd_stage::kOutputRows, [&](const te::Indices& i) {
                    return transformed(method.output, method.output_groups, i[2], [&](int64_t r) {
                      return products({i[0], i[3] + r * patch, i[1], i[4]});
                    });
                  });
  const te::Tensor tiles =
      te::compute(shape({plan.blocks, plan.block_tiles, plan.tile, plan.tile, conv.outputs()}),
                  winograd_stage::kOutput, [&](const te::Indices& i) {
                    return transformed(method.output, method.output_groups, i[3], [&](int64_t s) {
                      return rows({i[0], i[1], i[2], int_imm(s), i[4]});
                    });
                  });
  return te::compute(shape(conv.result), "conv2d_nhwc", [&](const te::Indices& i) {
    const PrimExpr row = i[0] * plan.tile_rows + floordiv(i[1], plan.tile);
    const bool one_block = plan.blocks == 1;
    const PrimExpr block = one_block ? int_imm(0) : floordiv(row, plan.block_rows);
    const PrimExpr block_row = one_block ? row : floormod(row, plan.block_rows);
    return tiles({block, block_row * plan.tile_columns + floordiv(i[2], plan.tile),
                  floormod(i[1], plan.tile), floormod(i[2], plan.tile), i[3]});
  });
}

PrimFunc kernel(const std::vector<te::Tensor>& parameters, int64_t kind) {
  Array<ObjectRef> handles;
  for (const te::Tensor& parameter : parameters) handles.push_back(parameter.handle());
  return as<PrimFunc>(with_function_attr(te::prim_func(handles), "op_pattern", kind));
}

std::optional<std::vector<int64_t>> known_extents(const te::Shape& shape) {
  std::vector<int64_t> extents;
  for (const PrimExpr& extent : shape) {
    const auto known = known_int(extent);
    if (!known || *known == 0) return std::nullopt;
    extents.push_back(*known);
  }
  return extents;
}

/// The convolution without a plan; nullopt when the method cannot do it.
std::optional<Convolution> suitable(const KernelCall& kernel, const te::Tensor& x,
                                    const te::Tensor& weight) {
  const bool layouts = kernel.text("data_layout") == "NHWC" &&
                       kernel.text("kernel_layout") == "HWIO" &&
                       kernel.text("out_layout") == "NHWC";
  const bool types = x.dtype() == float32 && weight.dtype() == float32 && kernel.dtype() == float32;
  if (!layouts || !types || kernel.integer("groups") != 1) return std::nullopt;
  if (!is_known(weight.extent(0), kWindow) || !is_known(weight.extent(1), kWindow)) {
    return std::nullopt;
  }
  const auto input = known_extents(x.shape());
  const auto result = known_extents(kernel.shape());
  if (!input || !result || !is_known(weight.extent(2), (*input)[3])) return std::nullopt;
  Convolution conv{{}, window_axes(kernel), *input, *result};
  for (const WindowAxis& axis : conv.window) {
    if (axis.stride != 1 || axis.dilation != 1) return std::nullopt;
  }
  return conv;
}

/// What is known when the model is compiled: constants, parameters after the inputs, and what is
/// computed of these alone.
class Weights {
 public:
  explicit Weights(const Expr& function) {
    const auto count = function_attr(function, "num_input");
    const auto params = field<Array<Var>>(function, "params");
    for (size_t i = count ? static_cast<size_t>(count->cast<int64_t>()) : params.size();
         i < params.size(); ++i) {
      params_.insert(params[i].get());
    }
  }

  bool contain(const ObjectRef& builder, const Expr& expr) const {
    const std::string key = type_key(expr);
    if (key == "ir.GenericConst" || params_.count(expr.get()) > 0) return true;
    if (key == "ir.Call") {
      const auto args = field<Array<Expr>>(expr, "args");
      return std::all_of(args.begin(), args.end(),
                         [&](const Expr& arg) { return contain(builder, arg); });
    }
    if (key != "ir.Var" && key != "relax.expr.DataflowVar") return false;
    const auto bound = te::binding_of(builder, expr);
    return bound.has_value() && contain(builder, *bound);
  }

 private:
  std::unordered_set<const ffi::Object*> params_;
};

Expr winograd(const ObjectRef& builder, const Expr& call, const Weights& weights,
              const WinogradChoice& choose) {
  if (!has_known_types(call)) return call;
  KernelCall relax_call(builder, call);
  if (!weights.contain(builder, relax_call.arg(1))) return call;
  const te::Tensor x = relax_call.input(0);
  const te::Tensor weight = relax_call.input(1);
  std::optional<Convolution> conv = suitable(relax_call, x, weight);
  if (!conv) return call;
  const auto plan = choose(
      {conv->result[0], conv->result[1], conv->result[2], conv->channels(), conv->outputs()});
  if (!plan) return call;
  conv->plan = *plan;

  const te::Tensor made = transformed_weight(weight, *conv);
  const std::vector<int64_t> extents = *known_extents(made.shape());
  const Expr ready =
      te::emit(builder, te::call_kernel(builder, kernel({weight, made}, kOpaque), "winograd_weight",
                                        {relax_call.arg(1)}, {tensor_type(extents, float32)}));
  const te::Tensor taken = te::placeholder(made.shape(), float32, "weight");
  const te::Tensor result =
      transformed_output(product(transformed_input(x, *conv), taken, *conv), *conv);
  return te::call_kernel(builder, kernel({x, taken, result}, kTakesElementwise), "winograd_conv2d",
                         {relax_call.arg(0), ready}, {type_of(call)});
}

}  // namespace

IRModule use_winograd(const IRModule& module, const std::string& entry,
                      const WinogradChoice& choose) {
  const Weights weights(find_function(module, entry));
  const auto legalise = [=](ObjectRef builder, Expr call) {
    return winograd(builder, call, weights, choose);
  };
  return run_pass(
      relax_pass::legalize_ops({{"relax.nn.conv2d", ffi::Function::FromTyped(legalise)}}), module);
}

}  // namespace nnef_tvm
