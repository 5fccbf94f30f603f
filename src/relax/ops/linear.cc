#include <algorithm>
#include <numeric>
#include <utility>

#include "relax/lowering.h"

namespace nnef_tvm {
namespace {

using namespace relax::operators;

/// Exchanges the last two axes.
Expr transpose_matrix(Expr x, size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[rank - 2], axes[rank - 1]);
  return relax::permute_dims(std::move(x), axes);
}

Expr lower_matmul(const LoweringContext& op) {
  const size_t rank = op.rank("A");
  Expr a = op.input("A");
  Expr b = op.input("B");
  if (rank == 1) return relax::squeeze(relax::sum(a * b, {0}), {0});
  if (op.logical("transposeA")) a = transpose_matrix(a, rank);
  if (op.logical("transposeB")) b = transpose_matrix(b, rank);
  return relax::matmul(a, b);
}

Expr lower_linear(const LoweringContext& op) {
  const size_t rank = op.rank("input");
  const Expr product =
      relax::matmul(op.input("input"), transpose_matrix(op.input("filter"), op.rank("filter")));
  const double* bias = op.literal_scalar("bias");
  if (bias != nullptr && *bias == 0) return product;
  // A bias of rank 1 is one item for each output, as some converters write it.
  return product + (op.rank("bias") == 1 ? op.input("bias") : op.input("bias", rank));
}

/// Over several axes together where TVM knows one; over none, each item is a whole.
Expr lower_softmax(const LoweringContext& op) {
  const Ints axes = op.integers("axes");
  const Expr x = op.input("x");
  if (axes.empty()) return relax::full(op.result_dims(), op.number(1), op.real());
  if (axes.size() == 1) return relax::softmax(x, axes.front());
  const Expr raised = op.let(relax::exp(x - relax::max(x, axes)));
  return raised / relax::sum(raised, axes);
}

/// As one multiplication and one addition, whose operands constant folding computes ahead.
Expr lower_batch_normalization(const LoweringContext& op) {
  const size_t rank = std::max({op.rank("input"), op.rank("mean"), op.rank("variance"),
                                op.rank("offset"), op.rank("scale")});
  const Expr deviation = relax::sqrt(op.input("variance", rank) + op.number(op.scalar("epsilon")));
  const Expr scale = op.let(op.input("scale", rank) / deviation);
  return op.input("input", rank) * scale +
         (op.input("offset", rank) - op.input("mean", rank) * scale);
}

constexpr LoweringRow rows[] = {
    {"matmul", lower_matmul},
    {"linear", lower_linear},
    {"softmax", lower_softmax},
    {"batch_normalization", lower_batch_normalization},
};

}  // namespace

std::span<const LoweringRow> linear_lowerings() { return rows; }

}  // namespace nnef_tvm
