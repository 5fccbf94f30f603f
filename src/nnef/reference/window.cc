#include "reference/window.h"

#include <array>

namespace nnef::reference {

std::optional<int64_t> border_index(int64_t i, int64_t extent, const std::string& border) {
  if (i >= 0 && i < extent) return i;
  if (border == "constant" || border == "ignore") return std::nullopt;
  if (border == "replicate") return i < 0 ? 0 : extent - 1;
  if (extent == 1) return 0;
  // Reverse windows can reach beyond the reflection, which is reflected again.
  const int64_t repeated_edge = border == "reflect-even" ? 1 : 0;
  while (i < 0 || i >= extent) {
    i = i < 0 ? -i - repeated_edge : 2 * (extent - 1) - i + repeated_edge;
  }
  return i;
}

Window read_window(const Evaluation& e, std::string_view result, Index size, size_t first,
                   bool reverse) {
  const Index input = to_extents(e.shape("input"));
  const Index upscaled = reverse ? e.result_extents(result) : input;
  Window window{std::move(size),
                e.integers("stride"),
                e.integers("dilation"),
                {},
                e.string("border"),
                {input.begin() + first, input.end()},
                reverse};
  const size_t rank = window.size.size();
  if (window.stride.empty()) window.stride.assign(rank, 1);
  if (window.dilation.empty()) window.dilation.assign(rank, 1);
  for (const auto& [before, after] : e.pairs("padding")) window.before.push_back(before);
  if (!window.before.empty()) return window;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = upscaled[first + i];
    const int64_t dilated = (window.size[i] - 1) * window.dilation[i] + 1;
    const int64_t downscaled = (extent + window.stride[i] - 1) / window.stride[i];
    const int64_t total = (downscaled - 1) * window.stride[i] + dilated - extent;
    window.before.push_back(std::max<int64_t>(total, 0) / 2);
  }
  return window;
}

std::vector<Tap> taps(const Window& window, const Index& position) {
  std::vector<Tap> result;
  int64_t next = 0;
  each_index(window.size, [&](const Index& j) {
    Tap tap{.item = next++, .at = 0};
    bool constant = false;
    for (size_t axis = 0; axis < j.size(); ++axis) {
      const int64_t stride = window.stride[axis];
      const int64_t offset = j[axis] * window.dilation[axis] - window.before[axis];
      if (window.reverse && (position[axis] - offset) % stride != 0) return;
      const int64_t i =
          window.reverse ? (position[axis] - offset) / stride : position[axis] * stride + offset;
      const auto index = border_index(i, window.input[axis], window.border);
      constant = constant || !index;
      tap.at = tap.at * window.input[axis] + index.value_or(0);
    }
    if (constant && window.border == "ignore") return;
    if (constant) tap.at = kConstant;
    result.push_back(tap);
  });
  return result;
}

namespace {

/// The extents after batch and channels.
Index spatial(const Index& shape) { return {shape.begin() + 2, shape.end()}; }

/// The bias has one item, or one for each channel.
template <typename T>
T bias_of(const Items<T>& bias, int64_t channel) {
  return bias.values[bias.values.size() == 1 ? 0 : static_cast<size_t>(channel)];
}

/// One plane of an input times one plane of a filter, summed over the taps.
template <typename T>
T correlate(const std::vector<Tap>& taps, const T* input, const T* filter) {
  T sum = 0;
  for (const Tap& tap : taps) {
    if (tap.at != kConstant) sum = plus(sum, times(input[tap.at], filter[tap.item]));
  }
  return sum;
}

/// Every item of the result is `item(batch, channel, taps)` of its position.
template <typename T, typename F>
void filter_windows(Evaluation& e, const Window& window, const F& item) {
  const Index shape = e.result_extents("output");
  const int64_t plane = volume(spatial(shape));
  std::vector<T> output(static_cast<size_t>(volume(shape)));
  int64_t position = 0;
  each_index(spatial(shape), [&](const Index& i) {
    const std::vector<Tap> window_taps = taps(window, i);
    for (int64_t batch = 0; batch < shape[0]; ++batch) {
      for (int64_t channel = 0; channel < shape[1]; ++channel) {
        const int64_t at = (batch * shape[1] + channel) * plane + position;
        output[static_cast<size_t>(at)] = item(batch, channel, window_taps);
      }
    }
    ++position;
  });
  e.set("output", output);
}

/// output[k2][i] is the sum over k1 and j of input[k1][i * s + j * d - p] * filter[k2][k1][j]
void conv(Evaluation& e) {
  e.in_domain_of({"input", "filter", "bias"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    const Items<T> filter = e.numbers<T>("filter");
    const Items<T> bias = e.numbers<T>("bias");
    const Window window = read_window(e, "output", spatial(filter.shape), 2, false);
    const int64_t channels = input.shape[1];
    const int64_t per_group = filter.shape[1];
    const int64_t results_per_group = filter.shape[0] / (channels / per_group);
    const int64_t plane = volume(window.input);
    const int64_t filter_plane = volume(window.size);
    filter_windows<T>(e, window, [&](int64_t batch, int64_t k2, const std::vector<Tap>& taps) {
      const int64_t first = k2 / results_per_group * per_group;
      T sum = bias_of(bias, k2);
      for (int64_t k1 = 0; k1 < per_group; ++k1) {
        sum = plus(sum, correlate(taps, &input.values[(batch * channels + first + k1) * plane],
                                  &filter.values[(k2 * per_group + k1) * filter_plane]));
      }
      return sum;
    });
  });
}

/// output[k1][i] is the sum over k2 and j of input[k2][(i + p - j * d) / s] * filter[k2][k1][j]
void deconv(Evaluation& e) {
  e.in_domain_of({"input", "filter", "bias"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    const Items<T> filter = e.numbers<T>("filter");
    const Items<T> bias = e.numbers<T>("bias");
    const Window window = read_window(e, "output", spatial(filter.shape), 2, true);
    const int64_t channels = input.shape[1];
    const int64_t per_group = filter.shape[1];
    const int64_t groups = e.result_extents("output")[1] / per_group;
    const int64_t inputs_per_group = channels / groups;
    const int64_t plane = volume(window.input);
    const int64_t filter_plane = volume(window.size);
    filter_windows<T>(e, window, [&](int64_t batch, int64_t channel, const std::vector<Tap>& taps) {
      const int64_t first = channel / per_group * inputs_per_group;
      const int64_t k1 = channel % per_group;
      T sum = bias_of(bias, channel);
      for (int64_t k2 = first; k2 < first + inputs_per_group; ++k2) {
        sum = plus(sum, correlate(taps, &input.values[(batch * channels + k2) * plane],
                                  &filter.values[(k2 * per_group + k1) * filter_plane]));
      }
      return sum;
    });
  });
}

/// Every item of the result is `f(input, its taps, its row-major position)`; windows of full rank.
template <typename F>
void slide(Evaluation& e, std::string_view result, bool reverse, const F& f) {
  e.in_domain_of({"input"}, [&]<typename T>(T) {
    const std::vector<T> input = e.numbers<T>("input").values;
    const Window window = read_window(e, result, e.integers("size"), 0, reverse);
    std::vector<decltype(f(input, {}, size_t{}))> items;
    each_index(e.result_extents(result),
               [&](const Index& i) { items.push_back(f(input, taps(window, i), items.size())); });
    e.set(result, items);
  });
}

template <typename T>
T item_at(const std::vector<T>& input, const Tap& tap) {
  return tap.at == kConstant ? T{0} : input[static_cast<size_t>(tap.at)];
}

/// The sum of a window; its mean is over the whole kernel, or, down-scaling, over what is not
/// ignored.
void sum_windows(Evaluation& e, bool reverse) {
  const bool normalize = e.logical("normalize");
  const bool ignore = !reverse && e.string("border") == "ignore";
  const auto kernel = static_cast<size_t>(volume(e.integers("size")));
  slide(e, "output", reverse,
        [&]<typename T>(const std::vector<T>& input, const std::vector<Tap>& taps, size_t) {
          T sum = 0;
          for (const Tap& tap : taps) sum = plus(sum, item_at(input, tap));
          if (!normalize || taps.empty()) return sum;
          return quotient(sum, static_cast<T>(ignore ? taps.size() : kernel));
        });
}

void box(Evaluation& e) { sum_windows(e, false); }
void debox(Evaluation& e) { sum_windows(e, true); }

/// The position of the first maximum within the window.
void argmax_pool(Evaluation& e) {
  slide(e, "index", false, [](const auto& input, const std::vector<Tap>& taps, size_t) -> Integer {
    if (taps.empty()) return 0;
    Tap best = taps[0];
    for (const Tap& tap : taps) {
      if (item_at(input, tap) > item_at(input, best)) best = tap;
    }
    return best.item;
  });
}

/// output[i] = input[i * s + index[i] * d - p]
void sample(Evaluation& e) {
  const std::vector<Integer> index = e.numbers<Integer>("index").values;
  slide(e, "output", false,
        [&]<typename T>(const std::vector<T>& input, const std::vector<Tap>& taps, size_t i) {
          for (const Tap& tap : taps) {
            if (tap.item == index[i]) return item_at(input, tap);
          }
          return T{0};
        });
}

/// output[i] is the sum over j of input[(i + p - j * d) / s] where the index there is j
void desample(Evaluation& e) {
  const std::vector<Integer> index = e.numbers<Integer>("index").values;
  slide(e, "output", true,
        [&]<typename T>(const std::vector<T>& input, const std::vector<Tap>& taps, size_t) {
          T sum = 0;
          for (const Tap& tap : taps) {
            const bool inside = tap.at != kConstant;
            if (inside && index[static_cast<size_t>(tap.at)] == tap.item) {
              sum = plus(sum, item_at(input, tap));
            }
          }
          return sum;
        });
}

constexpr std::array kRows{
    EvaluatorRow{"conv", conv},
    EvaluatorRow{"deconv", deconv},
    EvaluatorRow{"box", box},
    EvaluatorRow{"debox", debox},
    EvaluatorRow{"sample", sample},
    EvaluatorRow{"desample", desample},
    EvaluatorRow{"argmax_pool", argmax_pool},
};

}  // namespace

std::span<const EvaluatorRow> window_evaluators() { return kRows; }

}  // namespace nnef::reference
