#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "reference/evaluation.h"

namespace nnef::reference {
namespace {

void to_shape(Evaluation& e) {
  e.in_domain_of({"input"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    std::vector<T> output;
    each_index(e.result_extents("output"),
               [&](const Index& i) { output.push_back(input.values[place(input.shape, i)]); });
    e.set("output", output);
  });
}

/// Negative indices count from the end; all are brought inside.
int64_t inside(Integer index, int64_t extent) {
  if (index < 0) index += extent;
  return static_cast<int64_t>(std::clamp<Integer>(index, 0, extent - 1));
}

void gather_elements(Evaluation& e) {
  const auto axis = static_cast<size_t>(e.integer("axis"));
  const Items<Integer> indices = e.numbers<Integer>("indices");
  e.in_domain_of({"input"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    std::vector<T> output;
    each_index(indices.shape, [&](Index i) {
      i[axis] = inside(indices.values[place(indices.shape, i)], input.shape[axis]);
      output.push_back(input.values[place(input.shape, i)]);
    });
    e.set("output", output);
  });
}

/// The item that the row of indices at `at` points to, after `begin` axes.
Index pointed_at(const Items<Integer>& indices, Index at, const Index& input, Index begin) {
  at.push_back(0);
  const int64_t depth = indices.shape.back();
  for (int64_t k = 0; k < depth; ++k) {
    at.back() = k;
    begin.push_back(inside(indices.values[place(indices.shape, at)], input[begin.size()]));
  }
  return begin;
}

void gather_nd(Evaluation& e) {
  const auto batch = static_cast<ptrdiff_t>(e.integer("batch_dims"));
  const Items<Integer> indices = e.numbers<Integer>("indices");
  const auto outer = static_cast<ptrdiff_t>(indices.shape.size()) - 1;
  e.in_domain_of({"input"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    std::vector<T> output;
    each_index(e.result_extents("output"), [&](const Index& i) {
      Index at = pointed_at(indices, {i.begin(), i.begin() + outer}, input.shape,
                            {i.begin(), i.begin() + batch});
      at.insert(at.end(), i.begin() + outer, i.end());
      output.push_back(input.values[place(input.shape, at)]);
    });
    e.set("output", output);
  });
}

template <typename T>
void combine(T& item, T update, const std::string& reduction) {
  if (reduction == "none") item = update;
  if (reduction == "add") item = plus(item, update);
  if (reduction == "mul") item = times(item, update);
  if (reduction == "min") item = std::min(item, update);
  if (reduction == "max") item = std::max(item, update);
}

void scatter_elements(Evaluation& e) {
  const auto axis = static_cast<size_t>(e.integer("axis"));
  const Items<Integer> indices = e.numbers<Integer>("indices");
  e.in_domain_of({"input", "updates"}, [&]<typename T>(T) {
    Items<T> output = e.numbers<T>("input");
    const Items<T> updates = e.numbers<T>("updates");
    size_t next = 0;
    each_index(indices.shape, [&](Index i) {
      i[axis] = inside(indices.values[next], output.shape[axis]);
      combine(output.values[place(output.shape, i)], updates.values[next++], e.string("reduction"));
    });
    e.set("output", output.values);
  });
}

void scatter_nd(Evaluation& e) {
  const Items<Integer> indices = e.numbers<Integer>("indices");
  const auto outer = static_cast<ptrdiff_t>(indices.shape.size()) - 1;
  e.in_domain_of({"input", "updates"}, [&]<typename T>(T) {
    Items<T> output = e.numbers<T>("input");
    const Items<T> updates = e.numbers<T>("updates");
    size_t next = 0;
    each_index(updates.shape, [&](const Index& i) {
      Index at = pointed_at(indices, {i.begin(), i.begin() + outer}, output.shape, {});
      at.insert(at.end(), i.begin() + outer, i.end());
      combine(output.values[place(output.shape, at)], updates.values[next++],
              e.string("reduction"));
    });
    e.set("output", output.values);
  });
}

/// The items on one side of the diagonal that is k above the main one, and on it.
void trilu(Evaluation& e) {
  const int64_t k = e.integer("k");
  const bool upper = e.logical("upper");
  e.in_domain_of({"input"}, [&]<typename T>(T) {
    Items<T> items = e.numbers<T>("input");
    size_t next = 0;
    each_index(items.shape, [&](const Index& i) {
      const int64_t above = i.back() - i[i.size() - 2];
      if (upper ? above < k : above > k) items.values[next] = 0;
      ++next;
    });
    e.set("output", items.values);
  });
}

void range(Evaluation& e) {
  const auto length = static_cast<size_t>(e.result_extents("output")[0]);
  const auto fill = [&]<typename T>(T start, T step) {
    std::vector<T> items;
    for (size_t i = 0; i < length; ++i) items.push_back(start + static_cast<T>(i) * step);
    e.set("output", items);
  };
  const Items<double> start = e.numbers<double>("start");
  const Items<double> step = e.numbers<double>("step");
  if (e.graph()[e.result("output")].dtype == DType::integer) {
    fill(static_cast<Integer>(start.values[0]), static_cast<Integer>(step.values[0]));
  } else {
    fill(start.values[0], step.values[0]);
  }
}

/// Of equal items the first one comes first.
void topk(Evaluation& e) {
  const auto axis = static_cast<size_t>(e.integer("axis"));
  const bool largest = e.logical("largest");
  e.in_domain_of({"input"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    const Index shape = e.result_extents("values");
    std::vector<T> values;
    std::vector<Integer> indices;
    each_index(shape, [&](Index i) {
      const auto rank = static_cast<size_t>(i[axis]);
      std::vector<std::pair<T, int64_t>> row;
      for (i[axis] = 0; i[axis] < input.shape[axis]; ++i[axis]) {
        row.emplace_back(input.values[place(input.shape, i)], i[axis]);
      }
      std::ranges::stable_sort(row, [&](const auto& a, const auto& b) {
        return largest ? a.first > b.first : a.first < b.first;
      });
      values.push_back(row[rank].first);
      indices.push_back(row[rank].second);
    });
    e.set("values", values);
    e.set("indices", indices);
  });
}

/// Where on an axis of the input an item of the result lies.
double source_of(const std::string& transformer, int64_t i, int64_t from, int64_t to,
                 double scale) {
  const auto at = static_cast<double>(i);
  if (transformer == "asymmetric") return at / scale;
  if (transformer == "align_corners") {
    return to == 1 ? 0 : at * static_cast<double>(from - 1) / static_cast<double>(to - 1);
  }
  if (transformer == "pytorch_half_pixel" && to == 1) return 0;
  return (at + 0.5) / scale - 0.5;
}

double nearest_to(const std::string& mode, double x) {
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_floor") return std::ceil(x - 0.5);
  return mode == "floor" ? std::floor(x) : std::floor(x + 0.5);
}

/// The weight of an item at a distance, by linear interpolation or Keys' cubic with -0.75.
double weight_at(const std::string& interpolator, double distance) {
  const double d = std::abs(distance);
  if (interpolator == "linear") return std::max(0.0, 1 - d);
  constexpr double kA = -0.75;
  if (d <= 1) return ((kA + 2) * d - (kA + 3)) * d * d + 1;
  return d < 2 ? ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA : 0;
}

/// Beyond the ends the items there are repeated.
void resize(Evaluation& e) {
  const Items<double> input = e.numbers<double>("input");
  const Index shape = e.result_extents("output");
  const auto& scales = e.items("scales");
  const std::string& interpolator = e.string("interpolator");
  const size_t rank = shape.size();
  constexpr int64_t kReach = 2;  // items to each side that may have a weight
  std::vector<double> output;
  each_index(shape, [&](const Index& i) {
    std::vector<double> at(rank);
    for (size_t axis = 0; axis < rank; ++axis) {
      const double ratio =
          static_cast<double>(shape[axis]) / static_cast<double>(input.shape[axis]);
      const double scale = scales.empty() ? ratio : *scales[axis].get<double>();
      at[axis] = scale == 1 ? static_cast<double>(i[axis])
                            : source_of(e.string("coord_transformer"), i[axis], input.shape[axis],
                                        shape[axis], scale);
      if (interpolator == "nearest") at[axis] = nearest_to(e.string("nearest_mode"), at[axis]);
    }
    double sum = 0;
    each_index(Index(rank, 2 * kReach), [&](const Index& j) {
      double weight = 1;
      Index place_of(rank);
      for (size_t axis = 0; axis < rank; ++axis) {
        const auto tap = static_cast<int64_t>(std::floor(at[axis])) + j[axis] - (kReach - 1);
        const double distance = at[axis] - static_cast<double>(tap);
        weight *=
            interpolator == "nearest" ? (distance == 0 ? 1 : 0) : weight_at(interpolator, distance);
        place_of[axis] = std::clamp<int64_t>(tap, 0, input.shape[axis] - 1);
      }
      if (weight != 0) sum += weight * input.values[place(input.shape, place_of)];
    });
    output.push_back(sum);
  });
  e.set("output", output);
}

constexpr std::array kRows{
    EvaluatorRow{"tract_core_resize", resize},
    EvaluatorRow{"tract_core_broadcast", to_shape},
    EvaluatorRow{"tract_core_gather_elements", gather_elements},
    EvaluatorRow{"tract_core_gather_nd", gather_nd},
    EvaluatorRow{"tract_core_scatter_elements", scatter_elements},
    EvaluatorRow{"tract_core_scatter_nd", scatter_nd},
    EvaluatorRow{"tract_core_trilu", trilu},
    EvaluatorRow{"tract_core_range", range},
    EvaluatorRow{"tract_core_topk", topk},
};

}  // namespace

std::span<const EvaluatorRow> tract_movement_evaluators() { return kRows; }

}  // namespace nnef::reference
