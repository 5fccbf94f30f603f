#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "expander.h"

namespace nnef {
namespace {

bool is_label_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.-/\\").find(c) != std::string_view::npos;
}

/// True when the label, taken as a path, may lead out of the model.
bool leaves_model(std::string_view label) {
  const auto is_separator = [](char c) { return c == '/' || c == '\\'; };
  while (!label.empty()) {
    const auto end = static_cast<size_t>(std::ranges::find_if(label, is_separator) - label.begin());
    if (label.substr(0, end) == "..") return true;
    label.remove_prefix(std::min(end + 1, label.size()));
  }
  return false;
}

std::string shape_text(const Value& shape) {
  std::string text = "[";
  for (const Value& item : *items_of(shape)) {
    if (text.size() > 1) text += ",";
    text += std::to_string(*item.get<int64_t>());
  }
  return text + "]";
}

class VariableRules {
 public:
  VariableRules(const Graph& graph, Diagnostics& diagnostics)
      : graph_(graph), diagnostics_(diagnostics) {}

  void check() {
    for (const Operation& operation : graph_.operations) {
      if (operation.name == "variable") check_variable(operation);
      if (operation.name == "update") check_update(operation);
    }
  }

 private:
  void check_variable(const Operation& operation) {
    const OpView view(graph_, operation);
    const std::string& label = view.string("label");
    variables_.emplace(view.result("output").index, label_key(label));
    check_label(label, view.argument("label").where);

    const auto [place, fresh] = by_label_.emplace(label_key(label), &operation);
    if (fresh) return;
    const OpView first(graph_, *place->second);
    if (first.value("shape") == view.value("shape")) return;
    diagnostics_
        .error(
            "variable/shared-shape", view.argument("shape").where,
            fmt::format("variables with label '{}' share their data, but have shapes {} and {}",
                        label, shape_text(first.value("shape")), shape_text(view.value("shape"))))
        .note(fmt::format("label '{}' is first used", first.string("label")),
              first.argument("label").where)
        .help("labels that differ in nothing but case are equal; choose another label");
  }

  void check_label(const std::string& label, const Location& where) {
    const auto bad = std::ranges::find_if_not(label, is_label_character);
    if (label.empty() || bad != label.end()) {
      diagnostics_
          .error("variable/label-characters", where,
                 label.empty() ? std::string("the label of a variable is empty")
                               : fmt::format("label '{}' contains {}", label,
                                             std::isprint(static_cast<unsigned char>(*bad)) != 0
                                                 ? fmt::format("the character '{}'", *bad)
                                                 : std::string("a character that is not allowed")))
          .help("labels are made of letters, digits and _ . - / \\");
    } else if (leaves_model(label)) {
      diagnostics_
          .error("variable/label-path", where,
                 fmt::format("label '{}' names a file outside of the model", label))
          .help("a label is a relative path without '..', such as conv1/filter");
    }
  }

  void check_update(const Operation& operation) {
    const OpView view(graph_, operation);
    const Argument& target = view.argument("variable");
    const auto* ref = target.value.get<TensorRef>();
    const auto variable = ref ? variables_.find(ref->index) : variables_.end();
    if (variable == variables_.end()) {
      diagnostics_
          .error("update/not-a-variable", target.where,
                 ref ? fmt::format("only a variable can be updated, but '{}' is none",
                                   graph_[*ref].name)
                     : std::string("only a variable can be updated, found a literal"))
          .help("the first argument of 'update' is the result of 'variable'");
      return;
    }
    const auto [place, fresh] = updated_.emplace(variable->second, operation.where);
    if (fresh) return;
    diagnostics_
        .error("update/twice", operation.where,
               fmt::format("variable '{}' is updated twice", graph_[*ref].name))
        .note("first updated", place->second)
        .help("all updates take effect after the graph has run, so a variable has one at most");
  }

  const Graph& graph_;
  Diagnostics& diagnostics_;
  std::map<std::string, const Operation*> by_label_;
  std::map<uint32_t, std::string> variables_;  ///< folded labels by the tensor of the variable
  std::map<std::string, Location> updated_;    ///< by folded label
};

}  // namespace

void check_variables(const Graph& graph, Diagnostics& diagnostics) {
  VariableRules(graph, diagnostics).check();
}

}  // namespace nnef
