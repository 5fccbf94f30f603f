// tract_core_scan: a fragment that is applied to slices of its inputs, one after the other, with a
// state. Where the number of calls is known, it becomes as many.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "tract_scan.h"

namespace nnef {
namespace {

using ast::Expr;

std::optional<std::vector<ScanItem>> read_items(const Value& list, size_t least, size_t most) {
  std::vector<ScanItem> items;
  const std::vector<Value>* tuples = items_of(list);
  if (!tuples) return std::nullopt;
  for (const Value& tuple : *tuples) {
    const std::vector<Value>* parts = items_of(tuple);
    if (!parts || parts->size() < least || parts->size() > most) return std::nullopt;
    const auto* name = (*parts)[0].get<std::string>();
    if (!name) return std::nullopt;
    ScanItem item{*name, (*parts)[1], parts->size() > 2 ? (*parts)[2] : Value(), 1};
    if (parts->size() > 3) {
      const auto* step = (*parts)[3].get<int64_t>();
      if (!step || *step == 0) return std::nullopt;
      item.step = *step;
    }
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace

const Value* find_result(const Value& results, const ast::Fragment& body, const std::string& name) {
  for (size_t i = 0; i < body.results.size(); ++i) {
    if (body.results[i].name != name) continue;
    return body.results.size() == 1 ? &results : &(*items_of(results))[i];
  }
  return nullptr;
}

/// The part of a scanned tensor that an iteration sees; a negative step goes from the end.
Expander::Result Expander::scan_slice(const Value& tensor, const Value& axis, int64_t step,
                                      int64_t iteration, const Location& where,
                                      const Frame& frame) {
  const auto* ref = tensor.get<TensorRef>();
  const auto* at = axis.get<int64_t>();
  if (!ref || !at)
    return fail("scan/item", where, "a scanned input is a tensor with an axis", frame);
  const std::optional<Shape>& shape = graph_[*ref].shape;
  if (!shape) return std::nullopt;  // reported where it was made
  if (*at < 0 || static_cast<uint64_t>(*at) >= shape->size()) {
    return fail("scan/axis", where,
                fmt::format("axis {} of a scanned input of shape {}", *at, to_string(*shape)),
                frame);
  }
  if (!(*shape)[static_cast<size_t>(*at)].known()) {
    return fail("scan/symbol", where,
                fmt::format("axis {} of a scanned input of shape {} has no known extent", *at,
                            to_string(*shape)),
                frame, "give the shape of the input that has the symbol: --shape NAME=1,128");
  }
  const int64_t extent = (*shape)[static_cast<size_t>(*at)].value();
  const int64_t size = std::abs(step);
  const int64_t begin = step > 0 ? iteration * size : extent - (iteration + 1) * size;
  const auto list = [&](int64_t item) { return CallArgument{Array{{Value(item)}}, where, false}; };
  return emit(*Declarations::standard().find("slice"),
              {{tensor, where, false},
               list(*at),
               list(std::max<int64_t>(begin, 0)),
               list(std::min(begin + size, extent)),
               {Array{}, where, true}},
              std::nullopt, std::nullopt, where, frame, {});
}

Expander::Result Expander::scan(const Expr& expr, Frame& frame, const Target& target) {
  const Expr* names[] = {argument_of(expr, "body", 0), argument_of(expr, "scan", 1),
                         argument_of(expr, "full", 2), argument_of(expr, "state", 3),
                         argument_of(expr, "output", 4)};
  Value lists[5];
  for (size_t i = 0; i < 5; ++i) {
    lists[i] = Array{};
    if (!names[i]) continue;
    Result value = evaluate(*names[i], frame);
    if (!value) return std::nullopt;
    lists[i] = std::move(*value);
  }
  const auto wrong = [&](std::string message) {
    return fail("scan/item", expr.where, std::move(message), frame,
                "body is the name of a fragment; scan holds (parameter, tensor, axis, step), full "
                "(parameter, tensor), state (parameter, tensor, result), output (result, 'full' or "
                "'last', axis, step)");
  };
  const auto* body_name = lists[0].get<std::string>();
  const ast::Fragment* body = body_name ? declarations_.find(*body_name) : nullptr;
  if (!body || !body->has_body) {
    return wrong(body_name ? fmt::format("there is no fragment '{}' with a body", *body_name)
                           : "the body is not named");
  }
  const auto scanned = read_items(lists[1], 4, 4);
  const auto full = read_items(lists[2], 2, 2);
  auto states = read_items(lists[3], 3, 3);
  const auto outputs = read_items(lists[4], 4, 4);
  if (!scanned || scanned->empty() || !full || !states || !outputs || outputs->empty())
    return wrong("a list of the scan has other items than expected");
  if (const Expr* skip = argument_of(expr, "skip", 5)) {
    const Result skipped = evaluate(*skip, frame);
    if (skipped && !(*skipped == Value(int64_t{0})))
      return fail("scan/skip", skip->where, "outputs that are skipped are not supported", frame);
  }

  const auto* first = (*scanned)[0].second.get<TensorRef>();
  const auto* axis = (*scanned)[0].third.get<int64_t>();
  if (!first || !axis) return wrong("a scanned input is a tensor with an axis");
  if (!graph_[*first].shape) return std::nullopt;
  const Shape& shape = *graph_[*first].shape;
  if (*axis < 0 || static_cast<uint64_t>(*axis) >= shape.size())
    return wrong("an axis is out of range");
  const Dim length = ceil_div(shape[static_cast<size_t>(*axis)], std::abs((*scanned)[0].step));
  if (!length.known()) return loop({body, *scanned, *full, *states, *outputs}, expr, frame, target);
  const int64_t iterations = length.value();

  std::vector<Array> collected(outputs->size());
  for (int64_t iteration = 0; iteration < iterations; ++iteration) {
    std::map<std::string_view, Value> given;
    for (const ScanItem& item : *scanned) {
      Result part = scan_slice(item.second, item.third, item.step, iteration, expr.where, frame);
      if (!part) return std::nullopt;
      given[item.name] = std::move(*part);
    }
    for (const ScanItem& item : *full) given[item.name] = item.second;
    for (const ScanItem& item : *states) given[item.name] = item.second;
    std::vector<CallArgument> arguments;
    for (const ast::Parameter& parameter : body->parameters) {
      const auto found = given.find(parameter.name);
      if (found == given.end())
        return wrong(
            fmt::format("parameter '{}' of '{}' is not given", parameter.name, body->name));
      arguments.push_back({found->second, expr.where, false});
    }
    const Result results =
        call(*body, std::move(arguments), std::nullopt, std::nullopt, expr.where, frame, {});
    if (!results) return std::nullopt;
    for (ScanItem& state : *states) {
      const auto* name = state.third.get<std::string>();
      const Value* next = name ? find_result(*results, *body, *name) : nullptr;
      if (!next)
        return wrong(fmt::format("state '{}' has no result in '{}'", state.name, body->name));
      state.second = *next;
    }
    for (size_t i = 0; i < outputs->size(); ++i) {
      const Value* result = find_result(*results, *body, (*outputs)[i].name);
      if (!result)
        return wrong(fmt::format("'{}' is no result of '{}'", (*outputs)[i].name, body->name));
      collected[i].items.push_back(*result);
    }
  }

  Tuple results;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const ScanItem& output = (*outputs)[i];
    if (output.second == Value(std::string("last"))) {
      results.items.push_back(collected[i].items.back());
      continue;
    }
    if (output.step < 0) std::ranges::reverse(collected[i].items);
    Result joined =
        emit(*Declarations::standard().find("concat"),
             {{std::move(collected[i]), expr.where, false}, {output.third, expr.where, false}},
             std::nullopt, std::nullopt, expr.where, frame,
             outputs->size() == 1 ? target : target.item(i));
    if (!joined) return std::nullopt;
    results.items.push_back(std::move(*joined));
  }
  return results.items.size() == 1 ? std::move(results.items[0]) : Value(std::move(results));
}

}  // namespace nnef
