#include "compile/work.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tvm/bindings.h"
#include "tvm/ir.h"

namespace nnef_tvm {
namespace {

using Extents = std::vector<int64_t>;

double items(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>());
}

/// Operators that only move items.
constexpr std::array<std::string_view, 24> kMoves = {"relax.astype",
                                                     "relax.broadcast_to",
                                                     "relax.concat",
                                                     "relax.expand_dims",
                                                     "relax.flatten",
                                                     "relax.flip",
                                                     "relax.gather_nd",
                                                     "relax.gather_elements",
                                                     "relax.layout_transform",
                                                     "relax.nn.batch_flatten",
                                                     "relax.nn.pad",
                                                     "relax.nn.pixel_shuffle",
                                                     "relax.one_hot",
                                                     "relax.permute_dims",
                                                     "relax.repeat",
                                                     "relax.reshape",
                                                     "relax.scatter_elements",
                                                     "relax.split",
                                                     "relax.squeeze",
                                                     "relax.stack",
                                                     "relax.strided_slice",
                                                     "relax.take",
                                                     "relax.tile",
                                                     "relax.full"};

std::string layout(const Expr& call, const char* attribute) {
  return field<String>(field<ObjectRef>(call, "attrs"), attribute);
}

/// Each item of the result (of the operand, for a transposed one) meets the weights of one channel.
double convolution_work(const Expr& call, bool transposed) {
  const Array<Expr> args = args_of(call);
  const auto side = known_shape(transposed ? args[0] : call);
  const auto weight = known_shape(args[1]);
  if (!side || !weight) return 0;
  const size_t channels = layout(call, "kernel_layout").find(transposed ? 'I' : 'O');
  if (channels >= weight->size() || (*weight)[channels] == 0) return 0;
  return 2 * items(*side) * items(*weight) / static_cast<double>((*weight)[channels]);
}

double product_work(const Expr& call) {
  const auto result = known_shape(call);
  const auto first = known_shape(args_of(call)[0]);
  return result && first && !first->empty()
             ? 2 * items(*result) * static_cast<double>(first->back())
             : 0;
}

void add_bytes(const Type& type, uint64_t& bytes) {
  if (type_key(type) == "ir.TupleType") {
    for (const Type& item : field<Array<Type>>(type, "fields")) add_bytes(item, bytes);
  }
  const auto shape = known_shape(type);
  if (!shape) return;
  const auto dtype = field<DLDataType>(field<ObjectRef>(type, "dtype"), "dtype");
  bytes += static_cast<uint64_t>(items(*shape) * dtype.bits * dtype.lanes / 8);
}

}  // namespace

double work_of(const Expr& call) {
  const std::string op = operator_name(call);
  if (op.empty() || op.starts_with("relax.builtin.") ||
      std::find(kMoves.begin(), kMoves.end(), op) != kMoves.end()) {
    return 0;
  }
  if (op.starts_with("relax.nn.conv")) {
    return convolution_work(call, op.ends_with("_transpose"));
  }
  if (op == "relax.matmul") return product_work(call);
  double most = 0;
  if (const auto shape = known_shape(call)) most = items(*shape);
  for (const Expr& arg : args_of(call)) {
    if (const auto shape = known_shape(arg)) most = std::max(most, items(*shape));
  }
  return most;
}

uint64_t bytes_of(const Expr& call) {
  uint64_t bytes = 0;
  for (const Expr& arg : args_of(call)) {
    if (type_key(arg) != "ir.GlobalVar") add_bytes(type_of(arg), bytes);
  }
  add_bytes(type_of(call), bytes);
  return bytes;
}

}  // namespace nnef_tvm
