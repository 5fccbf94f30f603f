// Operations of tract that are not element-wise.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "relax/lowering.h"
#include "relax/ops/loop.h"
#include "tvm/emit_te.h"

namespace nnef_tvm {
namespace {

using namespace relax::operators;

Expr lower_shape_of(const LoweringContext& op) {
  return op.extent_items(op.shape("input"), op.whole());
}

Ints swapped_last(size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[rank - 2], axes[rank - 1]);
  return axes;
}

/// 0 where a query may look at a key, minus infinity where the key comes later.
Expr causal_mask(const LoweringContext& op, const nnef::Dim& queries, const nnef::Dim& keys) {
  const DLDataType dtype = op.real();
  if (!queries.known() || !keys.known()) {
    const Extents extents = op.dims({queries, keys});
    return emit_te(op.builder(), "causal_mask", {}, [&](const auto&) {
      return te::compute(extents, "causal_mask", [&](const te::Indices& i) {
        return select(gt(i[1], i[0]), lowest(dtype), number(0, dtype));
      });
    });
  }
  const Ints shape{queries.value(), keys.value()};
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
  const nnef::Shape& q_extents = op.shape("q");
  const nnef::Shape& k_extents = op.shape("k");
  const size_t rank = q_extents.size();
  const double given = op.scalar("scale");
  const double scale =
      given != 0 ? given : 1 / std::sqrt(static_cast<double>(known_extent(q_extents.back())));
  Expr q = op.input("q");
  Expr k = op.input("k");
  Expr v = op.input("v");
  const bool grouped = rank == 4 && !(q_extents[1] == k_extents[1]);
  const auto split_heads = [&](Expr x, nnef::Shape extents) {
    const nnef::Dim groups = floor_div(extents[1], k_extents[1]);
    extents[1] = k_extents[1];
    extents.insert(extents.begin() + 2, groups);
    return relax::reshape(std::move(x), op.dims(extents));
  };
  if (grouped) {
    q = split_heads(q, q_extents);
    k = relax::expand_dims(k, {2});
    v = relax::expand_dims(v, {2});
  }
  const size_t batched = grouped ? rank + 1 : rank;
  Expr scores = relax::matmul(q * op.number(scale), relax::permute_dims(k, swapped_last(batched)));
  if (op.logical("is_causal")) {
    scores = scores + causal_mask(op, q_extents[rank - 2], k_extents[rank - 2]);
  } else if (op.rank("mask") != 0) {
    Expr mask = op.input("mask");
    const nnef::Shape& extents = op.shape("mask");
    if (grouped) {
      mask = extents[1] == 1 ? relax::expand_dims(mask, {2}) : split_heads(mask, extents);
    }
    scores = scores + mask;
  }
  const Expr weights = relax::softmax(scores, static_cast<int64_t>(batched) - 1);
  const Expr result = relax::matmul(weights, v);
  return grouped ? relax::reshape(result, op.result_dims()) : result;
}

/// The letters of an einsum by what they are for.
struct EinsumLetters {
  Ints batch, left, right, summed;
  bool is_product = true;  ///< of two tensors, as matmul computes it
};

bool has(const Ints& letters, int64_t letter) {
  return std::ranges::find(letters, letter) != letters.end();
}

bool are_distinct(Ints letters) {
  std::ranges::sort(letters);
  return std::ranges::adjacent_find(letters) == letters.end();
}

EinsumLetters sort_letters(const Ints& a, const Ints& b, const Ints& result) {
  EinsumLetters sorted;
  for (const int64_t letter : a) {
    const bool shared = has(b, letter);
    const bool kept = has(result, letter);
    (kept ? (shared ? sorted.batch : sorted.left) : sorted.summed).push_back(letter);
    sorted.is_product = sorted.is_product && (kept || shared);
  }
  for (const int64_t letter : b) {
    if (has(a, letter)) continue;
    sorted.right.push_back(letter);
    sorted.is_product = sorted.is_product && has(result, letter);
  }
  sorted.is_product = sorted.is_product && are_distinct(a) && are_distinct(b);
  return sorted;
}

/// A tensor with its axes in the order of groups of letters, the last two groups each as one axis.
Expr arranged(const LoweringContext& op, Expr x, const Ints& letters,
              const std::array<const Ints*, 3>& groups,
              const std::map<int64_t, nnef::Dim>& extents) {
  Ints order;
  nnef::Shape shape;
  for (const Ints* group : groups) {
    nnef::Dim merged = 1;
    for (const int64_t letter : *group) {
      order.push_back(std::ranges::find(letters, letter) - letters.begin());
      if (group == groups[0]) shape.push_back(extents.at(letter));
      merged = merged * extents.at(letter);
    }
    if (group != groups[0]) shape.push_back(merged);
  }
  if (!std::ranges::is_sorted(order)) x = relax::permute_dims(std::move(x), order);
  return relax::reshape(std::move(x), op.dims(shape));
}

/// A product of two tensors is one of matrices; others are left to TVM's general form.
Expr lower_einsum(const LoweringContext& op) {
  const Ints letters = op.resolved_integers("letters");
  const Ints result = op.resolved_integers("result_letters");
  const auto& inputs = op.items("inputs");
  std::vector<Ints> terms;
  std::vector<Expr> operands;
  std::map<int64_t, nnef::Dim> extents;
  std::string text;
  bool singular = false;  // an extent of 1 that stands for others
  for (const nnef::Value& input : inputs) {
    const nnef::Shape& shape = op.shape_of(input);
    if (!terms.empty()) text += ',';
    Ints& term = terms.emplace_back();
    for (const nnef::Dim& extent : shape) {
      const size_t at = text.size() - (terms.size() - 1);
      term.push_back(letters[at]);
      text += static_cast<char>(letters[at]);
      const auto [place, fresh] = extents.emplace(letters[at], extent);
      singular = singular || !(place->second == extent);
    }
    operands.push_back(op.item(input));
  }
  if (inputs.size() == 2 && !singular) {
    const EinsumLetters sorted = sort_letters(terms[0], terms[1], result);
    if (sorted.is_product) {
      const Expr a = arranged(op, operands[0], terms[0],
                              {&sorted.batch, &sorted.left, &sorted.summed}, extents);
      const Expr b = arranged(op, operands[1], terms[1],
                              {&sorted.batch, &sorted.summed, &sorted.right}, extents);
      Ints made = sorted.batch;
      made.insert(made.end(), sorted.left.begin(), sorted.left.end());
      made.insert(made.end(), sorted.right.begin(), sorted.right.end());
      nnef::Shape shape;
      for (const int64_t letter : made) shape.push_back(extents.at(letter));
      Ints order;
      for (const int64_t letter : result)
        order.push_back(std::ranges::find(made, letter) - made.begin());
      const Expr product = relax::reshape(relax::matmul(a, b), op.dims(shape));
      return std::ranges::is_sorted(order) ? product : relax::permute_dims(product, order);
    }
  }
  text += "->";
  for (const int64_t letter : result) text += static_cast<char>(letter);
  return relax::einsum(Array<Expr>(operands.begin(), operands.end()), text);
}

constexpr LoweringRow rows[] = {
    {"tract_core_loop", lower_loop},
    {"tract_core_einsum", lower_einsum},
    {"tract_core_shape_of", lower_shape_of},
    {"tract_transformers_sdpa", lower_sdpa},
};

}  // namespace

std::span<const LoweringRow> tract_lowerings() { return rows; }

}  // namespace nnef_tvm
