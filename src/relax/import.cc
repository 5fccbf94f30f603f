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

/// The tensors of a result list, in order; arrays flattened.
std::vector<TensorRef> result_tensors(const nnef::Operation& operation) {
  std::vector<TensorRef> refs;
  for (const nnef::Argument& output : operation.outputs) {
    if (const auto* ref = output.value.get<TensorRef>()) refs.push_back(*ref);
    const auto* array = output.value.get<nnef::Array>();
    if (array == nullptr) continue;
    for (const nnef::Value& item : array->items) refs.push_back(*item.get<TensorRef>());
  }
  return refs;
}

class Importer {
 public:
  Importer(const nnef::Graph& graph, const ImportOptions& options, nnef::Diagnostics& diagnostics)
      : graph_(graph), options_(options), diagnostics_(diagnostics), values_(graph.tensors.size()) {
    for (TensorRef output : graph.outputs) outputs_.insert(output.index);
  }

  std::optional<Imported> run();

 private:
  bool check_supported();
  bool declare_variables();
  bool lower_operations(BlockBuilder& builder);
  void bind(BlockBuilder& builder, TensorRef ref, const Expr& expr);
  bool check_type(const nnef::Operation& operation, TensorRef ref);
  Expr function_result(BlockBuilder& builder);
  ImportedTensor describe(TensorRef ref, std::string relax_name) const;
  void parameter(TensorRef ref, std::vector<ImportedTensor>& specs);

  const nnef::Graph& graph_;
  const ImportOptions& options_;
  nnef::Diagnostics& diagnostics_;
  NameSupply names_;
  std::vector<Expr> values_;    ///< of each tensor of the graph
  std::set<uint32_t> outputs_;  ///< tensors that the function returns
  std::set<uint32_t> bound_;    ///< results of operations so far
  Array<Var> params_;
  Imported imported_;
};

bool Importer::check_supported() {
  std::map<std::string_view, std::vector<const nnef::Operation*>> missing;
  std::vector<std::string_view> order;
  for (const nnef::Operation& operation : graph_.operations) {
    if (operation.name == external || operation.name == variable || has_lowering(operation.name)) {
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

ImportedTensor Importer::describe(TensorRef ref, std::string relax_name) const {
  const nnef::Tensor& tensor = graph_[ref];
  return {tensor.name, std::move(relax_name), relax_dtype(tensor), to_extents(*tensor.shape)};
}

void Importer::parameter(TensorRef ref, std::vector<ImportedTensor>& specs) {
  specs.push_back(describe(ref, names_.unique(graph_[ref].name)));
  const ImportedTensor& spec = specs.back();
  const Var param = var(spec.relax_name, tensor_type(spec.shape, spec.dtype));
  params_.push_back(param);
  values_[ref.index] = param;
}

bool Importer::declare_variables() {
  const size_t errors = diagnostics_.error_count();
  for (const nnef::Operation& operation : graph_.operations) {
    if (operation.name != variable) continue;
    const TensorRef ref = result_tensors(operation).front();
    const auto value = weight_tensor(graph_[ref], diagnostics_);
    if (!value) continue;
    if (options_.keep_params) {
      parameter(ref, imported_.param_specs);
      imported_.params.push_back(*value);
    } else {
      values_[ref.index] = constant(*value);
    }
  }
  return diagnostics_.error_count() == errors;
}

/// The expression that TVM inferred must be the tensor that the shape rule promised.
bool Importer::check_type(const nnef::Operation& operation, TensorRef ref) {
  const nnef::Tensor& tensor = graph_[ref];
  const Expr& value = values_[ref.index];
  const Ints inferred = shape_of(value);
  if (inferred == to_extents(*tensor.shape) && dtype_of(value) == relax_dtype(tensor)) {
    return true;
  }
  diagnostics_.error(
      "import/type", operation.where,
      fmt::format(
          "'{}' has items {} and shape {}, but its lowering to Relax gave {} and [{}]: this "
          "is a fault of the compiler",
          tensor.name, to_string(tensor.item), to_string(*tensor.shape),
          std::string(ffi::DLDataTypeToString(dtype_of(value))), fmt::join(inferred, ",")));
  return false;
}

void Importer::bind(BlockBuilder& builder, TensorRef ref, const Expr& expr) {
  const std::string name = names_.unique(graph_[ref].name);
  bound_.insert(ref.index);
  values_[ref.index] =
      outputs_.count(ref.index) != 0 ? builder.emit_output(expr, name) : builder.emit(expr, name);
}

bool Importer::lower_operations(BlockBuilder& builder) {
  const size_t errors = diagnostics_.error_count();
  for (const nnef::Operation& operation : graph_.operations) {
    if (operation.name == external || operation.name == variable) continue;
    const LoweringContext context(graph_, operation, values_, builder, diagnostics_);
    const auto refs = result_tensors(operation);
    std::vector<Expr> results;
    try {
      results = lower(*find_lowering(operation.name), context);
      for (size_t i = 0; i < results.size(); ++i) bind(builder, refs.at(i), results[i]);
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
  return results.size() == 1 ? results[0] : tuple(results);
}

std::optional<Imported> Importer::run() {
  if (!check_supported()) return std::nullopt;
  for (TensorRef input : graph_.inputs) parameter(input, imported_.inputs);
  if (!declare_variables()) return std::nullopt;
  BlockBuilder builder(params_);
  if (!lower_operations(builder)) return std::nullopt;
  Map<String, Any> attributes;
  attributes.Set("num_input", static_cast<int64_t>(graph_.inputs.size()));
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
