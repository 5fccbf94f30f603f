// Graphs as canonical flat NNEF text. Reading it back gives the same graph.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "ast.h"
#include "nnef/model.h"
#include "stages.h"

namespace nnef {
namespace {

/// Comments are aligned, but not beyond this column for the sake of a few long lines.
constexpr size_t kMaxCommentColumn = 100;
constexpr std::string_view kIndent = "    ";

std::string scalar_text(double value) {
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";  // tract's dialect alone has them
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(std::string_view value) {
  std::string text = "'";
  for (const char c : value) {
    if (c == '\'' || c == '\\') text += '\\';
    text += c;
  }
  return text + "'";
}

/// A name that the standard's syntax lacks is written as tract does.
std::string written(const std::string& name) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
  };
  const bool plain = std::ranges::all_of(name, is_word) && !(name[0] >= '0' && name[0] <= '9');
  if (plain) return name;
  std::string text = "i\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

/// Declarations' defaults are literals.
Value literal(const ast::Expr& expr) {
  using Kind = ast::Expr::Kind;
  const auto items = [&expr] {
    std::vector<Value> values;
    for (const ast::ExprPtr& item : expr.items) values.push_back(literal(*item));
    return values;
  };
  switch (expr.kind) {
    case Kind::logical:
      return expr.logical_value;
    case Kind::integer:
      return expr.integer_value;
    case Kind::scalar:
      return expr.scalar_value;
    case Kind::string:
      return expr.text;
    case Kind::array:
      return Array{items()};
    case Kind::tuple:
      return Tuple{items()};
    case Kind::unary: {
      Value operand = literal(*expr.items.at(0));
      if (expr.text != "-") return operand;
      if (const int64_t* integer = operand.get<int64_t>()) return -*integer;
      if (const double* scalar = operand.get<double>()) return -*scalar;
      return {};
    }
    default:
      return {};
  }
}

/// A tensor argument of such a type tells what '?' is.
bool is_generic_tensor(const ast::Type& type) {
  if (type.kind == ast::Type::Kind::tensor) return is_generic(type);
  return std::ranges::any_of(type.items, is_generic_tensor);
}

class GraphWriter {
 public:
  explicit GraphWriter(const Graph& graph) : graph_(graph) {}

  std::string write(bool annotate) const {
    std::string text = "version 1.0;\n";
    for (const std::string& name : graph_.extensions) text += fmt::format("extension {};\n", name);
    if (!graph_.custom.empty()) text += '\n';
    for (const CustomDeclaration& declaration : graph_.custom) text += declaration.text + '\n';
    text += fmt::format("\ngraph {}({}) -> ({})\n{{\n", graph_.name, names(graph_.inputs),
                        names(graph_.outputs));
    std::vector<std::string> lines;
    size_t column = 0;
    for (const Operation& operation : graph_.operations) {
      lines.push_back(std::string(kIndent) + statement(operation));
      if (lines.back().size() <= kMaxCommentColumn) column = std::max(column, lines.back().size());
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      text += lines[i];
      if (annotate) {
        text.append(column - std::min(column, lines[i].size()), ' ');
        text += "  # " + types(graph_.operations[i]);
      }
      text += '\n';
    }
    return text + "}\n";
  }

  std::string write_quantization() const {
    std::string text;
    for (const Tensor& tensor : graph_.tensors) {
      if (!tensor.quantization) continue;
      std::string arguments;
      for (const Argument& argument : tensor.quantization->attributes) {
        if (!argument.defaulted) append_named(arguments, argument);
      }
      text += fmt::format("\"{}\": {}({});\n", tensor.name, tensor.quantization->name, arguments);
    }
    return text;
  }

 private:
  std::string names(const std::vector<TensorRef>& refs) const {
    std::string text;
    for (const TensorRef ref : refs) {
      text += text.empty() ? "" : ", ";
      text += written(graph_[ref].name);
    }
    return text;
  }

  std::string join(const std::vector<Value>& items) const {
    const bool spaced = std::ranges::any_of(
        items, [](const Value& item) { return item.get<TensorRef>() != nullptr; });
    std::string text;
    for (const Value& item : items) {
      if (!text.empty()) text += spaced ? ", " : ",";
      text += value_text(item);
    }
    return text;
  }

  std::string value_text(const Value& value) const {
    if (const auto* logical = value.get<bool>()) return *logical ? "true" : "false";
    if (const auto* integer = value.get<int64_t>()) return fmt::format("{}", *integer);
    if (const auto* scalar = value.get<double>()) return scalar_text(*scalar);
    if (const auto* string = value.get<std::string>()) return quoted(*string);
    if (const auto* extent = value.get<Dim>()) return to_string(*extent);
    if (const auto* ref = value.get<TensorRef>()) return written(graph_[*ref].name);
    if (const auto* array = value.get<Array>()) return fmt::format("[{}]", join(array->items));
    if (const auto* tuple = value.get<Tuple>()) return fmt::format("({})", join(tuple->items));
    return {};
  }

  void append_named(std::string& text, const Argument& argument) const {
    if (!text.empty()) text += ", ";
    text += fmt::format("{} = {}", argument.name, value_text(argument.value));
  }

  static bool is_default(const Argument& argument, const ast::Fragment* fragment) {
    if (argument.defaulted || argument.value.get<std::monostate>() != nullptr) return true;
    if (fragment == nullptr) return false;
    for (const ast::Parameter& parameter : fragment->parameters) {
      if (parameter.name != argument.name || parameter.default_value == nullptr) continue;
      return literal(*parameter.default_value) == argument.value;
    }
    return false;
  }

  /// Tensors by position, as far as needed; the others by name.
  std::string arguments(const Operation& operation, const ast::Fragment* fragment) const {
    size_t positional = operation.inputs.size();
    while (positional > 0 && is_default(operation.inputs[positional - 1], fragment)) --positional;
    std::string text;
    for (size_t i = 0; i < positional; ++i) {
      text += text.empty() ? "" : ", ";
      text += value_text(operation.inputs[i].value);
    }
    for (const Argument& attribute : operation.attributes) {
      const std::optional<Shape> shape = overridden_shape(operation, attribute);
      if (shape) {
        text +=
            fmt::format("{}{} = {}", text.empty() ? "" : ", ", attribute.name, to_string(*shape));
      } else if (!is_default(attribute, fragment)) {
        append_named(text, attribute);
      }
    }
    return text;
  }

  /// LoadOptions::input_shapes changes the tensor of an external, not the argument that was
  /// written.
  std::optional<Shape> overridden_shape(const Operation& operation,
                                        const Argument& attribute) const {
    if (operation.name != "external" || attribute.name != "shape") return std::nullopt;
    const TensorRef* output = operation.outputs.at(0).value.get<TensorRef>();
    if (output == nullptr) return std::nullopt;
    const std::optional<Shape>& shape = graph_[*output].shape;
    return shape && valid(*shape) ? shape : std::nullopt;
  }

  std::string statement(const Operation& operation) const {
    // A declaration of the file is never one that is built in.
    const ast::Fragment* fragment = Declarations::find_built_in(operation.name);
    std::string results;
    for (const Argument& output : operation.outputs) {
      results += results.empty() ? "" : ", ";
      results += value_text(output.value);
    }
    if (operation.outputs.size() > 1) results = fmt::format("({})", results);
    const bool deduced =
        fragment != nullptr && std::ranges::any_of(fragment->parameters, [](const auto& parameter) {
          return is_generic_tensor(parameter.type);
        });
    const std::string type = operation.type_argument && !deduced
                                 ? fmt::format("<{}>", to_string(*operation.type_argument))
                                 : "";
    return fmt::format("{} = {}{}({});", results, operation.name, type,
                       arguments(operation, fragment));
  }

  void append_types(std::string& text, const Value& value) const {
    if (const auto* array = value.get<Array>()) {
      for (const Value& item : array->items) append_types(text, item);
    } else if (const auto* ref = value.get<TensorRef>()) {
      const Tensor& tensor = graph_[*ref];
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(tensor.dtype),
                          tensor.shape ? to_string(*tensor.shape) : "of unknown shape");
    }
  }

  std::string types(const Operation& operation) const {
    std::string text;
    for (const Argument& output : operation.outputs) append_types(text, output.value);
    return text;
  }

  const Graph& graph_;
};

}  // namespace

std::string write_graph(const Graph& graph, bool annotate) {
  return GraphWriter(graph).write(annotate);
}

std::string write_quantization(const Graph& graph) {
  return GraphWriter(graph).write_quantization();
}

}  // namespace nnef
