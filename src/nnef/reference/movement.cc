#include <array>

#include "reference/window.h"

namespace nnef::reference {
namespace {

/// external and variable: set before the cycle.
void given(Evaluation&) {}

void constant(Evaluation& e) {
  e.in_domain_of_items("value", [&]<typename T>(T) {
    const std::vector<Value>& value = e.items("value");
    std::vector<T> items;
    items.reserve(value.size());
    for (const Value& item : value) items.push_back(e.numbers_of<T>(item).values[0]);
    if (items.size() == 1)
      items.resize(static_cast<size_t>(volume(e.result_extents("output"))), items[0]);
    e.set("output", items);
  });
}

/// The new value; the variable takes it after the cycle.
void update(Evaluation& e) {
  e.in_domain_of({"value"}, [&]<typename T>(T) { e.set("result", e.numbers<T>("value").values); });
}

/// Other types and shapes over the same items.
void same_items(Evaluation& e) {
  e.in_domain_of({"input"}, [&]<typename T>(T) { e.set("output", e.numbers<T>("input").values); });
}

/// Every item of `result` is the input's item at `source(index)`.
template <typename F>
void move(Evaluation& e, std::string_view operand, TensorRef result, const F& source) {
  e.in_domain_of({operand}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>(operand);
    std::vector<T> output;
    each_index(e.extents(result), [&](const Index& i) {
      output.push_back(input.values[place(input.shape, source(i))]);
    });
    e.set(result, output);
  });
}

void transpose(Evaluation& e) {
  const Index axes = e.integers("axes");
  move(e, "input", e.result("output"), [&](const Index& i) {
    Index source = i;
    for (size_t k = 0; k < axes.size(); ++k) source[static_cast<size_t>(axes[k])] = i[k];
    return source;
  });
}

void tile(Evaluation& e) {
  const Index extents = to_extents(e.shape("input"));
  move(e, "input", e.result("output"), [&](Index i) {
    for (size_t axis = 0; axis < i.size(); ++axis) i[axis] %= extents[axis];
    return i;
  });
}

void slice(Evaluation& e) {
  const Index extents = to_extents(e.shape("input"));
  const Index axes = e.integers("axes");
  const Index begin = e.integers("begin");
  const Index stride = e.integers("stride");
  move(e, "input", e.result("output"), [&](Index i) {
    for (size_t k = 0; k < axes.size(); ++k) {
      const auto axis = static_cast<size_t>(axes[k]);
      const int64_t extent = extents[axis];
      const int64_t first =
          std::clamp<int64_t>(begin[k] < 0 ? begin[k] + extent : begin[k], -1, extent);
      i[axis] = first + i[axis] * (stride.empty() ? 1 : stride[k]);
    }
    return i;
  });
}

/// input[..., indices[i...], ...]; negative indices count from the end, and all are clamped.
void gather(Evaluation& e) {
  const Items<Integer> indices = e.numbers<Integer>("indices");
  const auto axis = static_cast<std::ptrdiff_t>(e.integer("axis"));
  const auto rank = static_cast<std::ptrdiff_t>(indices.shape.size());
  const int64_t extent = to_extents(e.shape("input"))[static_cast<size_t>(axis)];
  move(e, "input", e.result("output"), [&](const Index& i) {
    const Index at(i.begin() + axis, i.begin() + axis + rank);
    const Integer index = indices.values[place(indices.shape, at)];
    Index source(i.begin(), i.begin() + axis);
    source.push_back(static_cast<int64_t>(
        std::clamp<Integer>(index < 0 ? index + extent : index, 0, extent - 1)));
    source.insert(source.end(), i.begin() + axis + rank, i.end());
    return source;
  });
}

void split(Evaluation& e) {
  const auto axis = static_cast<size_t>(e.integer("axis"));
  int64_t begin = 0;
  for (const TensorRef result : e.results("values")) {
    move(e, "value", result, [&](Index i) {
      i[axis] += begin;
      return i;
    });
    begin += e.extents(result)[axis];
  }
}

void unstack(Evaluation& e) {
  const auto axis = static_cast<std::ptrdiff_t>(e.integer("axis"));
  int64_t position = 0;
  for (const TensorRef result : e.results("values")) {
    move(e, "value", result, [&](Index i) {
      i.insert(i.begin() + axis, position);
      return i;
    });
    ++position;
  }
}

/// Joins values along an axis that each of them has `widen(value)`.
template <typename F>
void join(Evaluation& e, const F& widen) {
  const auto axis = static_cast<size_t>(e.integer("axis"));
  e.in_domain_of_items("values", [&]<typename T>(T) {
    const Index shape = e.result_extents("value");
    std::vector<T> joined(static_cast<size_t>(volume(shape)));
    int64_t begin = 0;
    for (const Value& value : e.items("values")) {
      Items<T> part = e.numbers_of<T>(value);
      widen(part.shape);
      size_t next = 0;
      each_index(part.shape, [&](Index i) {
        i[axis] += begin;
        joined[place(shape, i)] = part.values[next++];
      });
      begin += part.shape[axis];
    }
    e.set("value", joined);
  });
}

void concat(Evaluation& e) {
  join(e, [](Index&) {});
}

void stack(Evaluation& e) {
  const auto axis = static_cast<std::ptrdiff_t>(e.integer("axis"));
  join(e, [axis](Index& shape) { shape.insert(shape.begin() + axis, 1); });
}

void pad(Evaluation& e) {
  const auto padding = e.pairs("padding");
  const std::string& border = e.string("border");
  e.in_domain_of({"input"}, [&]<typename T>(T) {
    const Items<T> input = e.numbers<T>("input");
    const auto constant = static_cast<T>(e.scalar("value"));
    std::vector<T> output;
    each_index(e.result_extents("output"), [&](Index i) {
      bool inside = true;
      for (size_t axis = 0; axis < i.size(); ++axis) {
        const auto index = border_index(i[axis] - padding[axis].first, input.shape[axis], border);
        inside = inside && index;
        i[axis] = index.value_or(0);
      }
      output.push_back(inside ? input.values[place(input.shape, i)] : constant);
    });
    e.set("output", output);
  });
}

constexpr std::array kRows{
    EvaluatorRow{"external", given},
    EvaluatorRow{"variable", given},
    EvaluatorRow{"constant", constant},
    EvaluatorRow{"update", update},
    EvaluatorRow{"reshape", same_items},
    EvaluatorRow{"squeeze", same_items},
    EvaluatorRow{"cast", same_items},
    EvaluatorRow{"unsqueeze", same_items},
    EvaluatorRow{"tract_core_cast", same_items},
    EvaluatorRow{"transpose", transpose},
    EvaluatorRow{"tile", tile},
    EvaluatorRow{"slice", slice},
    EvaluatorRow{"gather", gather},
    EvaluatorRow{"split", split},
    EvaluatorRow{"unstack", unstack},
    EvaluatorRow{"concat", concat},
    EvaluatorRow{"stack", stack},
    EvaluatorRow{"pad", pad},
};

}  // namespace

std::span<const EvaluatorRow> movement_evaluators() { return kRows; }

}  // namespace nnef::reference
