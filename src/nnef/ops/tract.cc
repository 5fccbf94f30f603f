// Operations of tract that are not element-wise.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "nnef/model.h"
#include "ops/helpers.h"
#include "tract_types.h"

namespace nnef {
namespace {

bool shape_of(RuleContext& c) {
  c.set("output", {static_cast<int64_t>(c.shape("input").size())});
  c.set_resolved("item", Value(to_string(kTractDimension)));
  return true;
}

bool cast(RuleContext& c) {
  const std::string& to = c.string("to");
  const auto type = find_tract_type(to);
  if (!type) {
    return c.fail("type", "to", fmt::format("'to' is '{}', which is no type of items", to),
                  "known types: " + tract_type_names());
  }
  c.set("output", c.shape("input"), type->dtype);
  c.set_resolved("item", Value(to_string(type->item)));
  return true;
}

/// The batches of keys and values meet those of queries; there may be several heads of queries for
/// one of keys.
bool check_heads(RuleContext& c, const Shape& q, const Shape& k) {
  for (size_t axis = 0; axis + 2 < q.size(); ++axis) {
    const bool heads = axis + 3 == q.size();
    const bool fits = k[axis] == q[axis] ||
                      (heads && q.size() == 4 && floor_div(q[axis], k[axis]) * k[axis] == q[axis]);
    if (fits) continue;
    return c.fail(
        "heads", "k",
        fmt::format("'q' has shape {} and 'k' {}: on axis {} the extents are {} and {}",
                    to_string(q), to_string(k), axis, to_string(q[axis]), to_string(k[axis])));
  }
  return true;
}

bool sdpa(RuleContext& c) {
  const Shape& q = c.shape("q");
  const Shape& k = c.shape("k");
  const Shape& v = c.shape("v");
  const size_t rank = q.size();
  if ((rank != 3 && rank != 4) || k.size() != rank || v.size() != rank) {
    return c.fail("rank", "q",
                  fmt::format("'q', 'k' and 'v' have ranks {}, {} and {}, expected 3 or 4 for all",
                              rank, k.size(), v.size()));
  }
  if (!(q.back() == k.back())) {
    return c.fail("inner", "k",
                  fmt::format("rows of 'q' have {} items, those of 'k' {}", to_string(q.back()),
                              to_string(k.back())));
  }
  const Shape keys(k.begin(), k.end() - 1);
  if (keys != Shape(v.begin(), v.end() - 1)) {
    return c.fail("values", "v",
                  fmt::format("'k' has shape {} and 'v' {}: only the last axis may differ",
                              to_string(k), to_string(v)));
  }
  if (!check_heads(c, q, k)) return false;
  Shape scores = q;
  scores.back() = k[rank - 2];
  if (!c.shape("mask").empty()) {
    if (c.shape("mask").size() != rank || !check_broadcastable(c, "mask", scores)) {
      return c.shape("mask").size() == rank
                 ? false
                 : c.fail("mask-rank", "mask",
                          fmt::format("'mask' has rank {}, expected {} as 'q' has",
                                      c.shape("mask").size(), rank));
    }
    if (c.logical("is_causal")) {
      return c.fail("mask-causal", "is_causal", "'mask' and 'is_causal' exclude each other");
    }
  }
  Shape shape = q;
  shape.back() = v.back();
  c.set("output", shape);
  return true;
}

/// "ij,jk->ik": the letters of each input, and of the result.
bool einsum(RuleContext& c) {
  std::string text;
  for (const char letter : c.string("expr")) {
    if (letter != ' ') text += letter;
  }
  const auto wrong = [&](const std::string& what) {
    return c.fail("expr", "expr", fmt::format("'expr' is '{}': {}", c.string("expr"), what),
                  "an expression looks like this: bij,bjk->bik");
  };
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos) return wrong("it has no '->'");
  const auto is_letter = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
  };
  const std::string result = text.substr(arrow + 2);
  std::vector<std::string> terms(1);
  for (const char letter : text.substr(0, arrow)) {
    if (letter == ',') {
      terms.emplace_back();
    } else if (is_letter(letter)) {
      terms.back() += letter;
    } else {
      return wrong(fmt::format("'{}' is no letter", letter));
    }
  }
  const std::vector<Value>& inputs = c.items("inputs");
  if (terms.size() != inputs.size()) {
    return wrong(fmt::format("it has {}, but there are {}", count(terms.size(), "term"),
                             count(inputs.size(), "input")));
  }
  std::map<char, Dim> extents;
  std::vector<int64_t> letters;
  for (size_t i = 0; i < terms.size(); ++i) {
    const Shape& shape = c.shape_of(inputs[i]);
    if (shape.size() != terms[i].size()) {
      return wrong(fmt::format("the term '{}' is of rank {}, but input {} has shape {}", terms[i],
                               terms[i].size(), i, to_string(shape)));
    }
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      letters.push_back(terms[i][axis]);
      Dim& extent = extents.emplace(terms[i][axis], shape[axis]).first->second;
      if (extent == 1) extent = shape[axis];
      if (extent == shape[axis] || shape[axis] == 1) continue;
      return c.fail("extents", "inputs",
                    fmt::format("the extents of '{}' are {} and {}", terms[i][axis],
                                to_string(extent), to_string(shape[axis])));
    }
  }
  Shape shape;
  std::vector<int64_t> result_letters;
  for (const char letter : result) {
    const auto found = extents.find(letter);
    if (found == extents.end()) return wrong(fmt::format("'{}' is in no term", letter));
    shape.push_back(found->second);
    result_letters.push_back(letter);
  }
  c.set_resolved("letters", letters);
  c.set_resolved("result_letters", result_letters);
  c.set("result", std::move(shape));
  return true;
}

/// A body that a scan was made to: results are as those of the body, of all iterations side by side
/// where they have an axis.
bool loop(RuleContext& c) {
  Diagnostics faults;
  const auto text = std::make_shared<Source>("body", c.string("body"));
  LoadOptions options;
  options.dialect = Dialect::tract;
  const auto body = load_text(text, nullptr, options, faults);
  const std::vector<int64_t> axes = c.integers("scanned_axes");
  const std::vector<int64_t> output_axes = c.integers("output_axes");
  const size_t states = c.items("state").size();
  const auto& scanned = c.items("scanned");
  if (!body || scanned.empty() || axes.size() != scanned.size() ||
      body->inputs.size() != scanned.size() + c.items("full").size() + states ||
      body->outputs.size() != states + output_axes.size() || axes[0] < 0 ||
      static_cast<size_t>(axes[0]) >= c.shape_of(scanned[0]).size()) {
    return c.fail("body", "body", "the body does not suit the lists of tensors",
                  faults.has_errors() ? faults.items().front().message : "");
  }
  if (!check_results(c, "outputs", output_axes.size(), "'output_axes'")) return false;
  const Dim length = c.shape_of(scanned[0])[static_cast<size_t>(axes[0])];
  for (size_t i = 0; i < output_axes.size(); ++i) {
    Shape shape = *(*body)[body->outputs[states + i]].shape;
    if (output_axes[i] >= static_cast<int64_t>(shape.size()))
      return c.fail("axis", "output_axes", fmt::format("result {} has no such axis", i));
    if (output_axes[i] >= 0) {
      Dim& extent = shape[static_cast<size_t>(output_axes[i])];
      extent = extent * length;
    }
    c.set_item("outputs", i, std::move(shape));
  }
  return true;
}

constexpr std::array kRules{
    ShapeRuleRow{"tract_core_loop", loop},         ShapeRuleRow{"tract_core_einsum", einsum},
    ShapeRuleRow{"tract_core_shape_of", shape_of}, ShapeRuleRow{"tract_core_cast", cast},
    ShapeRuleRow{"tract_transformers_sdpa", sdpa},
};

}  // namespace

std::span<const ShapeRuleRow> tract_rules() { return kRules; }

}  // namespace nnef
