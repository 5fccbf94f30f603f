#include "reference_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <set>

#include "nnef/model.h"
#include "nnef/reference.h"
#include "recipes.h"

namespace generator {
namespace {

constexpr double unknown = std::numeric_limits<double>::infinity();
/// Enough that items which are equal but for rounding change their order in one of them.
constexpr int noisy_runs = 12;
/// A few units in the last place of float32.
constexpr double noise = 0x1p-21;

nnef::TensorDataPtr data_of(const Given& tensor) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  const auto append = [&](const auto item) {
    const auto* from = reinterpret_cast<const std::byte*>(&item);
    bytes->insert(bytes->end(), from, from + sizeof item);
  };
  for (const double item : tensor.items) {
    if (tensor.dtype == DType::scalar) append(static_cast<float>(item));
    if (tensor.dtype == DType::integer) append(static_cast<int32_t>(item));
    if (tensor.dtype == DType::logical) append(static_cast<uint8_t>(item != 0 ? 1 : 0));
  }
  auto data = std::make_shared<nnef::TensorData>();
  data->type = nnef::default_item(tensor.dtype);
  data->shape = nnef::Shape(tensor.shape.begin(), tensor.shape.end());
  data->bytes = *bytes;
  data->owner = bytes;
  return data;
}

std::vector<double> reals(const nnef::TensorValue& value) {
  if (const auto* items = std::get_if<nnef::TensorValue::Reals>(&value.items)) return *items;
  const auto& items = std::get<nnef::TensorValue::Integers>(value.items);
  return {items.begin(), items.end()};
}

/// The values of all tensors by name, after the last cycle.
std::optional<Values> evaluate(const std::string& text, const std::vector<Given>& given, int cycles,
                               std::map<std::string, Operand>* tensors,
                               nnef::Diagnostics& diagnostics) {
  const auto graph = load_case(
      text, given, [](std::string_view) { return false; }, diagnostics);
  if (!graph) return std::nullopt;
  const auto reference = nnef::Reference::create(*graph, diagnostics);
  if (!reference) return std::nullopt;
  std::vector<nnef::TensorValue> inputs;
  for (const nnef::TensorRef ref : graph->inputs) {
    const nnef::Tensor& tensor = (*graph)[ref];
    const auto source = std::ranges::find(given, tensor.name, &Given::name);
    inputs.push_back(*nnef::to_value(*data_of(*source), tensor.dtype, tensor.item));
  }
  std::optional<std::vector<nnef::TensorValue>> values;
  for (int i = 0; i < cycles; ++i) {
    values = reference->run(inputs, diagnostics);
    if (!values) return std::nullopt;
  }
  Values result;
  for (size_t i = 0; i < values->size(); ++i) {
    result[graph->tensors[i].name] = reals((*values)[i]);
    if (tensors != nullptr) {
      const auto& value = (*values)[i];
      (*tensors)[graph->tensors[i].name] = {graph->tensors[i].name, value.dtype, value.shape};
    }
  }
  return result;
}

bool finite(const std::vector<double>& items) {
  return std::ranges::all_of(items, [](double item) { return std::isfinite(item); });
}

std::string operation_of(const Statement& statement) {
  return statement.operation.substr(0, statement.operation.find('<'));
}

Precision precision_of(const Statement& statement) {
  return find_recipe(operation_of(statement))->precision;
}

double largest_of(const std::vector<double>& items) {
  double largest = 0;
  for (const double item : items) {
    if (std::isfinite(item)) largest = std::max(largest, std::abs(item));
  }
  return largest;
}

/// The place of a result's name on the left side of a statement.
size_t find_name(const std::string& results, const std::string& name) {
  for (size_t at = results.find(name);; at = results.find(name, at + 1)) {
    const size_t end = at + name.size();
    if (end == results.size() || results[end] == ',' || results[end] == ']') return at;
  }
}

/// The same graph, with errors as of rounding added to whatever is computed with rounding.
class NoisyGraph {
 public:
  NoisyGraph(const GraphCase& graph_case, const Values& values, uint64_t seed)
      : engine_(seed), given_(graph_case.given) {
    if (std::ranges::count(graph_case.statements, Precision::stepped, precision_of) > 0) {
      disturb_given();
    }
    std::vector<Statement> statements;
    for (Statement statement : graph_case.statements) {
      std::vector<Statement> sums;
      for (const Operand& made : statement.made) {
        if (precision_of(statement) == Precision::exact || made.dtype != DType::scalar) continue;
        sums.push_back(disturb(statement, made, values));
      }
      statements.push_back(std::move(statement));
      std::ranges::move(sums, std::back_inserter(statements));
    }
    text_ = graph_text(given_, statements, graph_case.outputs);
  }

  const std::string& text() const { return text_; }
  const std::vector<Given>& given() const { return given_; }

 private:
  double error() { return std::uniform_real_distribution<double>(-noise, noise)(engine_); }

  /// Renames the result, and returns the sum that takes its place.
  Statement disturb(Statement& statement, const Operand& made, const Values& values) {
    const std::string exact = made.text + "_exact";
    statement.results.replace(find_name(statement.results, made.text), made.text.size(), exact);
    // What cancels in an operation is as large as its operands, more or less.
    const auto& items = values.at(made.text);
    double largest = largest_of(items);
    for (const std::string& operand : statement.operands) {
      const auto found = values.find(operand);
      if (found != values.end()) largest = std::max(largest, largest_of(found->second));
    }
    Given errors{Given::Kind::external, made.text + "_error", DType::scalar, made.shape, {}};
    for (const double item : items) {
      const double size = std::isfinite(item) ? std::abs(item) + largest / 16 : 0;
      errors.items.push_back(error() * size);
    }
    const std::string sum = fmt::format("add({}, {})", exact, errors.name);
    given_.push_back(std::move(errors));
    return {"add", made.text, sum, {}, {}};
  }

  void disturb_given() {
    for (Given& tensor : given_) {
      if (tensor.dtype != DType::scalar) continue;
      for (double& item : tensor.items) item *= 1 + error();
    }
  }

  std::mt19937_64 engine_;
  std::vector<Given> given_;
  std::string text_;
};

/// Results of operations on what is not finite: two ways to compute them need not agree.
std::set<std::string> unreliable(const GraphCase& graph_case, const Values& values) {
  std::set<std::string> names;
  for (const Statement& statement : graph_case.statements) {
    const bool bad = std::ranges::any_of(statement.operands, [&](const std::string& operand) {
      const auto found = values.find(operand);
      return names.contains(operand) || (found != values.end() && !finite(found->second));
    });
    if (!bad) continue;
    for (const Operand& made : statement.made) names.insert(made.text);
  }
  return names;
}

/// A disturbance of rounding matters when something is computed from it, or stepped by itself.
bool needs_noise(const GraphCase& graph_case) {
  return graph_case.statements.size() > 1 ||
         std::ranges::count(graph_case.statements, Precision::stepped, precision_of) > 0;
}

void widen(std::vector<double>& doubt, const std::vector<double>& items,
           const std::vector<double>& disturbed, bool real) {
  for (size_t i = 0; i < doubt.size(); ++i) {
    const double moved = std::abs(disturbed[i] - items[i]);
    if (!std::isfinite(moved)) {
      doubt[i] = unknown;
    } else if (real) {
      doubt[i] = std::max(doubt[i], moved);
    } else if (moved != 0) {
      doubt[i] = unknown;
    }
  }
}

}  // namespace

int cycles(const GraphCase& graph_case) {
  const bool updates =
      std::ranges::count(graph_case.statements, "update", &Statement::operation) > 0;
  return updates ? 2 : 1;
}

std::optional<nnef::Graph> load_case(const std::string& text, const std::vector<Given>& given,
                                     bool (*keep)(std::string_view),
                                     nnef::Diagnostics& diagnostics) {
  nnef::LoadOptions options;
  options.keep_compound = keep;
  auto graph = nnef::load_text(std::make_shared<nnef::Source>("graph.nnef", text), nullptr, options,
                               diagnostics);
  if (!graph || diagnostics.has_errors()) return std::nullopt;
  for (const Given& tensor : given) {
    if (tensor.kind != Given::Kind::variable) continue;
    std::ranges::find(graph->tensors, tensor.name, &nnef::Tensor::name)->data = data_of(tensor);
  }
  return graph;
}

std::optional<Expectation> expect(const GraphCase& graph_case, nnef::Diagnostics& diagnostics) {
  Expectation result;
  const int runs = cycles(graph_case);
  const auto values =
      evaluate(graph_case.text, graph_case.given, runs, &result.tensors, diagnostics);
  if (!values) return std::nullopt;
  const auto bad = unreliable(graph_case, *values);
  for (const std::string& output : graph_case.outputs) {
    const auto& items = values->at(output);
    result.values[output] = items;
    auto& doubt = result.doubt[output];
    doubt.assign(items.size(), bad.contains(output) ? unknown : 0);
    widen(doubt, items, items, true);  // what is not finite differs from itself
  }
  for (uint64_t run = 0; needs_noise(graph_case) && run < noisy_runs; ++run) {
    const NoisyGraph noisy(graph_case, *values, run + 1);
    const auto disturbed = evaluate(noisy.text(), noisy.given(), runs, nullptr, diagnostics);
    if (!disturbed) return std::nullopt;
    for (const std::string& output : graph_case.outputs) {
      const bool real = result.tensors.at(output).dtype == DType::scalar;
      widen(result.doubt[output], result.values[output], disturbed->at(output), real);
    }
  }
  return result;
}

}  // namespace generator
