// Shapes and types of a flat graph: one walk over its operations, each by the rule of its name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ops/rule.h"
#include "stages.h"

namespace nnef {
namespace {

/// Bytes of the widest item; a tensor's bytes must fit in 64 bits whatever its item type.
constexpr int64_t kWidestItem = 8;

using InputShapes = std::map<std::string, Shape, std::less<>>;

/// What a type is made of inside of tensors and arrays; nothing for generic types.
std::optional<DType> item_type(const ast::Type& type) {
  using Kind = ast::Type::Kind;
  if (type.kind == Kind::primitive) return type.primitive;
  const bool wraps = type.kind == Kind::tensor || type.kind == Kind::array;
  return wraps && !type.items.empty() ? item_type(type.items[0]) : std::nullopt;
}

/// The type that '?' or number stands for in an invocation: written, or the declaration's default,
/// or the operands'.
DType generic_type(const ast::Fragment& declaration, const OpView& op) {
  if (op.operation().type_argument) return *op.operation().type_argument;
  if (declaration.generic_default) {
    return item_type(*declaration.generic_default).value_or(DType::scalar);
  }
  std::optional<DType> of_tensor;
  std::optional<DType> of_literal;
  for (const ast::Parameter& parameter : declaration.parameters) {
    if (!is_generic(parameter.type) || !op.has(parameter.name)) continue;
    const Value& value = op.value(parameter.name);
    each_tensor(value,
                [&](TensorRef ref) { of_tensor = of_tensor.value_or(op.graph()[ref].dtype); });
    if (value.get<Array>() == nullptr) of_literal = of_literal.value_or(op.dtype_of(value));
  }
  return of_tensor ? *of_tensor : of_literal.value_or(DType::scalar);
}

/// Attributes that may have symbols.
struct ExtentRow {
  std::string_view operation;
  std::array<std::string_view, 3> attributes;
};
constexpr std::array kExtents{
    ExtentRow{"external", {"shape"}},
    ExtentRow{"constant", {"shape", "value"}},
    ExtentRow{"reshape", {"shape"}},
    ExtentRow{"tile", {"repeats"}},
    ExtentRow{"slice", {"begin", "end"}},
    ExtentRow{"tract_core_broadcast", {"shape"}},
    ExtentRow{"tract_core_range", {"start", "end", "step"}},
};

class Inference {
 public:
  Inference(Graph& graph, Diagnostics& diagnostics) : graph_(graph), diagnostics_(diagnostics) {}

  void override_inputs(const InputShapes& shapes) {
    for (const auto& [name, shape] : shapes) override_input(name, shape);
  }

  void run() {
    for (Operation& operation : graph_.operations) infer(operation);
  }

  bool infer(Operation& operation) {
    set_types(operation);
    if (has_failed_input(operation)) return false;
    const bool good = apply_rule(operation);
    if (!good) forget_results(operation);
    return good;
  }

 private:
  Operation* find_external(std::string_view name) {
    for (Operation& operation : graph_.operations) {
      if (operation.name != "external") continue;
      const TensorRef* ref = operation.outputs[0].value.get<TensorRef>();
      if (ref != nullptr && graph_[*ref].name == name) return &operation;
    }
    return nullptr;
  }

  void override_input(const std::string& name, const Shape& shape) {
    Operation* external = find_external(name);
    if (external == nullptr) return report_unknown_input(graph_, "a shape", name, diagnostics_);
    const auto argument = std::ranges::find(external->attributes, "shape", &Argument::name);
    if (argument == external->attributes.end()) return;
    const size_t rank = OpView(graph_, *external).extent_list("shape").size();
    if (shape.size() != rank) {
      diagnostics_
          .error("infer/input-rank", argument->where,
                 fmt::format("the shape {} given for input '{}' has rank {}, but it is declared "
                             "with rank {}",
                             to_string(shape), name, shape.size(), rank))
          .help("extents may be replaced, the rank must stay");
      return;
    }
    const bool positive = std::ranges::all_of(
        shape, [](const Dim& extent) { return extent.valid() && extent.least() > 0; });
    if (!positive) {
      diagnostics_.error("infer/input-positive", argument->where,
                         fmt::format("the shape {} given for input '{}' has an extent below 1",
                                     to_string(shape), name));
      return;
    }
    Array items;
    for (const Dim& extent : shape) items.items.emplace_back(extent);
    argument->value = std::move(items);
  }

  void set_types(const Operation& operation) {
    const ast::Fragment* declaration = Declarations::find_built_in(operation.name);
    if (declaration == nullptr) return;
    const OpView view(graph_, operation);
    for (const ast::Result& result : declaration->results) {
      const auto output = std::ranges::find(operation.outputs, result.name, &Argument::name);
      if (output == operation.outputs.end()) continue;
      const auto fixed = item_type(result.type);
      const DType type = fixed ? *fixed : generic_type(*declaration, view);
      each_tensor(output->value, [&](TensorRef ref) { graph_[ref].dtype = type; });
    }
  }

  bool has_failed_input(const Operation& operation) const {
    bool failed = false;
    each_tensor(operation.inputs,
                [&](TensorRef ref) { failed = failed || !graph_[ref].shape.has_value(); });
    return failed;
  }

  bool apply_rule(Operation& operation) {
    const ShapeRule rule = find_shape_rule(operation.name);
    if (rule == nullptr) return report_no_rule(operation);
    RuleContext context(graph_, operation, diagnostics_);
    if (!check_symbols(context, operation)) return false;
    return rule(context) && check_sizes(context, operation);
  }

  /// Attributes that must be known when the model is compiled.
  static bool check_symbols(RuleContext& context, const Operation& operation) {
    for (const Argument& attribute : operation.attributes) {
      const Value* symbol = nullptr;
      each_item(attribute.value, [&](const Value& item) {
        if (item.get<Dim>()) symbol = &item;
      });
      const auto row = std::ranges::find(kExtents, operation.name, &ExtentRow::operation);
      const bool allowed =
          row != kExtents.end() &&
          std::ranges::find(row->attributes, attribute.name) != row->attributes.end();
      if (symbol == nullptr || allowed) continue;
      return context.fail("symbol", attribute.name,
                          fmt::format("attribute '{}' is {}, but must be known when the model is "
                                      "compiled",
                                      attribute.name, to_string(*symbol->get<Dim>())),
                          "give the shape of the input that has the symbol: --shape NAME=1,128");
    }
    return true;
  }

  /// Rules keep extents positive; that the size fits in 64 bits is checked here for all of them.
  bool check_sizes(RuleContext& context, const Operation& operation) {
    bool good = true;
    each_tensor(operation.outputs, [&](TensorRef ref) {
      const Tensor& tensor = graph_[ref];
      assert(tensor.shape.has_value() && "the rule left a result without a shape");
      assert(std::ranges::none_of(*tensor.shape,
                                  [](const Dim& d) { return d.known() && d.value() < 1; }));
      if (!good || (volume(*tensor.shape) * kWidestItem).valid()) return;
      good =
          context.fail("size-overflow", "",
                       fmt::format("'{}' would have shape {}, whose size does not fit in 64 bits",
                                   tensor.name, to_string(*tensor.shape)));
    });
    return good;
  }

  bool report_no_rule(const Operation& operation) {
    if (!reported_.insert(operation.name).second) return false;
    Diagnostic& error = diagnostics_.error(
        "infer/no-rule", operation.where,
        fmt::format("operation '{}' has no body, and no shape rule is known for it",
                    operation.name));
    for (const CallSite& site : operation.expansion) {
      error.note(fmt::format("in expansion of '{}' called", site.fragment), site.where);
    }
    error.help(
        fmt::format("give its fragment a body in the document: fragment {}(...) -> (...) {{ ... }}",
                    operation.name));
    return false;
  }

  void forget_results(const Operation& operation) {
    each_tensor(operation.outputs, [&](TensorRef ref) { graph_[ref].shape.reset(); });
  }

  Graph& graph_;
  Diagnostics& diagnostics_;
  std::set<std::string> reported_;  ///< custom operations that were complained about
};

}  // namespace

void report_unknown_input(const Graph& graph, std::string_view given, const std::string& name,
                          Diagnostics& diagnostics) {
  std::vector<std::string> names;
  for (const TensorRef input : graph.inputs) names.push_back(graph[input].name);
  Diagnostic& error =
      diagnostics.error("infer/input-unknown", {},
                        fmt::format("{} is given for '{}', which is not an input", given, name));
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty()) error.help(fmt::format("did you mean '{}'?", nearest));
}

bool infer_operation(Graph& graph, Operation& operation, Diagnostics& diagnostics) {
  return Inference(graph, diagnostics).infer(operation);
}

void infer(Graph& graph, const InputShapes& input_shapes, Diagnostics& diagnostics) {
  Inference inference(graph, diagnostics);
  inference.override_inputs(input_shapes);
  inference.run();
}

}  // namespace nnef
