#include "graph_case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "nnef/model.h"
#include "recipes.h"

namespace generator {
namespace {

constexpr int max_attempts = 6;
constexpr uint32_t max_others = 5;

/// The graph that a text stands for, when it is valid and its results are of a reasonable size.
std::optional<nnef::Graph> checked(const std::string& text) {
  nnef::Diagnostics diagnostics;
  auto graph =
      nnef::load_text(std::make_shared<nnef::Source>("graph.nnef", text), nullptr, {}, diagnostics);
  if (!graph || diagnostics.has_errors()) return std::nullopt;
  for (const nnef::Tensor& tensor : graph->tensors) {
    const nnef::Dim items = nnef::volume(*tensor.shape);
    if (!items.valid() || items.value() > max_result_items) return std::nullopt;
  }
  return graph;
}

std::vector<std::string> names_of(const std::vector<Statement>& statements,
                                  const std::vector<Given>& given) {
  std::vector<std::string> names;
  for (const Statement& statement : statements) {
    for (const Operand& made : statement.made) names.push_back(made.text);
  }
  if (names.empty()) {
    for (const Given& tensor : given) names.push_back(tensor.name);
  }
  return names;
}

/// Takes types and shapes of the newest results from inference.
bool infer(Draft& draft) {
  const auto graph =
      checked(graph_text(draft.given, draft.statements, names_of(draft.statements, draft.given)));
  if (!graph) return false;
  for (Statement& statement : draft.statements) {
    for (Operand& made : statement.made) {
      const auto tensor = std::ranges::find(graph->tensors, made.text, &nnef::Tensor::name);
      made.dtype = tensor->dtype;
      made.shape.clear();
      for (const nnef::Dim& extent : *tensor->shape) made.shape.push_back(extent.value());
    }
  }
  return true;
}

/// The grammar wants an input, needed or not.
void ensure_input(Draft& draft) {
  if (std::ranges::count(draft.given, Given::Kind::external, &Given::kind) > 0) return;
  draft.make(Given::Kind::external, DType::scalar, {1});
}

void draw_operation(Draft& draft, std::string_view focus, GraphCase& result) {
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    const Draft::Mark mark = draft.mark();
    const Recipe& recipe = focus.empty() ? draft.choices.pick(recipes()) : *find_recipe(focus);
    const std::string operation(recipe.operation);
    recipe.draw(draft, operation);
    ensure_input(draft);
    if (infer(draft)) {
      ++result.attempts[operation].valid;
      return;
    }
    ++result.attempts[operation].invalid;
    draft.back_to(mark);
  }
}

std::vector<std::string> draw_outputs(Draft& draft) {
  std::set<std::string> consumed;
  for (const Statement& statement : draft.statements) {
    consumed.insert(statement.operands.begin(), statement.operands.end());
  }
  std::vector<std::string> outputs;
  for (const std::string& name : names_of(draft.statements, draft.given)) {
    if (!consumed.contains(name) || draft.choices.rarely(4)) outputs.push_back(name);
  }
  return outputs;
}

const char* npy_type(DType dtype) {
  if (dtype == DType::scalar) return "float32";
  return dtype == DType::integer ? "int32" : "bool";
}

const char* dat_type(DType dtype) {
  if (dtype == DType::scalar) return "float32";
  return dtype == DType::integer ? "int32" : "bool8";
}

std::string items_text(DType dtype, const std::vector<double>& items) {
  std::vector<std::string> words;
  for (const double item : items) {
    if (dtype == DType::scalar) {
      words.push_back(fmt::format("{}", static_cast<float>(item)));
    } else {
      words.push_back(fmt::format("{}", static_cast<int64_t>(item)));
    }
  }
  return fmt::format("{}\n", fmt::join(words, " "));
}

}  // namespace

std::vector<const Given*> GraphCase::of_kind(Given::Kind kind) const {
  std::vector<const Given*> result;
  for (const Given& tensor : given) {
    if (tensor.kind == kind) result.push_back(&tensor);
  }
  return result;
}

GraphCase draw_case(Choices& choices, std::string_view focus) {
  GraphCase result;
  Draft draft(choices);
  // Each further operation follows a choice of its own, so that both can be taken away together.
  uint32_t others = 0;
  const auto draw_others = [&] {
    for (; others < max_others && choices.rarely(3); ++others) draw_operation(draft, "", result);
  };
  draw_others();
  draw_operation(draft, focus, result);
  draw_others();
  if (draft.given.empty()) return result;
  result.outputs = draw_outputs(draft);
  result.given = draft.given;
  result.statements = draft.statements;
  result.text = graph_text(result.given, result.statements, result.outputs);
  return result;
}

std::string case_text(const GraphCase& graph_case, const std::string& comment,
                      const std::map<std::string, std::vector<double>>& expected,
                      const std::map<std::string, Operand>& tensors) {
  std::string text = fmt::format("# {}\n--- file graph.nnef\n{}", comment, graph_case.text);
  std::string run = "--- run run model";
  for (const Given* tensor : graph_case.of_kind(Given::Kind::variable)) {
    text += fmt::format("--- dat {}.dat {} {}\n{}", tensor->name, dat_type(tensor->dtype),
                        list(tensor->shape), items_text(tensor->dtype, tensor->items));
  }
  for (const Given* tensor : graph_case.of_kind(Given::Kind::external)) {
    text += fmt::format("--- npy {}.npy {} {}\n{}", tensor->name, npy_type(tensor->dtype),
                        list(tensor->shape), items_text(tensor->dtype, tensor->items));
    run += fmt::format(" --input {0}={0}.npy", tensor->name);
  }
  for (const auto& [name, items] : expected) {
    const Operand& tensor = tensors.at(name);
    text += fmt::format("--- npy {}-expected.npy {} {}\n{}", name, npy_type(tensor.dtype),
                        list(tensor.shape), items_text(tensor.dtype, items));
    run += fmt::format(" --expect {0}={0}-expected.npy", name);
  }
  return text + run + "\n";
}

}  // namespace generator
