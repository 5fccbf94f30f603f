// Operations of tract that are not element-wise.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "relax/lowering.h"

namespace nnef_tvm {
namespace {

using namespace relax::operators;

Expr lower_shape_of(const LoweringContext& op) {
  const Ints extents = op.extents("input");
  const std::vector<double> items(extents.begin(), extents.end());
  return constant(items, Ints{static_cast<int64_t>(items.size())}, op.whole());
}

Ints swapped_last(size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[rank - 2], axes[rank - 1]);
  return axes;
}

/// 0 where a query may look at a key, minus infinity where the key comes later.
Expr causal_mask(const Ints& shape, DLDataType dtype) {
  std::vector<double> items;
  for (int64_t row = 0; row < shape[0]; ++row) {
    for (int64_t key = 0; key < shape[1]; ++key) {
      items.push_back(key > row ? -std::numeric_limits<double>::infinity() : 0);
    }
  }
  return constant(items, shape, dtype);
}

/// Several heads of queries for one of keys are a batch axis of their own.
Expr lower_sdpa(const LoweringContext& op) {
  const Ints q_extents = op.extents("q");
  const Ints k_extents = op.extents("k");
  const size_t rank = q_extents.size();
  const double given = op.scalar("scale");
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(q_extents.back()));
  Expr q = op.input("q");
  Expr k = op.input("k");
  Expr v = op.input("v");
  const bool grouped = rank == 4 && q_extents[1] != k_extents[1];
  const auto split_heads = [&](Expr x, Ints extents) {
    const int64_t groups = extents[1] / k_extents[1];
    extents[1] = k_extents[1];
    extents.insert(extents.begin() + 2, groups);
    return relax::reshape(std::move(x), extents);
  };
  if (grouped) {
    q = split_heads(q, q_extents);
    k = relax::expand_dims(k, {2});
    v = relax::expand_dims(v, {2});
  }
  const size_t batched = grouped ? rank + 1 : rank;
  Expr scores = relax::matmul(q * op.number(scale), relax::permute_dims(k, swapped_last(batched)));
  if (op.logical("is_causal")) {
    scores = scores + causal_mask({q_extents[rank - 2], k_extents[rank - 2]}, op.real());
  } else if (op.rank("mask") != 0) {
    Expr mask = op.input("mask");
    Ints extents = op.extents("mask");
    if (grouped) {
      mask = extents[1] == 1 ? relax::expand_dims(mask, {2}) : split_heads(mask, extents);
    }
    scores = scores + mask;
  }
  const Expr weights = relax::softmax(scores, static_cast<int64_t>(batched) - 1);
  const Expr result = relax::matmul(weights, v);
  return grouped ? relax::reshape(result, op.result_extents()) : result;
}

constexpr LoweringRow rows[] = {
    {"tract_core_shape_of", lower_shape_of},
    {"tract_transformers_sdpa", lower_sdpa},
};

}  // namespace

std::span<const LoweringRow> tract_lowerings() { return rows; }

}  // namespace nnef_tvm
