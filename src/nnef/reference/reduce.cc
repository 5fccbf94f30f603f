#include <algorithm>
#include <array>

#include "reference/evaluation.h"

namespace nnef::reference {
namespace {

/// Every item of the result is `f` of the items that are reduced to it, in row-major order.
template <typename F>
void reduce(Evaluation& e, const F& f) {
  e.in_domain_of({"input"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    const Index shape = e.result_extents("output");
    std::vector<std::vector<T>> groups(static_cast<size_t>(volume(shape)));
    size_t next = 0;
    each_index(input.shape,
               [&](const Index& i) { groups[place(shape, i)].push_back(input.values[next++]); });
    std::vector<decltype(f(groups[0]))> output;
    output.reserve(groups.size());
    for (const std::vector<T>& group : groups) output.push_back(f(group));
    e.set("output", output);
  });
}

void sum_reduce(Evaluation& e) {
  const bool normalize = e.logical("normalize");
  reduce(e, [normalize]<typename T>(const std::vector<T>& group) {
    T sum = 0;
    for (const T item : group) sum = plus(sum, item);
    return normalize ? quotient(sum, static_cast<T>(group.size())) : sum;
  });
}

void max_reduce(Evaluation& e) {
  reduce(e, [](const auto& group) { return *std::ranges::max_element(group); });
}

void min_reduce(Evaluation& e) {
  reduce(e, [](const auto& group) { return *std::ranges::min_element(group); });
}

void argmax_reduce(Evaluation& e) {
  reduce(e, [](const auto& group) -> Integer {
    return std::ranges::max_element(group) - group.begin();
  });
}

void argmin_reduce(Evaluation& e) {
  reduce(e, [](const auto& group) -> Integer {
    return std::ranges::min_element(group) - group.begin();
  });
}

void all_reduce(Evaluation& e) {
  reduce(e, [](const auto& group) -> Integer {
    return std::ranges::all_of(group, [](auto item) { return item != 0; });
  });
}

void any_reduce(Evaluation& e) {
  reduce(e, [](const auto& group) -> Integer {
    return std::ranges::any_of(group, [](auto item) { return item != 0; });
  });
}

void product_reduce(Evaluation& e) {
  reduce(e, []<typename T>(const std::vector<T>& group) {
    T product = 1;
    for (const T item : group) product = times(product, item);
    return product;
  });
}

void argmax_reduce_last(Evaluation& e) {
  reduce(e, [](const auto& group) -> Integer {
    return group.rend() - std::max_element(group.rbegin(), group.rend()) - 1;
  });
}

void argmin_reduce_last(Evaluation& e) {
  reduce(e, [](const auto& group) -> Integer {
    return group.rend() - std::min_element(group.rbegin(), group.rend()) - 1;
  });
}

constexpr std::array kRows{
    EvaluatorRow{"sum_reduce", sum_reduce},
    EvaluatorRow{"max_reduce", max_reduce},
    EvaluatorRow{"min_reduce", min_reduce},
    EvaluatorRow{"argmax_reduce", argmax_reduce},
    EvaluatorRow{"argmin_reduce", argmin_reduce},
    EvaluatorRow{"all_reduce", all_reduce},
    EvaluatorRow{"any_reduce", any_reduce},
    EvaluatorRow{"tract_core_product_reduce", product_reduce},
    EvaluatorRow{"tract_core_argmax_reduce_last", argmax_reduce_last},
    EvaluatorRow{"tract_core_argmin_reduce_last", argmin_reduce_last},
};

}  // namespace

std::span<const EvaluatorRow> reduce_evaluators() { return kRows; }

}  // namespace nnef::reference
