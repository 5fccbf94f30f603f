#include "compile/passes/simplify.h"

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

bool same_type(const Expr& a, const Expr& b) {
  const auto shape = known_shape(a);
  return shape && shape == known_shape(b) && dtype_of(a) == dtype_of(b);
}

/// Whether a constant float32 tensor has this value throughout.
bool is_constant_of(const Expr& expr, float wanted) {
  if (type_key(expr) != "ir.GenericConst") return false;
  const auto value = field(expr, "value").as<ffi::Tensor>();
  constexpr int64_t kFewItems = 4096;
  if (!value || !(value->dtype() == float32) || value->numel() > kFewItems) return false;
  const auto* items = static_cast<const float*>(value->data_ptr());
  return std::all_of(items, items + value->numel(), [&](float item) { return item == wanted; });
}

/// The item of a constant integer tensor of one item.
std::optional<int64_t> integer_value(const Expr& expr) {
  if (type_key(expr) != "ir.GenericConst") return std::nullopt;
  const auto value = field(expr, "value").as<ffi::Tensor>();
  if (!value || value->numel() != 1) return std::nullopt;
  if (value->dtype() == int64) return *static_cast<const int64_t*>(value->data_ptr());
  if (value->dtype() == int32) return *static_cast<const int32_t*>(value->data_ptr());
  return std::nullopt;
}

/// The operand that the other, of this value, leaves as it is.
Expr without_neutral(const Expr& call, float neutral, bool either_side) {
  const Array<Expr> args = args_of(call);
  if (is_constant_of(args[1], neutral) && same_type(call, args[0])) return args[0];
  if (either_side && is_constant_of(args[0], neutral) && same_type(call, args[1])) return args[1];
  return Expr();
}

Expr drop_addition(const Definitions&, const Expr& call) { return without_neutral(call, 0, true); }
Expr drop_subtraction(const Definitions&, const Expr& call) {
  return without_neutral(call, 0, false);
}
Expr drop_multiplication(const Definitions&, const Expr& call) {
  return without_neutral(call, 1, true);
}
Expr drop_division(const Definitions&, const Expr& call) { return without_neutral(call, 1, false); }

/// Operators that leave the items in their order.
constexpr std::array<std::string_view, 4> kReshapes = {"relax.reshape", "relax.flatten",
                                                       "relax.expand_dims", "relax.squeeze"};

bool is_reshape(const Expr& call) {
  const std::string op = operator_name(call);
  return std::find(kReshapes.begin(), kReshapes.end(), op) != kReshapes.end();
}

Expr simplify_reshape(const Definitions& definitions, const Expr& call) {
  const Expr x = args_of(call)[0];
  const auto shape = known_shape(call);
  if (!shape) return Expr();
  if (same_type(call, x)) return x;
  const Expr before = definitions.call_of(x);
  return before.defined() && is_reshape(before) ? relax::reshape(args_of(before)[0], *shape)
                                                : Expr();
}

/// The axes of a transposition, counted from the front; the reverse order where none are given.
Ints axes_of(const Expr& call, size_t rank) {
  Ints axes(rank);
  std::iota(axes.rbegin(), axes.rend(), 0);
  const auto given = field<ffi::Optional<Array<int64_t>>>(field<ObjectRef>(call, "attrs"), "axes");
  if (!given) return axes;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t axis = (*given)[static_cast<int64_t>(i)];
    axes[i] = axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
  }
  return axes;
}

bool keeps_order(const Ints& axes, const Ints& shape) {
  int64_t last = -1;
  for (int64_t axis : axes) {
    if (shape[axis] == 1) continue;
    if (axis < last) return false;
    last = axis;
  }
  return true;
}

Expr simplify_transposition(const Definitions& definitions, const Expr& call) {
  const Expr x = args_of(call)[0];
  const auto shape = known_shape(x);
  if (!shape) return Expr();
  Ints axes = axes_of(call, shape->size());
  if (std::is_sorted(axes.begin(), axes.end())) return x;
  if (keeps_order(axes, *shape)) return relax::reshape(x, *known_shape(call));
  const Expr before = definitions.call_of(x);
  if (operator_name(before) != "relax.permute_dims") return Expr();
  const Ints inner = axes_of(before, shape->size());
  for (int64_t& axis : axes) axis = inner[axis];
  return relax::permute_dims(args_of(before)[0], axes);
}

Expr drop_broadcast(const Definitions&, const Expr& call) {
  const Expr x = args_of(call)[0];
  return same_type(call, x) ? x : Expr();
}

Expr drop_slice(const Definitions&, const Expr& call) {
  const Array<Expr> args = args_of(call);
  if (!same_type(call, args[0])) return Expr();
  constexpr int64_t kStrides = 4;  // absent: all one
  if (static_cast<int64_t>(args.size()) <= kStrides) return args[0];
  for (const Expr& stride : field<Array<Expr>>(args[kStrides], "fields")) {
    if (type_key(stride) != "ir.IntImm" || field<int64_t>(stride, "value") != 1) return Expr();
  }
  return args[0];
}

Expr drop_concatenation(const Definitions&, const Expr& call) {
  const Expr items = args_of(call)[0];
  if (type_key(items) != "ir.Tuple") return Expr();
  const auto fields = field<Array<Expr>>(items, "fields");
  return fields.size() == 1 ? fields[0] : Expr();
}

/// The extents of a tensor as a tensor, where they are known.
Expr fold_shape(const Definitions&, const Expr& call) {
  const auto values =
      field<ffi::Optional<Array<Expr>>>(type_of(args_of(call)[0]), "values").value_or({});
  std::vector<double> extents;
  for (const Expr& extent : values) {
    if (type_key(extent) != "ir.IntImm") return Expr();
    extents.push_back(static_cast<double>(field<int64_t>(extent, "value")));
  }
  const auto shape = known_shape(call);
  return shape && shape->size() == 1 && (*shape)[0] == static_cast<int64_t>(extents.size())
             ? constant(extents, *shape, int64)
             : Expr();
}

/// The items of a constant int64 tensor; nullopt for any other expression.
std::optional<Ints> constant_integers(const Expr& expr) {
  if (type_key(expr) != "ir.GenericConst") return std::nullopt;
  const auto value = field(expr, "value").as<ffi::Tensor>();
  if (!value || !(value->dtype() == int64)) return std::nullopt;
  const auto* items = static_cast<const int64_t*>(value->data_ptr());
  return Ints(items, items + value->numel());
}

/// A slice whose bounds turned out to be constants.
Expr static_slice(const Definitions&, const Expr& call) {
  const Array<Expr> args = args_of(call);
  const auto begin = constant_integers(args[1]);
  const auto end = constant_integers(args[2]);
  const auto stride = constant_integers(args[3]);
  if (!begin || !end || !stride) return Expr();
  Ints axes(begin->size());
  std::iota(axes.begin(), axes.end(), 0);
  return relax::strided_slice(args[0], axes, *begin, *end, *stride);
}

/// One place of an axis, by a constant index, is a slice: it needs no index at run time, and
/// layouts and fusion see through it.
Expr slice_for_take(const Definitions&, const Expr& call) {
  const Array<Expr> args = args_of(call);
  const auto shape = known_shape(args[0]);
  const auto result = known_shape(call);
  const auto axis = field<ffi::Optional<int64_t>>(field<ObjectRef>(call, "attrs"), "axis");
  const auto position = integer_value(args[1]);
  if (!shape || !result || !axis || !position || shape->size() < 2) return Expr();
  const auto place = static_cast<size_t>(*axis < 0 ? *axis + shape->size() : *axis);
  // What an index outside the axis means depends on the mode.
  if (*position < 0 || *position >= (*shape)[place]) return Expr();
  const auto axis_index = static_cast<int64_t>(place);
  return relax::reshape(
      relax::strided_slice(args[0], {axis_index}, {*position}, {*position + 1}, {1}), *result);
}

/// Whether every value of one type is one of the other.
bool is_widening(DLDataType from, DLDataType to) {
  return from.code == to.code && from.code != kDLBool && from.bits <= to.bits;
}

Expr simplify_cast(const Definitions& definitions, const Expr& call) {
  const Expr x = args_of(call)[0];
  if (!known_shape(x)) return Expr();
  if (dtype_of(x) == dtype_of(call)) return x;
  const Expr before = definitions.call_of(x);
  if (operator_name(before) != "relax.astype") return Expr();
  const Expr origin = args_of(before)[0];
  return is_widening(dtype_of(origin), dtype_of(x)) ? relax::astype(origin, dtype_of(call))
                                                    : Expr();
}

constexpr RewriteRule kRules[] = {
    {"relax.add", drop_addition},
    {"relax.subtract", drop_subtraction},
    {"relax.multiply", drop_multiplication},
    {"relax.divide", drop_division},
    {"relax.reshape", simplify_reshape},
    {"relax.flatten", simplify_reshape},
    {"relax.expand_dims", simplify_reshape},
    {"relax.squeeze", simplify_reshape},
    {"relax.permute_dims", simplify_transposition},
    {"relax.broadcast_to", drop_broadcast},
    {"relax.dynamic_strided_slice", static_slice},
    {"relax.shape_to_tensor", fold_shape},
    {"relax.strided_slice", drop_slice},
    {"relax.take", slice_for_take},
    {"relax.concat", drop_concatenation},
    {"relax.astype", simplify_cast},
};

}  // namespace

IRModule simplify(const IRModule& module) { return rewrite_bindings(module, "main", kRules); }

}  // namespace nnef_tvm
