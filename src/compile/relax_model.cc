#include "compile/relax_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "compile/passes/hoist_constants.h"
#include "runtime/error_text.h"
#include "runtime/metadata.h"
#include "tvm/bindings.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/json.h"
#include "tvm/relax.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

using nnef_runtime::TensorSpec;

/// The tensor, or a copy of it where kernels could not read it in place: they load whole vectors
/// from a multiple of their size. Of contiguous tensors in host memory.
ffi::Tensor aligned_tensor(const ffi::Tensor& tensor) {
  constexpr size_t kAlignment = 64;
  const DLTensor& source = *tensor.GetDLTensorPtr();
  if (source.byte_offset == 0 && tensor.IsAligned(kAlignment)) return tensor;
  const ffi::ShapeView shape = tensor.shape();
  ffi::Tensor copy = empty_tensor({shape.data(), shape.size()}, tensor.dtype());
  std::memcpy(copy.data_ptr(), static_cast<const char*>(source.data) + source.byte_offset,
              ffi::GetDataSize(source));
  return copy;
}

/// Reads what compile() needs to know off a module's function "main".
class Reader {
 public:
  Reader(IRModule module, std::string path, nnef::Diagnostics& diagnostics)
      : module_(std::move(module)), path_(std::move(path)), diagnostics_(diagnostics) {}

  std::optional<RelaxModel> read(std::vector<ffi::Tensor> params);

 private:
  nnef::Diagnostic& error(const char* id, std::string message) {
    return diagnostics_.file_error(id, path_, std::nullopt, std::move(message));
  }

  bool find_main();
  bool check_well_formed();
  std::optional<size_t> count_inputs(size_t params, size_t values);
  std::vector<ffi::Tensor> values_of(const std::vector<ffi::Tensor>& given);
  bool check_value(const TensorSpec& param, const ffi::Tensor& value);
  void align_constants();
  std::optional<TensorSpec> spec(const std::string& what, const std::string& name,
                                 const Type& type);
  std::vector<TensorSpec> outputs();

  IRModule module_;
  Expr main_;
  std::string path_;
  nnef::Diagnostics& diagnostics_;
};

bool Reader::find_main() {
  std::vector<std::string> names;
  for (const NamedFunction& item : functions_of(module_)) {
    if (!is_relax_function(item.function)) continue;
    if (item.name == "main") main_ = item.function;
    names.push_back(item.name);
  }
  if (main_.defined()) return true;
  error("relax/no-main", "the module has no Relax function 'main'")
      .help(names.empty() ? std::string("it has no Relax function at all")
                          : fmt::format("its Relax functions are: {}", fmt::join(names, ", ")));
  return false;
}

/// TVM's own rules; and without calls of other Relax functions, which a model does not need.
bool Reader::check_well_formed() {
  try {
    call<void>("relax.analysis.well_formed", module_, /*check_type=*/true);
    module_ = run_pass(relax_pass::inline_private_functions(), module_);
    module_ = run_pass(relax_pass::dead_code_elimination({"main"}), module_);
  } catch (const ffi::Error& fault) {
    error("relax/ill-formed",
          fmt::format("the module is not well-formed: {}", nnef_runtime::first_line(fault)));
    return false;
  }
  main_ = find_function(module_, "main");
  for (const NamedFunction& item : functions_of(module_)) {
    if (!is_relax_function(item.function) || item.name == "main") continue;
    error("relax/function", fmt::format("'main' needs another Relax function, '{}'", item.name))
        .help(
            "functions that are private and not recursive are inlined: remove its attribute "
            "global_symbol");
    return false;
  }
  return true;
}

std::optional<size_t> Reader::count_inputs(size_t params, size_t values) {
  const auto attribute = function_attr(main_, "num_input");
  const auto number = attribute ? attribute->as<int64_t>() : std::nullopt;
  if (attribute && !number) {
    error("relax/num-input", "the attribute 'num_input' of 'main' is not a whole number");
    return std::nullopt;
  }
  const int64_t inputs =
      number.value_or(static_cast<int64_t>(params) - static_cast<int64_t>(values));
  if (inputs < 0 || inputs > static_cast<int64_t>(params)) {
    error("relax/num-input",
          number
              ? fmt::format("the attribute 'num_input' of 'main' is {}, but it has {} parameters",
                            inputs, params)
              : fmt::format("'main' has {} parameters, but there are {} values for them", params,
                            values));
    return std::nullopt;
  }
  const size_t wanted = params - static_cast<size_t>(inputs);
  if (wanted != values) {
    error("relax/parameter-values",
          fmt::format("'main' has {} parameters after its {} inputs, but there are {} values for "
                      "them",
                      wanted, inputs, values))
        .help(
            "save the module with weights as constants, or with the attribute 'params' that "
            "TVM's frontends make: before relax.frontend.detach_params");
    return std::nullopt;
  }
  return static_cast<size_t>(inputs);
}

/// Those that were given, else those of the attribute, which the function then loses.
std::vector<ffi::Tensor> Reader::values_of(const std::vector<ffi::Tensor>& given) {
  const auto attribute = function_attr(main_, "params");
  if (!attribute) return given;
  main_ = call<Expr>("ir.BaseFuncWithoutAttr", main_, String("params"));
  module_ = with_function(module_, find_global_var(module_, "main"), main_);
  if (!given.empty()) return given;
  std::vector<ffi::Tensor> values;
  const auto list = attribute->as<Array<Any>>();
  for (const Any& item : list.value_or(Array<Any>())) {
    const auto tensor = item.as<ffi::Tensor>();
    if (tensor) values.push_back(*tensor);
  }
  if (!list || values.size() != list->size()) {
    error("relax/params", "the attribute 'params' of 'main' is not a list of tensors");
  }
  return values;
}

bool Reader::check_value(const TensorSpec& param, const ffi::Tensor& value) {
  const ffi::ShapeView shape = value.shape();
  const std::vector<int64_t> extents(shape.begin(), shape.end());
  if (value.dtype() == param.dtype && extents == param.shape &&
      value.device().device_type == kDLCPU && value.IsContiguous()) {
    return true;
  }
  error("relax/parameter-type",
        fmt::format("parameter '{}' is {}, but its value is {}", param.name,
                    nnef_runtime::to_string(param.dtype, param.shape.data(), param.shape.size()),
                    nnef_runtime::to_string(value.dtype(), extents.data(), extents.size())));
  return false;
}

/// Constants of main may be views of whatever memory the frontend had.
void Reader::align_constants() {
  main_ = replace_objects(main_, "ir.GenericConst", [](const ObjectRef& node) -> ObjectRef {
    const auto value = field(node, "value").as<ffi::Tensor>();
    if (!value || value->device().device_type != kDLCPU || !value->IsContiguous()) return node;
    const ffi::Tensor aligned = aligned_tensor(*value);
    return aligned.same_as(*value) ? node : ObjectRef(constant(aligned));
  });
}

/// What a type is, for a message.
std::string kind_of(const Type& type) {
  static const std::map<std::string, std::string> kKinds = {
      {"ir.TupleType", "a tuple"},       {"relax.ShapeType", "a shape"},
      {"ir.PrimType", "a number"},       {"relax.FuncType", "a function"},
      {"relax.ObjectType", "an object"}, {"relax.AnyType", "of any type"}};
  const auto found = kKinds.find(type_key(type));
  return found == kKinds.end() ? type_key(type) : found->second;
}

std::optional<TensorSpec> Reader::spec(const std::string& what, const std::string& name,
                                       const Type& type) {
  if (type_key(type) != "relax.TensorType") {
    error("relax/not-a-tensor",
          fmt::format("{} '{}' of 'main' is {}, not a tensor", what, name, kind_of(type)));
    return std::nullopt;
  }
  const auto shape = field<ffi::Optional<ObjectRef>>(type, "shape");
  const auto dtype = field<ffi::Optional<ObjectRef>>(type, "dtype");
  if (!dtype || !shape || type_key(*shape) != "relax.expr.ShapeExpr") {
    error("relax/unknown-type", fmt::format("{} '{}' of 'main' has no known {}", what, name,
                                            dtype ? "shape" : "item type"))
        .help("declare it: R.Tensor((1, 3, 224, 224), \"float32\")");
    return std::nullopt;
  }
  TensorSpec found{name, field<DLDataType>(*dtype, "dtype"), {}};
  for (const Expr& extent : field<Array<Expr>>(*shape, "values")) {
    if (type_key(extent) != "ir.IntImm") {
      error("relax/symbolic-shape",
            fmt::format("{} '{}' of 'main' has the symbolic shape {}", what, name, script(*shape)))
          .help(
              "give the frontend numbers (shape_dict, or example inputs), or bind the variables "
              "by relax.transform.BindSymbolicVars");
      return std::nullopt;
    }
    found.shape.push_back(field<int64_t>(extent, "value"));
  }
  return found;
}

std::vector<TensorSpec> Reader::outputs() {
  const Expr result = result_of(main_);
  const Type type = type_of(result);
  const bool is_tuple = type_key(type) == "ir.TupleType";
  const Array<Type> types = is_tuple ? field<Array<Type>>(type, "fields") : Array<Type>{type};
  // The tuple's items, where the function itself makes it.
  Expr made = result;
  for (const Binding& binding : bindings_of(main_)) {
    if (binding.var.same_as(result) && type_key(binding.value) == "ir.Tuple") made = binding.value;
  }
  Array<Expr> items;
  if (!is_tuple) items = {result};
  if (is_tuple && type_key(made) == "ir.Tuple") items = field<Array<Expr>>(made, "fields");
  std::vector<TensorSpec> specs;
  std::map<std::string, int> uses;
  for (int64_t i = 0; i < static_cast<int64_t>(types.size()); ++i) {
    const bool has_var =
        i < static_cast<int64_t>(items.size()) &&
        (type_key(items[i]) == "ir.Var" || type_key(items[i]) == "relax.expr.DataflowVar");
    std::string name =
        has_var ? std::string(field<String>(items[i], "name")) : fmt::format("output{}", i);
    if (const int earlier = uses[name]++; earlier > 0) name += fmt::format("_{}", earlier);
    if (auto output = spec("output", name, types[i])) specs.push_back(std::move(*output));
  }
  return specs;
}

std::optional<RelaxModel> Reader::read(std::vector<ffi::Tensor> params) {
  const size_t errors = diagnostics_.error_count();
  if (!find_main() || !check_well_formed()) return std::nullopt;
  RelaxModel model;
  model.params = values_of(params);
  if (diagnostics_.error_count() != errors) return std::nullopt;
  const auto vars = field<Array<Var>>(main_, "params");
  const auto inputs = count_inputs(vars.size(), model.params.size());
  if (!inputs) return std::nullopt;
  for (size_t i = 0; i < vars.size(); ++i) {
    const Var& var = vars[static_cast<int64_t>(i)];
    const bool is_input = i < *inputs;
    auto found = spec(is_input ? "input" : "parameter", field<String>(var, "name"), type_of(var));
    if (!found) continue;
    if (!is_input) {
      check_value(*found, model.params[i - *inputs]);
    } else {
      model.inputs.push_back(std::move(*found));
    }
  }
  if (diagnostics_.error_count() != errors) return std::nullopt;
  for (ffi::Tensor& value : model.params) value = aligned_tensor(value);
  align_constants();
  model.outputs = outputs();
  if (diagnostics_.error_count() != errors) return std::nullopt;
  model.module =
      with_function(module_, find_global_var(module_, "main"),
                    with_function_attr(main_, "num_input", static_cast<int64_t>(*inputs)));
  return model;
}

}  // namespace

bool is_relax_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  std::ifstream file(path, std::ios::binary);
  char first = 0;
  return (file >> first) && first == '{';
}

std::optional<RelaxModel> relax_model(const IRModule& module, std::vector<ffi::Tensor> params,
                                      const std::string& path, nnef::Diagnostics& diagnostics) {
  try {
    return Reader(module, path, diagnostics).read(std::move(params));
  } catch (const ffi::Error& error) {
    diagnostics.file_error(
        "relax/ill-formed", path, std::nullopt,
        fmt::format("the module is not well-formed: {}", nnef_runtime::first_line(error)));
    return std::nullopt;
  }
}

std::optional<RelaxModel> read_relax(const std::string& path, nnef::Diagnostics& diagnostics) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || file.bad()) {
    diagnostics.file_error("relax/read", path, std::nullopt,
                           fmt::format("cannot be read: {}", std::strerror(errno)));
    return std::nullopt;
  }
  ObjectRef root;
  try {
    root = from_json(std::move(text).str());
  } catch (const ffi::Error& error) {
    diagnostics
        .file_error("relax/json", path, std::nullopt,
                    fmt::format("TVM's JSON of a module cannot be read: {}",
                                nnef_runtime::first_line(error)))
        .help("tvm.ir.save_json(module) of apache-tvm 0.27.0.post1 writes it");
    return std::nullopt;
  }
  if (type_key(root) != "ir.IRModule") {
    diagnostics
        .file_error("relax/not-a-module", path, std::nullopt,
                    fmt::format("it is TVM's JSON of a {}, not of an ir.IRModule", type_key(root)))
        .help("write tvm.ir.save_json(module), of the whole module");
    return std::nullopt;
  }
  return relax_model(as<IRModule>(root), {}, path, diagnostics);
}

std::optional<Compiled> compile(RelaxModel model, const CompileOptions& options,
                                nnef::Diagnostics& diagnostics) {
  return compile(std::move(model.module), std::move(model.params), std::move(model.inputs),
                 std::move(model.outputs), options, diagnostics);
}

std::optional<IRModule> lower_within(const IRModule& module, const CompileOptions& options,
                                     nnef::Diagnostics& diagnostics) {
  IRModule open = module;
  const Expr main = find_function(module, "main");
  if (main.defined() && is_relax_function(main)) {
    Expr bare = without_function_attr(main, "params");
    bare = with_function_attr(bare, "num_input",
                              static_cast<int64_t>(field<Array<Var>>(main, "params").size()));
    open = with_function(module, find_global_var(module, "main"), bare);
  }
  auto model = relax_model(open, {}, "", diagnostics);
  if (!model) return std::nullopt;
  return lower_within(model->module, model->params, options, diagnostics);
}

IRModule as_module(const RelaxModel& model, bool keep_params) {
  IRModule module = model.module;
  if (!keep_params) {
    const auto vars = field<Array<Var>>(find_function(module, "main"), "params");
    Map<Var, ffi::Tensor> values;
    for (size_t i = 0; i < model.params.size(); ++i) {
      values.Set(vars[static_cast<int64_t>(model.inputs.size() + i)], model.params[i]);
    }
    return values.empty() ? module : run_pass(relax_pass::bind_params("main", values), module);
  }
  HoistedConstants hoisted = hoist_constants(module, "main", Hoist::kArrays);
  Array<ffi::Tensor> params(model.params.begin(), model.params.end());
  for (const ffi::Tensor& value : hoisted.values) params.push_back(value);
  if (params.empty()) return hoisted.module;
  const Expr main = find_function(hoisted.module, "main");
  return with_function(hoisted.module, find_global_var(hoisted.module, "main"),
                       with_function_attr(main, "params", params));
}

}  // namespace nnef_tvm
