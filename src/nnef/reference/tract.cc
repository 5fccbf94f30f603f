#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "reference/evaluation.h"

namespace nnef::reference {
namespace {

void shape_of(Evaluation& e) {
  std::vector<Integer> items;
  for (const Dim& extent : e.shape("input")) items.push_back(extent.value());
  e.set("output", items);
}

/// Row i of a matrix of a tensor of rank 3 or 4; `index` begins with its batch (and head).
size_t row_of(const Index& shape, Index index, size_t row) {
  index[shape.size() - 2] = static_cast<int64_t>(row);
  index.back() = 0;
  return place(shape, index);
}

/// For each row of q: the mean of the rows of v, weighted by e to the power of its products with
/// the rows of k.
void sdpa(Evaluation& e) {
  const auto q = e.numbers<double>("q");
  const auto k = e.numbers<double>("k");
  const auto v = e.numbers<double>("v");
  const auto mask = e.numbers<double>("mask");
  const size_t rank = q.shape.size();
  const auto inner = static_cast<size_t>(q.shape.back());
  const auto keys = static_cast<size_t>(k.shape[rank - 2]);
  const double given = e.scalar("scale");
  const double scale = given != 0 ? given : 1 / std::sqrt(static_cast<double>(inner));
  const int64_t group = q.shape[rank - 3] / k.shape[rank - 3];
  std::vector<double> output;
  each_index(e.result_extents("output"), [&](const Index& i) {
    Index of_keys = i;
    of_keys[rank - 3] /= group;
    const auto row = static_cast<size_t>(i[rank - 2]);
    std::vector<double> scores(keys);
    double highest = -std::numeric_limits<double>::infinity();
    for (size_t j = 0; j < keys; ++j) {
      double sum = 0;
      for (size_t d = 0; d < inner; ++d) {
        sum += q.values[row_of(q.shape, i, row) + d] * k.values[row_of(k.shape, of_keys, j) + d];
      }
      Index at = i;
      at.back() = static_cast<int64_t>(j);
      scores[j] = sum * scale + mask.values[place(mask.shape, at)];
      if (e.logical("is_causal") && j > row) scores[j] = -std::numeric_limits<double>::infinity();
      highest = std::max(highest, scores[j]);
    }
    double weights = 0;
    double sum = 0;
    for (size_t j = 0; j < keys; ++j) {
      const double weight = std::exp(scores[j] - highest);
      weights += weight;
      sum += weight * v.values[row_of(v.shape, of_keys, j) + static_cast<size_t>(i.back())];
    }
    output.push_back(sum / weights);
  });
  e.set("output", output);
}

/// The sum over all values of the letters that the result lacks.
void einsum(Evaluation& e) {
  const auto letters = e.resolved_integers("letters");
  const auto result_letters = e.resolved_integers("result_letters");
  e.in_domain_of_items("inputs", [&]<typename T>(T) {
    std::vector<Items<T>> inputs;
    std::map<int64_t, int64_t> extents;
    size_t next = 0;
    for (const Value& value : e.items("inputs")) {
      inputs.push_back(e.numbers_of<T>(value));
      for (const int64_t extent : inputs.back().shape) {
        int64_t& largest = extents[letters[next++]];
        largest = std::max(largest, extent);
      }
    }
    std::vector<int64_t> summed;
    Index summed_extents;
    for (const auto& [letter, extent] : extents) {
      if (std::ranges::find(result_letters, letter) != result_letters.end()) continue;
      summed.push_back(letter);
      summed_extents.push_back(extent);
    }
    std::map<int64_t, int64_t> at;
    std::vector<T> result;
    each_index(e.result_extents("result"), [&](const Index& i) {
      for (size_t axis = 0; axis < i.size(); ++axis) at[result_letters[axis]] = i[axis];
      T sum = 0;
      each_index(summed_extents, [&](const Index& j) {
        for (size_t axis = 0; axis < j.size(); ++axis) at[summed[axis]] = j[axis];
        T product = 1;
        size_t letter = 0;
        for (const Items<T>& input : inputs) {
          Index index;
          for (size_t axis = 0; axis < input.shape.size(); ++axis)
            index.push_back(at[letters[letter++]]);
          product = times(product, input.values[place(input.shape, index)]);
        }
        sum = plus(sum, product);
      });
      result.push_back(sum);
    });
    e.set("result", result);
  });
}

constexpr std::array kRows{
    EvaluatorRow{"tract_core_einsum", einsum},
    EvaluatorRow{"tract_core_shape_of", shape_of},
    EvaluatorRow{"tract_transformers_sdpa", sdpa},
};

}  // namespace

std::span<const EvaluatorRow> tract_evaluators() { return kRows; }

}  // namespace nnef::reference
