// tract_core_scan over an extent with symbols: one operation, whose body is a graph of its own.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "nnef/model.h"
#include "tract_scan.h"

namespace nnef {
namespace {

using ast::Expr;

CallArgument argument(Value value, const Expr& expr) {
  return {std::move(value), expr.where, false};
}

}  // namespace

std::optional<Graph> Expander::loop_body(const Scan& scan, const Expr& expr, Frame& frame) {
  Graph outer = std::move(graph_);
  KnownValues outer_known(graph_);
  known_.swap(outer_known);
  graph_ = Graph{};
  graph_.name = "body";
  graph_.extensions = outer.extensions;
  std::map<std::string_view, Value> given;
  const auto add_input = [&](const ScanItem& item, bool slice) {
    const auto* ref = item.second.get<TensorRef>();
    given[item.name] = item.second;
    if (!ref) return;
    Array extents;
    for (size_t axis = 0; axis < outer[*ref].shape->size(); ++axis) {
      const bool scanned = slice && Value(static_cast<int64_t>(axis)) == item.third;
      extents.items.emplace_back(scanned ? Dim(1) : (*outer[*ref].shape)[axis]);
    }
    Target name;
    name.name = item.name;
    const Result input = emit(*Declarations::standard().find("external"), {argument(extents, expr)},
                              DType::scalar, DType::scalar, expr.where, frame, name);
    if (!input) return;
    graph_.inputs.push_back(*input->get<TensorRef>());
    given[item.name] = *input;
  };
  for (const ScanItem& item : scan.scanned) add_input(item, true);
  for (const ScanItem& item : scan.full) add_input(item, false);
  for (const ScanItem& item : scan.states) add_input(item, false);

  std::vector<CallArgument> arguments;
  for (const ast::Parameter& parameter : scan.body->parameters)
    arguments.push_back(argument(given[parameter.name], expr));
  const Result results =
      call(*scan.body, std::move(arguments), std::nullopt, std::nullopt, expr.where, frame, {});
  bool good = results.has_value();
  const auto add_output = [&](const std::string& name) {
    const Value* result = good ? find_result(*results, *scan.body, name) : nullptr;
    const auto* ref = result ? result->get<TensorRef>() : nullptr;
    good = ref != nullptr && graph_[*ref].shape.has_value();
    if (!good) return;
    // A graph lists each output once, and inputs are none.
    const Result copied = emit(*Declarations::standard().find("copy"), {argument(*ref, expr)},
                               DType::scalar, std::nullopt, expr.where, frame, {});
    good = copied.has_value();
    if (good) graph_.outputs.push_back(*copied->get<TensorRef>());
  };
  for (const ScanItem& item : scan.states) {
    const auto* name = item.third.get<std::string>();
    add_output(name ? *name : "");
  }
  for (const ScanItem& item : scan.outputs) add_output(item.name);
  if (good) remove_unused();
  outer.conditions.insert(outer.conditions.end(), graph_.conditions.begin(),
                          graph_.conditions.end());
  Graph body = std::move(graph_);
  graph_ = std::move(outer);
  known_.swap(outer_known);
  return good ? std::optional(std::move(body)) : std::nullopt;
}

Expander::Result Expander::loop(Scan scan, const Expr& expr, Frame& frame, const Target& target) {
  for (auto* list : {&scan.scanned, &scan.states}) {
    for (ScanItem& item : *list) {
      Result tensor = as_tensor(item.second, expr.where, frame);
      if (!tensor) return std::nullopt;
      item.second = std::move(*tensor);
    }
  }
  const auto refuse = [&](std::string message) {
    return fail("scan/symbol", expr.where,
                "this scan has a symbol as its number of iterations: " + std::move(message), frame,
                "give the shape of the input that has the symbol: --shape NAME=1,128");
  };
  Array tensors[3];
  Array axes;
  Array steps;
  Dim length;
  const std::array<const std::vector<ScanItem>*, 3> lists{&scan.scanned, &scan.full, &scan.states};
  for (size_t i = 0; i < lists.size(); ++i) {
    for (const ScanItem& item : *lists[i]) {
      const auto* ref = item.second.get<TensorRef>();
      if (!ref && i == 1) continue;  // a number stands in the body
      if (!ref) return refuse("inputs and states must be tensors");
      const Tensor& tensor = graph_[*ref];
      if (!tensor.shape) return std::nullopt;  // reported where it was made
      if (tensor.item != default_item(DType::scalar))
        return refuse(fmt::format("'{}' must have items float32", tensor.name));
      tensors[i].items.emplace_back(*ref);
      if (i != 0) continue;
      const auto* axis = item.third.get<int64_t>();
      const bool inside = axis && *axis >= 0 && static_cast<size_t>(*axis) < tensor.shape->size();
      if (!inside || std::abs(item.step) != 1)
        return refuse("inputs must be scanned along an axis by steps of 1 or -1");
      const Dim& extent = (*tensor.shape)[static_cast<size_t>(*axis)];
      if (length.valid() && !(length == extent))
        return refuse(fmt::format("the extents {} and {} that it runs over may differ",
                                  to_string(length), to_string(extent)));
      length = extent;
      axes.items.emplace_back(*axis);
      steps.items.emplace_back(item.step);
    }
  }
  const auto body = loop_body(scan, expr, frame);
  if (!body) return refuse("its body cannot be made");
  for (size_t i = 0; i < scan.states.size(); ++i) {
    const Tensor& made = (*body)[body->outputs[i]];
    const Tensor& first = graph_[*scan.states[i].second.get<TensorRef>()];
    if (*made.shape == *first.shape && made.item == first.item) continue;
    return refuse(fmt::format("state '{}' begins as {} and becomes {}", scan.states[i].name,
                              to_string(*first.shape), to_string(*made.shape)));
  }
  Array output_axes;
  Array output_steps;
  for (const ScanItem& output : scan.outputs) {
    const auto* axis = output.third.get<int64_t>();
    const bool last = output.second == Value(std::string("last"));
    if (!axis || *axis < 0) return refuse("an output has no axis");
    output_axes.items.emplace_back(last ? int64_t{-1} : *axis);
    output_steps.items.emplace_back(int64_t{output.step < 0 ? -1 : 1});
  }
  Target names = target;
  if (scan.outputs.size() == 1) {
    names = Target{};
    names.sequence = true;
    names.items = {target};
  }
  Result results =
      emit(*Declarations::tract().find("tract_core_loop"),
           {argument(std::move(tensors[0]), expr), argument(std::move(tensors[1]), expr),
            argument(std::move(tensors[2]), expr), argument(write_graph(*body), expr),
            argument(std::move(axes), expr), argument(std::move(steps), expr),
            argument(std::move(output_axes), expr), argument(std::move(output_steps), expr)},
           DType::scalar, std::nullopt, expr.where, frame, names);
  if (!results) return std::nullopt;
  Tuple tuple{std::move(results->get<Array>()->items)};
  return tuple.items.size() == 1 ? std::move(tuple.items[0]) : Value(std::move(tuple));
}

}  // namespace nnef
