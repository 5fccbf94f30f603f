#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "check_types.h"
#include "stages.h"

namespace nnef {
namespace {

using ast::Expr;
using ast::Type;

constexpr std::string_view kSuffix = "_quantize";

/// Per-channel parameters of tensor type are nested arrays of their items.
bool fits(const Type& from, const Type& to) {
  if (castable(from, to)) return true;
  if (to.kind != Type::Kind::tensor || from.kind != Type::Kind::array) return false;
  return from.items.empty() || fits(from.items[0], to);
}

class QuantizationReader {
 public:
  QuantizationReader(Graph& graph, const Declarations& declarations, Diagnostics& diagnostics)
      : graph_(graph), declarations_(declarations), diagnostics_(diagnostics) {
    for (Tensor& tensor : graph.tensors) tensors_.emplace(tensor.name, &tensor);
  }

  void attach(const ast::QuantizationEntry& entry) {
    Tensor* tensor = find_tensor(entry);
    const ast::Fragment* fragment = find_operation(*entry.invocation);
    if (!fragment) return;
    if (tensor && !takes(*fragment, *tensor, entry)) tensor = nullptr;
    Quantization quantization{fragment->name, {}, entry.invocation->where};
    const bool sound = read_arguments(*entry.invocation, *fragment, quantization.attributes);
    if (sound && tensor) tensor->quantization = std::move(quantization);
  }

 private:
  Tensor* find_tensor(const ast::QuantizationEntry& entry) {
    const auto found = tensors_.find(entry.tensor);
    if (found == tensors_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, tensor] : tensors_) names.push_back(name);
      const std::string nearest = nearest_name(entry.tensor, names);
      diagnostics_
          .error("quant/unknown-tensor", entry.tensor_where,
                 fmt::format("graph '{}' has no tensor '{}'", graph_.name, entry.tensor))
          .help(nearest.empty() ? "entries name tensors of the graph, not labels of variables"
                                : fmt::format("did you mean '{}'?", nearest));
      return nullptr;
    }
    const auto [place, fresh] = entries_.emplace(entry.tensor, entry.tensor_where);
    if (fresh) return found->second;
    diagnostics_
        .error("quant/tensor-twice", entry.tensor_where,
               fmt::format("tensor '{}' has two entries", entry.tensor))
        .note("the first one stands", place->second);
    return nullptr;
  }

  const ast::Fragment* find_operation(const Expr& invocation) {
    const ast::Fragment* fragment = declarations_.find(invocation.text);
    std::vector<std::string> names = declarations_.names();
    std::erase_if(names, [&](const std::string& name) { return !can_quantize(name); });
    if (fragment && can_quantize(invocation.text)) return fragment;
    const std::string nearest = nearest_name(invocation.text, names);
    std::string known;
    for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
    diagnostics_
        .error(fragment ? "quant/not-quantization" : "quant/unknown-operation",
               invocation.text_where,
               fragment ? fmt::format("'{}' is no quantization operation", invocation.text)
                        : fmt::format("unknown quantization operation '{}'", invocation.text))
        .help(nearest.empty() ? "known are " + known : fmt::format("did you mean '{}'?", nearest));
    return nullptr;
  }

  /// Operations of the standard say it by their names; one of the file needs a tensor to apply to.
  bool can_quantize(const std::string& name) const {
    if (declarations_.is_standard(name)) return name.ends_with(kSuffix);
    const ast::Fragment& fragment = *declarations_.find(name);
    return !fragment.parameters.empty() && fragment.parameters[0].type.kind == Type::Kind::tensor;
  }

  /// What the declaration quantises is nearly always real; integers and logicals are exact.
  bool takes(const ast::Fragment& fragment, const Tensor& tensor,
             const ast::QuantizationEntry& entry) {
    const Type type = tensor_of(primitive_type(tensor.dtype));
    const Type& wanted = fragment.parameters[0].type;
    StaticType binding;
    if (castable(type, wanted, &binding)) return true;
    diagnostics_
        .error("quant/tensor-type", entry.tensor_where,
               fmt::format("tensor '{}' has type {}, but '{}' quantizes {}", tensor.name,
                           describe(type), fragment.name, describe(wanted)))
        .note(fmt::format("'{}' is defined", tensor.name), tensor.where)
        .help("leave the entry out: integers and logicals are stored as they are");
    return false;
  }

  StaticType literal_type(const Expr& expr) const {
    switch (expr.kind) {
      case Expr::Kind::logical:
        return primitive_type(DType::logical);
      case Expr::Kind::integer:
        return primitive_type(DType::integer);
      case Expr::Kind::scalar:
        return primitive_type(DType::scalar);
      case Expr::Kind::string:
        return primitive_type(DType::string);
      case Expr::Kind::array:
      case Expr::Kind::tuple:
        return sequence_type(expr);
      default:
        return std::nullopt;
    }
  }

  StaticType sequence_type(const Expr& expr) const {
    const bool array = expr.kind == Expr::Kind::array;
    Type result{array ? Type::Kind::array : Type::Kind::tuple, DType::scalar, {}};
    for (const ast::ExprPtr& item : expr.items) {
      StaticType type = literal_type(*item);
      if (type && array && !result.items.empty()) {
        type = common_type(result.items[0], *type);
        if (type) result.items.pop_back();
      }
      if (!type) return std::nullopt;
      result.items.push_back(*type);
    }
    return result;
  }

  static Value literal_value(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::logical:
        return expr.logical_value;
      case Expr::Kind::integer:
        return expr.integer_value;
      case Expr::Kind::scalar:
        return expr.scalar_value;
      case Expr::Kind::string:
        return expr.text;
      default:
        break;
    }
    std::vector<Value> items;
    for (const ast::ExprPtr& item : expr.items) items.push_back(literal_value(*item));
    if (expr.kind == Expr::Kind::array) return Array{std::move(items)};
    return Tuple{std::move(items)};
  }

  const ast::Parameter* find_parameter(const ast::NamedArgument& argument,
                                       const ast::Fragment& fragment) {
    const auto& parameters = fragment.parameters;
    const auto found = std::find_if(
        parameters.begin() + 1, parameters.end(),
        [&](const ast::Parameter& parameter) { return parameter.name == argument.name; });
    if (found != parameters.end()) return &*found;
    std::vector<std::string> names;
    std::string list;
    for (auto it = parameters.begin() + 1; it != parameters.end(); ++it) {
      names.push_back(it->name);
      list += (list.empty() ? "" : ", ") + it->name;
    }
    const bool is_tensor = argument.name == parameters[0].name;
    const std::string nearest = nearest_name(argument.name, names);
    diagnostics_
        .error("quant/unknown-argument", argument.name_where,
               is_tensor ? fmt::format("'{}' of '{}' is the tensor before ':'", argument.name,
                                       fragment.name)
                         : fmt::format("'{}' has no parameter '{}'", fragment.name, argument.name))
        .help(is_tensor         ? "leave it out"
              : nearest.empty() ? fmt::format("'{}' takes {}", fragment.name, list)
                                : fmt::format("did you mean '{}'?", nearest));
    return nullptr;
  }

  bool check_type(const ast::NamedArgument& argument, const ast::Parameter& parameter,
                  const ast::Fragment& fragment) {
    const StaticType type = literal_type(*argument.value);
    if (type && fits(*type, parameter.type)) return true;
    Diagnostic& diagnostic = diagnostics_.error(
        "quant/type", argument.value->where,
        fmt::format("'{}': argument '{}' has type {}, expected {}", fragment.name, parameter.name,
                    type ? describe(*type) : "mixed", describe(parameter.type)));
    if (type && is_primitive(*type, DType::integer) &&
        argument.value->kind == Expr::Kind::integer &&
        castable(primitive_type(DType::scalar), parameter.type)) {
      diagnostic.help(
          fmt::format("an integer is not a scalar; write {}.0", argument.value->integer_value));
    }
    return false;
  }

  bool read_arguments(const Expr& invocation, const ast::Fragment& fragment,
                      std::vector<Argument>& attributes) {
    bool sound = true;
    bool all_placed = true;  // else the argument that seems to be missing may be there, misspelt
    std::map<std::string_view, const ast::NamedArgument*> given;
    for (const ast::NamedArgument& argument : invocation.arguments) {
      const ast::Parameter* parameter = find_parameter(argument, fragment);
      if (!parameter) {
        all_placed = false;
        continue;
      }
      const auto [place, fresh] = given.emplace(parameter->name, &argument);
      if (!fresh) {
        diagnostics_
            .error("quant/argument-twice", argument.name_where,
                   fmt::format("'{}': argument '{}' is given twice", fragment.name, argument.name))
            .note("first given", place->second->value->where);
        sound = false;
      }
      sound = check_type(argument, *parameter, fragment) && sound;
    }
    for (size_t i = 1; i < fragment.parameters.size(); ++i) {
      const ast::Parameter& parameter = fragment.parameters[i];
      const auto found = given.find(parameter.name);
      if (found != given.end()) {
        const Expr& value = *found->second->value;
        attributes.push_back({parameter.name, literal_value(value), value.where, false});
      } else if (parameter.default_value) {
        attributes.push_back(
            {parameter.name, literal_value(*parameter.default_value), invocation.where, true});
      } else if (all_placed) {
        diagnostics_.error("quant/missing-argument", invocation.where,
                           fmt::format("'{}': argument '{}' ({}) is missing", fragment.name,
                                       parameter.name, describe(parameter.type)));
        sound = false;
      }
    }
    return sound && all_placed;
  }

  Graph& graph_;
  const Declarations& declarations_;
  Diagnostics& diagnostics_;
  std::map<std::string, Tensor*, std::less<>> tensors_;
  std::map<std::string, Location> entries_;
};

}  // namespace

void attach_quantization(Graph& graph, const std::vector<ast::QuantizationEntry>& entries,
                         const Declarations& declarations, Diagnostics& diagnostics) {
  if (entries.empty()) return;
  QuantizationReader reader(graph, declarations, diagnostics);
  for (const ast::QuantizationEntry& entry : entries) reader.attach(entry);
}

}  // namespace nnef
