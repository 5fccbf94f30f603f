#include <array>

#include "reference/evaluation.h"

namespace nnef::reference {
namespace {

/// C[b,i,j] is the sum over l of A[b,i,l] * B[b,l,j]; batch axes are broadcast.
void matmul(Evaluation& e) {
  const bool transposed_a = e.logical("transposeA");
  const bool transposed_b = e.logical("transposeB");
  e.in_domain_of({"A", "B"}, [&]<typename T>(T) {
    const Items<T> a = e.numbers<T>("A");
    const Items<T> b = e.numbers<T>("B");
    if (a.shape.size() == 1) {
      T sum = 0;
      for (size_t l = 0; l < a.values.size(); ++l) sum = plus(sum, times(a.values[l], b.values[l]));
      return e.set("C", std::vector<T>{sum});
    }
    const size_t row = a.shape.size() - 2;
    const size_t column = row + 1;
    const int64_t inner = a.shape[transposed_a ? row : column];
    std::vector<T> c;
    each_index(e.result_extents("C"), [&](const Index& at) {
      Index in_a = at;
      Index in_b = at;
      in_a[transposed_a ? column : row] = at[row];
      in_b[transposed_b ? row : column] = at[column];
      T sum = 0;
      for (int64_t l = 0; l < inner; ++l) {
        in_a[transposed_a ? row : column] = l;
        in_b[transposed_b ? column : row] = l;
        sum = plus(sum, times(a.values[place(a.shape, in_a)], b.values[place(b.shape, in_b)]));
      }
      c.push_back(sum);
    });
    e.set("C", c);
  });
}

/// output[b,i,j] is the sum over l of input[b,i,l] * filter[b,j,l], and the bias. A compound, but
/// its body cannot say that a bias of rank 1 is meant for the last axis.
void linear(Evaluation& e) {
  e.in_domain_of({"input", "filter", "bias"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    const Items<T> filter = e.numbers<T>("filter");
    const Items<T> bias = e.numbers<T>("bias");
    std::vector<T> output;
    each_index(e.result_extents("output"), [&](const Index& at) {
      Index in_input = at;
      Index in_filter = at;
      in_filter[at.size() - 2] = at.back();
      T sum = bias.values[place(bias.shape, bias.shape.size() == 1 ? Index{at.back()} : at)];
      for (int64_t l = 0; l < input.shape.back(); ++l) {
        in_input.back() = in_filter.back() = l;
        sum = plus(sum, times(input.values[place(input.shape, in_input)],
                              filter.values[place(filter.shape, in_filter)]));
      }
      output.push_back(sum);
    });
    e.set("output", output);
  });
}

constexpr std::array kRows{EvaluatorRow{"matmul", matmul}, EvaluatorRow{"linear", linear}};

}  // namespace

std::span<const EvaluatorRow> linear_evaluators() { return kRows; }

}  // namespace nnef::reference
