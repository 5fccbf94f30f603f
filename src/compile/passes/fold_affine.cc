#include "compile/passes/fold_affine.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <string_view>

#include "compile/passes/rewrite.h"
#include "tvm/bindings.h"
#include "tvm/ir.h"
#include "tvm/relax.h"

namespace nnef_tvm {
namespace {

using relax::Ints;

int64_t item_count(const Ints& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

/// What every item, or every item of one channel, is multiplied with.
struct Factor {
  Expr value;
  bool divides = false;
  Ints shape;
  std::optional<size_t> axis;  ///< of the result; all items alike when there is none

  Expr applied(const Expr& x, const Expr& factor) const {
    return divides ? relax::divide(x, factor) : relax::multiply(x, factor);
  }
  /// `x` times the factor's items along an axis of `x` (of so many axes), or times its one item.
  Expr along(const Expr& x, size_t rank, size_t x_axis) const {
    Ints extents(axis ? rank : 0, 1);
    if (axis) extents[x_axis] = item_count(shape);
    return applied(x, relax::reshape(value, extents));
  }
};

/// Whether `small`, aligned to the right, broadcasts to `large` without making it larger.
bool broadcasts_into(const Ints& small, const Ints& large) {
  if (small.size() > large.size()) return false;
  const size_t missing = large.size() - small.size();
  for (size_t i = 0; i < small.size(); ++i) {
    if (small[i] != 1 && small[i] != large[i + missing]) return false;
  }
  return true;
}

/// A weight as a factor of `x`: at most one of its axes has more than one item.
std::optional<Factor> factor_of(const Expr& x, const Expr& value, bool divides) {
  const auto large = known_shape(x);
  const auto small = known_shape(value);
  if (!large || !small || !broadcasts_into(*small, *large)) return std::nullopt;
  if (dtype_of(x).code != kDLFloat || !(dtype_of(x) == dtype_of(value))) return std::nullopt;
  Factor factor{value, divides, *small, std::nullopt};
  for (size_t i = 0; i < small->size(); ++i) {
    if ((*small)[i] == 1) continue;
    if (factor.axis) return std::nullopt;
    factor.axis = i + large->size() - small->size();
  }
  return factor;
}

/// Multiplies what an expression stands for, in the weights of the operators that made it;
/// undefined when that is not possible.
class Scaling {
 public:
  Scaling(const Definitions& definitions, const Factor& factor)
      : definitions_(definitions), factor_(factor) {}

  Expr scaled(const Expr& x) const {
    const Expr call = definitions_.call_of(x);
    if (!call.defined() || !definitions_.used_once(x)) return Expr();
    const std::string op = operator_name(call);
    for (const Row& row : kRows) {
      if (op == row.op) return (this->*row.scale)(call);
    }
    return Expr();
  }

 private:
  struct Row {
    std::string_view op;
    Expr (Scaling::*scale)(const Expr& call) const;
  };
  static const std::array<Row, 16> kRows;

  static std::string layout(const Expr& call, const char* name) {
    return field<String>(field<ObjectRef>(call, "attrs"), name);
  }

  /// Whether the factor, if it is one of channels, is one of this operator's.
  bool suits_channels(const Expr& call) const {
    const std::string out = layout(call, "out_layout");
    const size_t channels = (out.empty() ? layout(call, "data_layout") : out).find('C');
    return !factor_.axis || *factor_.axis == channels;
  }

  Expr convolution(const Expr& call) const {
    const Array<Expr> args = args_of(call);
    const auto shape = known_shape(args[1]);
    const size_t outputs = layout(call, "kernel_layout").find('O');
    if (!shape || !definitions_.is_weight(args[1]) || !suits_channels(call)) return Expr();
    if (!same_types(call, args[1])) return Expr();
    if (outputs >= shape->size()) return Expr();
    return with_args(call, {args[0], factor_.along(args[1], shape->size(), outputs)});
  }

  /// Of the weight's outputs, those of each group come together: [inputs, outputs / groups, ...].
  Expr transposed_convolution(const Expr& call) const {
    const Array<Expr> args = args_of(call);
    const auto shape = known_shape(args[1]);
    const std::string kernel = layout(call, "kernel_layout");
    if (!shape || !definitions_.is_weight(args[1]) || !suits_channels(call)) return Expr();
    if (!same_types(call, args[1]) || !kernel.starts_with("IO")) return Expr();
    if (!factor_.axis) return with_args(call, {args[0], factor_.along(args[1], 0, 0)});
    const auto groups = field<int64_t>(field<ObjectRef>(call, "attrs"), "groups");
    Ints grouped{groups, (*shape)[0] / groups, (*shape)[1]};
    grouped.insert(grouped.end(), shape->begin() + 2, shape->end());
    Ints channels(grouped.size(), 1);
    channels[0] = groups;
    channels[2] = (*shape)[1];
    const Expr weight =
        factor_.applied(relax::reshape(args[1], grouped), relax::reshape(factor_.value, channels));
    return with_args(call, {args[0], relax::reshape(weight, *shape)});
  }

  Expr product(const Expr& call) const {
    const Array<Expr> args = args_of(call);
    const auto result = known_shape(call);
    for (size_t side : {1, 0}) {
      const auto shape = known_shape(args[side]);
      if (!shape || !result || shape->size() < 2 || !definitions_.is_weight(args[side])) continue;
      const auto other = known_shape(args[1 - side]);
      if (!other || other->size() < 2 || !same_types(call, args[side])) continue;
      // The result's last axis is the second operand's, the one before it the first operand's.
      if (factor_.axis && *factor_.axis != result->size() - 2 + side) continue;
      Array<Expr> scaled = args;
      scaled.Set(static_cast<int64_t>(side),
                 factor_.along(args[side], shape->size(), shape->size() - 2 + side));
      return with_args(call, scaled);
    }
    for (size_t side : {0, 1}) {
      Array<Expr> scaled = args;
      const Expr operand = factor_.axis ? Expr() : this->scaled(args[side]);
      if (!operand.defined()) continue;
      scaled.Set(static_cast<int64_t>(side), operand);
      return with_args(call, scaled);
    }
    return Expr();
  }

  /// x + weight, weight + x, x - weight.
  Expr sum(const Expr& call) const {
    Array<Expr> args = args_of(call);
    const bool first_is_weight = definitions_.is_weight(args[0]);
    if (first_is_weight == definitions_.is_weight(args[1])) return Expr();
    if (first_is_weight && operator_name(call) == "relax.subtract") return Expr();
    const size_t side = first_is_weight ? 1 : 0;
    const auto shape = known_shape(args[side]);
    if (!shape || *shape != known_shape(call)) return Expr();
    const Expr operand = scaled(args[side]);
    if (!operand.defined()) return Expr();
    args.Set(static_cast<int64_t>(side), operand);
    args.Set(static_cast<int64_t>(1 - side), factor_.applied(args[1 - side], factor_.value));
    return with_args(call, args);
  }

  Expr movement(const Expr& call) const {
    Array<Expr> args = args_of(call);
    const Expr operand = factor_.axis ? Expr() : scaled(args[0]);
    if (!operand.defined()) return Expr();
    args.Set(0, operand);
    return with_args(call, args);
  }

  static bool same_types(const Expr& call, const Expr& weight) {
    return dtype_of(call) == dtype_of(weight);
  }

  const Definitions& definitions_;
  const Factor& factor_;
};

const std::array<Scaling::Row, 16> Scaling::kRows = {{
    {"relax.nn.conv1d", &Scaling::convolution},
    {"relax.nn.conv2d", &Scaling::convolution},
    {"relax.nn.conv3d", &Scaling::convolution},
    {"relax.nn.conv1d_transpose", &Scaling::transposed_convolution},
    {"relax.nn.conv2d_transpose", &Scaling::transposed_convolution},
    {"relax.nn.conv3d_transpose", &Scaling::transposed_convolution},
    {"relax.matmul", &Scaling::product},
    {"relax.add", &Scaling::sum},
    {"relax.subtract", &Scaling::sum},
    {"relax.reshape", &Scaling::movement},
    {"relax.flatten", &Scaling::movement},
    {"relax.expand_dims", &Scaling::movement},
    {"relax.squeeze", &Scaling::movement},
    {"relax.permute_dims", &Scaling::movement},
    {"relax.strided_slice", &Scaling::movement},
    {"relax.broadcast_to", &Scaling::movement},
}};

Expr scaled_by(const Definitions& definitions, const Expr& x, const Expr& weight, bool divides) {
  if (definitions.is_weight(x) || !definitions.is_weight(weight)) return Expr();
  const auto factor = factor_of(x, weight, divides);
  return factor ? Scaling(definitions, *factor).scaled(x) : Expr();
}

Expr fold_multiplication(const Definitions& definitions, const Expr& call) {
  const Array<Expr> args = args_of(call);
  const Expr result = scaled_by(definitions, args[0], args[1], /*divides=*/false);
  return result.defined() ? result : scaled_by(definitions, args[1], args[0], false);
}

Expr fold_division(const Definitions& definitions, const Expr& call) {
  const Array<Expr> args = args_of(call);
  return scaled_by(definitions, args[0], args[1], /*divides=*/true);
}

Expr fold_negation(const Definitions& definitions, const Expr& call) {
  const Expr x = args_of(call)[0];
  if (!known_shape(x) || !(dtype_of(x) == float32)) return Expr();
  return scaled_by(definitions, x, constant(-1, float32), /*divides=*/false);
}

bool is_linear(const std::string& op) {
  return op == "relax.matmul" || op.starts_with("relax.nn.conv");
}

/// x + weight or x - weight, whichever way round a sum has it.
struct Shift {
  Expr x;
  Expr weight;
  bool subtracts = false;
};

std::optional<Shift> shift_of(const Definitions& definitions, const Expr& call) {
  const std::string op = operator_name(call);
  if (op != "relax.add" && op != "relax.subtract") return std::nullopt;
  const Array<Expr> args = args_of(call);
  const bool subtracts = op == "relax.subtract";
  if (definitions.is_weight(args[1])) return Shift{args[0], args[1], subtracts};
  if (definitions.is_weight(args[0]) && !subtracts) return Shift{args[1], args[0], false};
  return std::nullopt;
}

/// Without the axes of one item in front.
Ints core(Ints shape) {
  shape.erase(shape.begin(),
              std::find_if(shape.begin(), shape.end(), [](int64_t extent) { return extent != 1; }));
  return shape;
}

/// linear(...) ± a ± b: linear(...) + (±a ± b). Elsewhere sums stay as they are, since they would
/// be rounded otherwise.
Expr merge_shifts(const Definitions& definitions, const Expr& call) {
  const auto outer = shift_of(definitions, call);
  if (!outer || definitions.is_weight(outer->x) || !definitions.used_once(outer->x)) return Expr();
  const Expr before = definitions.call_of(outer->x);
  const auto inner = before.defined() ? shift_of(definitions, before) : std::nullopt;
  if (!inner || !is_linear(operator_name(definitions.call_of(inner->x)))) return Expr();
  const auto a = known_shape(inner->weight);
  const auto b = known_shape(outer->weight);
  const auto result = known_shape(call);
  if (!a || !b || !result || known_shape(inner->x) != result) return Expr();
  if (dtype_of(call).code != kDLFloat) return Expr();
  // A sum larger than either would cost memory.
  if (core(*a) != core(*b) && item_count(*a) != 1 && item_count(*b) != 1) return Expr();
  const Expr first = inner->subtracts ? relax::negative(inner->weight) : inner->weight;
  return relax::add(inner->x, outer->subtracts ? relax::subtract(first, outer->weight)
                                               : relax::add(first, outer->weight));
}

constexpr RewriteRule kRules[] = {
    {"relax.multiply", fold_multiplication}, {"relax.divide", fold_division},
    {"relax.negative", fold_negation},       {"relax.add", merge_shifts},
    {"relax.subtract", merge_shifts},
};

}  // namespace

IRModule fold_affine(const IRModule& module) { return rewrite_bindings(module, "main", kRules); }

}  // namespace nnef_tvm
