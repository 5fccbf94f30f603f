#include "relax/import.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "relax/lowering.h"
#include "relax/names.h"
#include "relax/weights.h"

namespace nnef_tvm {
namespace {

using nnef::TensorRef;

constexpr std::string_view external = "external";
constexpr std::string_view variable = "variable";
constexpr std::string_view update = "update";

/// What the importer does itself, without a lowering of the tables.
bool is_own(std::string_view operation) {
  return operation == external || operation == variable || operation == update;
}

/// The tensors of a result list, in order; arrays flattened.
std::vector<TensorRef> result_tensors(const nnef::Operation& operation) {
  std::vector<TensorRef> refs;
  nnef::each_tensor(operation.outputs, [&](TensorRef ref) { refs.push_back(ref); });
  return refs;
}

/// The line of the graph that an operation comes from.
std::string place_of(const nnef::Operation& operation) {
  const nnef::Location& where =
      operation.expansion.empty() ? operation.where : operation.expansion.back().where;
  if (!where) return "";
  return fmt::format("{}:{}", where.source->name(), where.source->line_column(where.begin).line);
}

class Importer {
 public:
  Importer(const nnef::Graph& graph, const ImportOptions& options, nnef::Diagnostics& diagnostics)
      : graph_(graph), options_(options), diagnostics_(diagnostics), values_(graph.tensors.size()) {
    for (TensorRef output : graph.outputs) outputs_.insert(output.index);
    for (const nnef::Operation& operation : graph.operations) {
      if (operation.name == update)
        outputs_.insert(nnef::OpView(graph, operation).result("result").index);
    }
  }

  std::optional<Imported> run();

 private:
  bool check_supported();
  bool check_symbols();
  bool declare_variables();
  void declare_state(TensorRef ref, const std::string& label, const ffi::Tensor& value);
  Expr updated(const LoweringContext& operation);
  bool lower_operations(BlockBuilder& builder);
  void bind(BlockBuilder& builder, TensorRef ref, const Expr& expr);
  bool check_type(const nnef::Operation& operation, TensorRef ref);
  Expr function_result(BlockBuilder& builder);
  ImportedTensor describe(TensorRef ref, std::string relax_name) const;
  ImportedTensor parameter(TensorRef ref, bool sanitize = true);
  std::vector<Expr> lowered(const LoweringContext& operation);

  const nnef::Graph& graph_;
  const ImportOptions& options_;
  nnef::Diagnostics& diagnostics_;
  NameSupply names_;
  SymbolTable symbols_;
  std::vector<Expr> values_;              ///< of each tensor of the graph
  std::set<uint32_t> outputs_;            ///< tensors that the function returns
  std::set<uint32_t> bound_;              ///< results of operations so far
  std::map<std::string, size_t> states_;  ///< places in imported_.states, by label_key
  std::vector<Expr> old_states_;          ///< the parameters, in the order of imported_.states
  std::vector<TensorRef> new_states_;     ///< the results of the updates, in that order
  Array<Var> params_;
  Imported imported_;
};

bool Importer::check_supported() {
  std::map<std::string_view, std::vector<const nnef::Operation*>> missing;
  std::vector<std::string_view> order;
  for (const nnef::Operation& operation : graph_.operations) {
    if (is_own(operation.name) || options_.lowerings.contains(operation.name) ||
        has_lowering(operation.name)) {
      continue;
    }
    auto& uses = missing[operation.name];
    if (uses.empty()) order.push_back(operation.name);
    uses.push_back(&operation);
  }
  for (std::string_view name : order) {
    const auto& uses = missing[name];
    auto& diagnostic =
        diagnostics_.error("import/unsupported", uses.front()->where,
                           fmt::format("operation '{}' cannot be lowered to Relax ({} {})", name,
                                       uses.size(), uses.size() == 1 ? "use" : "uses"));
    for (const nnef::CallSite& site : uses.front()->expansion) {
      diagnostic.note(fmt::format("in expansion of '{}' called", site.fragment), site.where);
    }
    for (size_t i = 1; i < uses.size(); ++i) diagnostic.note("used here too", uses[i]->where);
  }
  return order.empty();
}

/// TVM reads the value of a symbol off an input that has it as an extent by itself.
bool Importer::check_symbols() {
  std::set<std::string> alone;
  for (const TensorRef input : graph_.inputs) {
    for (const nnef::Dim& extent : *graph_[input].shape) alone.insert(to_string(extent));
  }
  bool good = true;
  for (const TensorRef input : graph_.inputs) {
    const nnef::Tensor& tensor = graph_[input];
    for (const nnef::Dim& extent : *tensor.shape) {
      nnef::each_symbol(extent, [&](const nnef::DimAtom& symbol) {
        if (!alone.insert(symbol.text).second) return;
        good = false;
        diagnostics_
            .error("import/symbol", tensor.where,
                   fmt::format("input '{}' has shape {}, but no input has the extent {} by itself",
                               tensor.name, to_string(*tensor.shape), symbol.text))
            .help("give the input a shape without the expression: --shape NAME=1,N");
      });
    }
  }
  return good;
}

ImportedTensor Importer::describe(TensorRef ref, std::string relax_name) const {
  const nnef::Tensor& tensor = graph_[ref];
  return {tensor.name, std::move(relax_name), relax_dtype(tensor), *tensor.shape};
}

ImportedTensor Importer::parameter(TensorRef ref, bool sanitize) {
  const std::string& name = graph_[ref].name;
  ImportedTensor spec = describe(ref, sanitize ? names_.unique(name) : names_.reserve(name));
  const Var param = var(spec.relax_name, tensor_type(symbols_.exprs(spec.shape), spec.dtype));
  params_.push_back(param);
  values_[ref.index] = param;
  return spec;
}

/// Variables with one label are one state.
void Importer::declare_state(TensorRef ref, const std::string& label, const ffi::Tensor& value) {
  const auto [place, fresh] = states_.emplace(nnef::label_key(label), imported_.states.size());
  if (fresh) {
    imported_.states.push_back({parameter(ref), label, value});
    old_states_.push_back(values_[ref.index]);
  }
  values_[ref.index] = old_states_[place->second];
}

bool Importer::declare_variables() {
  const size_t errors = diagnostics_.error_count();
  const auto updated = nnef::updated_labels(graph_);
  std::vector<TensorRef> kept;
  for (const nnef::Operation& operation : graph_.operations) {
    if (operation.name != variable) continue;
    const nnef::OpView view(graph_, operation);
    const TensorRef ref = view.result("output");
    const std::string& label = view.string("label");
    const auto value = weight_tensor(graph_[ref], diagnostics_);
    if (!value) continue;
    if (updated.contains(nnef::label_key(label))) {
      declare_state(ref, label, *value);
    } else if (options_.keep_params) {
      kept.push_back(ref);
      imported_.params.push_back(*value);
    } else {
      values_[ref.index] = constant(*value);
    }
  }
  new_states_.resize(old_states_.size());
  for (TensorRef ref : kept) imported_.param_specs.push_back(parameter(ref));
  return diagnostics_.error_count() == errors;
}

/// The new value, as the variable stores it; readers of the variable go on with the old one.
Expr Importer::updated(const LoweringContext& operation) {
  const TensorRef target = operation.tensor("variable");
  for (size_t i = 0; i < old_states_.size(); ++i) {
    if (old_states_[i].same_as(values_[target.index])) new_states_[i] = operation.result("result");
  }
  const Expr value = operation.input("value");
  const DLDataType dtype = relax_dtype(graph_[target]);
  return dtype_of(value) == dtype ? value : relax::astype(value, dtype);
}

/// The expression that TVM inferred must be the tensor that the shape rule promised.
bool Importer::check_type(const nnef::Operation& operation, TensorRef ref) {
  const nnef::Tensor& tensor = graph_[ref];
  const Expr& value = values_[ref.index];
  const nnef::Shape inferred = dims_of(value);
  if (inferred == *tensor.shape && dtype_of(value) == relax_dtype(tensor)) return true;
  const char* whose =
      options_.lowerings.contains(operation.name) ? "that conversion" : "the compiler";
  diagnostics_.error(
      "import/type", operation.where,
      fmt::format("'{}' has items {} and shape {}, but its lowering to Relax gave {} and {}: this "
                  "is a fault of {}",
                  tensor.name, to_string(tensor.item), to_string(*tensor.shape),
                  std::string(ffi::DLDataTypeToString(dtype_of(value))), to_string(inferred),
                  whose));
  return false;
}

void Importer::bind(BlockBuilder& builder, TensorRef ref, const Expr& expr) {
  const std::string name = names_.unique(graph_[ref].name);
  bound_.insert(ref.index);
  values_[ref.index] =
      outputs_.count(ref.index) != 0 ? builder.emit_output(expr, name) : builder.emit(expr, name);
}

std::vector<Expr> Importer::lowered(const LoweringContext& operation) {
  const auto custom = options_.lowerings.find(operation.name());
  if (custom == options_.lowerings.end()) {
    return lower(*find_lowering(operation.name()), operation);
  }
  return lower(custom->second, operation);
}

bool Importer::lower_operations(BlockBuilder& builder) {
  const size_t errors = diagnostics_.error_count();
  for (const nnef::Operation& operation : graph_.operations) {
    if (operation.name == external || operation.name == variable) continue;
    const LoweringContext context(graph_, operation, values_, symbols_, builder, diagnostics_);
    const auto refs = result_tensors(operation);
    std::vector<Expr> results;
    try {
      results = operation.name == update ? std::vector{updated(context)} : lowered(context);
      for (size_t i = 0; i < results.size(); ++i) {
        bind(builder, refs.at(i), results[i]);
        imported_.operations[field<String>(values_[refs[i].index], "name")] = {
            operation.name, graph_[refs[0]].name, place_of(operation)};
      }
    } catch (const SymbolicExtent& symbolic) {
      context.fail("symbolic-extent", "",
                   fmt::format("its lowering to Relax needs the extent {} as a number",
                               to_string(symbolic.extent)),
                   "give the shape of the input that has the symbol: --shape NAME=1,128");
      return false;
    } catch (const ffi::Error& error) {
      diagnostics_.error(
          "import/tvm", operation.where,
          fmt::format("TVM refuses the lowering of '{}': {}", operation.name, error.message()));
      return false;
    }
    if (results.empty()) return false;
    for (TensorRef ref : refs) {
      if (!check_type(operation, ref)) return false;
    }
  }
  return diagnostics_.error_count() == errors;
}

Expr Importer::function_result(BlockBuilder& builder) {
  Array<Expr> results;
  for (TensorRef output : graph_.outputs) {
    Expr value = values_[output.index];
    // What is an input or a variable as well is returned by a binding of its own.
    if (bound_.count(output.index) == 0) {
      value = builder.emit_output(value, names_.unique(graph_[output].name));
    }
    imported_.outputs.push_back(describe(output, field<String>(value, "name")));
    results.push_back(value);
  }
  for (TensorRef state : new_states_) results.push_back(values_[state.index]);
  return results.size() == 1 ? results[0] : tuple(results);
}

std::optional<Imported> Importer::run() {
  if (!check_supported() || !check_symbols()) return std::nullopt;
  for (TensorRef input : graph_.inputs) {
    imported_.inputs.push_back(parameter(input, options_.sanitize_inputs));
  }
  if (!declare_variables()) return std::nullopt;
  BlockBuilder builder(params_);
  if (!lower_operations(builder)) return std::nullopt;
  Map<String, Any> attributes;
  const size_t states = imported_.states.size();
  attributes.Set("num_input", static_cast<int64_t>(graph_.inputs.size() + states));
  if (states != 0) attributes.Set("num_state", static_cast<int64_t>(states));
  if (options_.keep_params) {
    attributes.Set("params", Array<ffi::Tensor>(imported_.params.begin(), imported_.params.end()));
  }
  imported_.module = builder.finish("main", function_result(builder), attributes);
  return std::move(imported_);
}

}  // namespace

std::optional<Imported> import_graph(const nnef::Graph& graph, const ImportOptions& options,
                                     nnef::Diagnostics& diagnostics) {
  try {
    return Importer(graph, options, diagnostics).run();
  } catch (const ffi::Error& error) {
    diagnostics.error("import/tvm", {}, fmt::format("TVM failed: {}", error.message()));
    return std::nullopt;
  }
}

}  // namespace nnef_tvm
