// Attributes that tract's dialect says otherwise than the standard.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "expander.h"

namespace nnef {
namespace {

/// The arguments of a primitive by the names of its declaration.
class NamedArguments {
 public:
  NamedArguments(const Graph& graph, const ast::Fragment& fragment,
                 std::vector<CallArgument>& arguments)
      : graph_(graph), fragment_(fragment), arguments_(arguments) {}

  Value* find(std::string_view name) const {
    const auto parameter = std::ranges::find(fragment_.parameters, name, &ast::Parameter::name);
    if (parameter == fragment_.parameters.end()) return nullptr;
    return &arguments_[static_cast<size_t>(parameter - fragment_.parameters.begin())].value;
  }
  Array* list(std::string_view name) const {
    Value* value = find(name);
    return value ? value->get<Array>() : nullptr;
  }
  bool axes_have_symbols() const {
    bool found = false;
    for (const std::string_view name : {"axis", "axes"}) {
      const Value* value = find(name);
      if (value) each_item(*value, [&](const Value& item) { found = found || item.get<Dim>(); });
    }
    return found;
  }
  /// The shape of the first tensor among the arguments; nothing when it has none.
  std::optional<Shape> shape() const {
    std::optional<Shape> shape;
    bool found = false;
    for (size_t i = 0; i < arguments_.size() && !found; ++i) {
      if (!holds_tensor(fragment_.parameters[i].type)) continue;
      found = true;
      shape = Shape{};
      each_tensor(arguments_[i].value, [&](TensorRef ref) {
        if (!shape || shape->empty()) shape = graph_[ref].shape;
      });
    }
    return shape;
  }

 private:
  const Graph& graph_;
  const ast::Fragment& fragment_;
  std::vector<CallArgument>& arguments_;
};

void count_from_end(Value& axis, size_t rank) {
  auto* value = axis.get<int64_t>();
  if (value && *value < 0) *value += static_cast<int64_t>(rank);
}

void positive_axes(const NamedArguments& arguments, const Shape& shape, size_t added) {
  if (Value* axis = arguments.find("axis")) count_from_end(*axis, shape.size() + added);
  if (Array* axes = arguments.list("axes")) {
    for (Value& axis : axes->items) count_from_end(axis, shape.size() + added);
  }
}

void plain_axes(const NamedArguments& arguments, const Shape& shape) {
  positive_axes(arguments, shape, 0);
}

void stack_axis(const NamedArguments& arguments, const Shape& shape) {
  positive_axes(arguments, shape, 1);
}

/// Axes are inserted one after the other, each where it is said to be in what there is by then.
void inserted_axes(const NamedArguments& arguments, const Shape& shape) {
  Array* axes = arguments.list("axes");
  std::vector<bool> is_new(shape.size(), false);
  for (Value& axis : axes->items) {
    count_from_end(axis, is_new.size() + 1);
    const int64_t at = *axis.get<int64_t>();
    if (at < 0 || static_cast<uint64_t>(at) > is_new.size())
      return;  // for the shape rule to report
    is_new.insert(is_new.begin() + at, true);
  }
  axes->items.clear();
  for (size_t i = 0; i < is_new.size(); ++i) {
    if (is_new[i]) axes->items.emplace_back(static_cast<int64_t>(i));
  }
}

/// Axes are removed one after the other.
void removed_axes(const NamedArguments& arguments, const Shape& shape) {
  Array* axes = arguments.list("axes");
  std::vector<int64_t> left(shape.size());
  std::iota(left.begin(), left.end(), 0);
  std::vector<int64_t> removed;
  // Axes that do not repeat are those of the input, whatever their order.
  std::vector<int64_t> written;
  for (Value& axis : axes->items) {
    count_from_end(axis, shape.size());
    written.push_back(*axis.get<int64_t>());
  }
  std::vector<int64_t> sorted = written;
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) == sorted.end()) return;
  for (const int64_t at : written) {
    if (at < 0 || static_cast<uint64_t>(at) >= left.size()) return;
    removed.push_back(left[static_cast<size_t>(at)]);
    left.erase(left.begin() + at);
  }
  axes->items.assign(removed.begin(), removed.end());
}

/// An end of 0 is the end of the axis, whatever the stride.
void open_ends(const NamedArguments& arguments, const Shape& shape) {
  plain_axes(arguments, shape);
  const Array* axes = arguments.list("axes");
  Array* ends = arguments.list("end");
  if (axes->items.size() != ends->items.size()) return;
  for (size_t i = 0; i < axes->items.size(); ++i) {
    const auto axis = static_cast<uint64_t>(*axes->items[i].get<int64_t>());
    if (ends->items[i] == Value(int64_t{0}) && axis < shape.size() && shape[axis].valid())
      ends->items[i] = shape[axis];
  }
}

void border_name(const NamedArguments& arguments, const Shape&) {
  auto* border = arguments.find("border")->get<std::string>();
  if (*border == "replicated") *border = "replicate";
}

/// Maxima never are of the padding.
void ignored_border(const NamedArguments& arguments, const Shape&) {
  auto* border = arguments.find("border")->get<std::string>();
  if (*border == "constant") *border = "ignore";
}

struct Row {
  std::string_view operation;
  void (*normalise)(const NamedArguments&, const Shape&);
};
constexpr std::array kRows{
    Row{"unsqueeze", inserted_axes},
    Row{"squeeze", removed_axes},
    Row{"stack", stack_axis},
    Row{"slice", open_ends},
    Row{"pad", border_name},
    Row{"max_pool", ignored_border},
    Row{"max_pool_with_index", ignored_border},
    Row{"argmax_pool", ignored_border},
};

}  // namespace

void Expander::normalise(const ast::Fragment& fragment, std::vector<CallArgument>& arguments) {
  const NamedArguments named(graph_, fragment, arguments);
  const auto shape = named.shape();
  if (!shape) return;                     // what failed was reported
  if (named.axes_have_symbols()) return;  // for the shape rule to report
  const auto row = std::ranges::find(kRows, fragment.name, &Row::operation);
  row == kRows.end() ? plain_axes(named, *shape) : row->normalise(named, *shape);
}

}  // namespace nnef
