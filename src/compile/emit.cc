#include "compile/emit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <unordered_map>

#include "compile/cpu_target.h"
#include "compile/cuda.h"
#include "compile/device_code.h"
#include "compile/device_target.h"
#include "runtime/error_text.h"
#include "tvm/bindings.h"
#include "tvm/build.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/launches.h"
#include "tvm/target.h"
#include "tvm/te.h"

namespace nnef_tvm {

namespace {

constexpr std::array<const char*, 3> kLanguages = {"opencl", "vulkan", "cuda"};

/// What cannot be said without TVM.
class CannotEmit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Target language_target(const std::string& language) {
  if (language == "cuda") return cuda::target_for(cuda::kCommonArchitecture);
  return lowering_target(make_target({{"kind", String(language)}}));
}

/// The kernels of the module's functions, in every language, and what the host does.
class KernelTable {
 public:
  KernelTable(const IRModule& module, EmittedProgram& program) : program_(program) {
    std::vector<NamedFunction> functions = functions_of(module);
    std::erase_if(functions, [](const NamedFunction& f) { return !is_prim_func(f.function); });
    // Their kernels' names begin with their own.
    for (NamedFunction& item : functions) {
      item.function = with_function_attr(item.function, "global_symbol", String(item.name));
    }
    for (const char* language : kLanguages) add(make_module(functions), language);
  }

  const HostPlan& plan(const std::string& function) const {
    const auto found = plans_.find(function);
    if (found == plans_.end()) {
      throw CannotEmit(fmt::format("what '{}' runs depends on sizes that are not known", function));
    }
    return found->second;
  }

  size_t kernel(const std::string& name) const { return kernels_.at(name); }

 private:
  void add(const IRModule& functions, const std::string& language) {
    const Target target = language_target(language);
    const DeviceCode code =
        lower_for_device(functions, with_host(target, host_target_for_one_run()));
    for (const NamedFunction& item : code.plans) {
      if (auto plan = host_plan(item.function)) plans_.emplace(item.name, std::move(*plan));
    }
    for (const NamedFunction& item : functions_of(code.kernels)) {
      const auto [place, is_new] = kernels_.try_emplace(item.name, program_.kernels.size());
      if (is_new) program_.kernels.push_back(describe(item));
      program_.kernels[place->second].code.push_back(write(item, target, language));
    }
  }

  static EmittedKernel describe(const NamedFunction& item) {
    EmittedKernel kernel{item.name, {}, {}, {}};
    for (const Var& param : field<Array<Var>>(item.function, "params")) {
      const auto type = field<ObjectRef>(param, "ty");
      const bool is_buffer = type_key(type) == "ir.PointerType";
      kernel.is_buffer.push_back(is_buffer);
      kernel.arguments.push_back(
          is_buffer ? field<DLDataType>(field<ObjectRef>(type, "element_type"), "dtype")
                    : item_type(param));
    }
    return kernel;
  }

  static EmittedCode write(const NamedFunction& kernel, const Target& target,
                           const std::string& language) {
    EmittedCode written{language, "", ""};
    try {
      TargetScope scope(target);
      written.code = kernel_code(kernel, target);
    } catch (const ffi::Error& error) {
      written.problem = nnef_runtime::first_line(error);
    }
    return written;
  }

  EmittedProgram& program_;
  std::map<std::string, HostPlan> plans_;
  std::map<std::string, size_t> kernels_;
};

/// Follows "main" from its parameters to its results.
class Walk {
 public:
  Walk(const IRModule& module, EmittedProgram& program)
      : module_(module), program_(program), table_(module, program) {}

  void run(const std::vector<nnef_runtime::TensorSpec>& inputs,
           const std::vector<nnef_runtime::TensorSpec>& outputs) {
    const Expr main = find_function(module_, "main");
    const auto params = field<Array<Var>>(main, "params");
    for (size_t i = 0; i < params.size(); ++i) {
      const size_t buffer = new_buffer(type_of(params[i]), field<String>(params[i], "name"));
      buffers_[params[i].get()] = {buffer};
      (i < inputs.size() ? program_.inputs : program_.weights).push_back(buffer);
      if (i < inputs.size()) program_.buffers[buffer].tensor.name = inputs[i].name;
    }
    for (const Binding& binding : bindings_of(main)) {
      buffers_[binding.var.get()] = follow(binding);
    }
    program_.outputs = buffers_of(result_of(main));
    for (size_t i = 0; i < program_.outputs.size() && i < outputs.size(); ++i) {
      nnef_runtime::TensorSpec& tensor = program_.buffers[program_.outputs[i]].tensor;
      if (!is_param(program_.outputs[i])) tensor.name = outputs[i].name;
    }
  }

 private:
  using Buffers = std::vector<size_t>;

  bool is_param(size_t buffer) const {
    return std::count(program_.inputs.begin(), program_.inputs.end(), buffer) +
               std::count(program_.weights.begin(), program_.weights.end(), buffer) >
           0;
  }

  size_t new_buffer(const Type& type, const std::string& name) {
    const auto shape = known_shape(type);
    if (!shape) {
      throw CannotEmit(fmt::format("the size of '{}' is not known", name));
    }
    const auto item = field<ObjectRef>(type, "dtype");
    program_.buffers.push_back({{name, field<DLDataType>(item, "dtype"), *shape}, std::nullopt});
    return program_.buffers.size() - 1;
  }

  Buffers buffers_of(const Expr& expr) {
    if (const auto found = buffers_.find(expr.get()); found != buffers_.end()) return found->second;
    if (type_key(expr) == "ir.Tuple") {
      Buffers all;
      for (const Expr& item : field<Array<Expr>>(expr, "fields")) {
        for (size_t buffer : buffers_of(item)) all.push_back(buffer);
      }
      return all;
    }
    throw CannotEmit(fmt::format("the module has a {} that only TVM can run", type_key(expr)));
  }

  Buffers follow(const Binding& binding) {
    const Expr& value = binding.value;
    const std::string name = field<String>(binding.var, "name");
    const std::string op = operator_name(value);
    if (op == "relax.call_tir") return call(binding.var, value, name);
    if (op == "relax.reshape") {
      const Buffers source = buffers_of(args_of(value)[0]);
      const size_t view = new_buffer(type_of(binding.var), name);
      program_.buffers[view].shares = source.front();
      return {view};
    }
    if (type_key(value) == "ir.TupleGetItem") {
      const Buffers all = buffers_of(field<Expr>(value, "tuple_value"));
      return {all.at(static_cast<size_t>(field<int64_t>(value, "index")))};
    }
    if (op.empty()) return buffers_of(value);
    throw CannotEmit(fmt::format("the operator '{}' is one that only TVM runs", op));
  }

  Buffers call(const Var& result, const Expr& value, const std::string& name) {
    const Array<Expr> args = args_of(value);
    const HostPlan& plan = table_.plan(field<String>(args[0], "name_hint"));
    Buffers given = buffers_of(args[1]);
    Buffers made;
    const Type type = type_of(result);
    if (type_key(type).ends_with("TupleType")) {
      for (const Type& item : field<Array<Type>>(type, "fields")) {
        made.push_back(new_buffer(item, fmt::format("{}.{}", name, made.size())));
      }
    } else {
      made.push_back(new_buffer(type, name));
    }
    given.insert(given.end(), made.begin(), made.end());
    if (given.size() != plan.params.size()) {
      throw CannotEmit(fmt::format("'{}' takes sizes from the host", name));
    }
    std::unordered_map<const void*, size_t> of;
    for (size_t i = 0; i < given.size(); ++i) of[plan.params[i].get()] = given[i];
    for (const Var& temporary : plan.temporaries)
      of[temporary.get()] = temporary_for(temporary, name);
    for (const KernelLaunch& launch : plan.launches) add_step(launch, of);
    return made;
  }

  size_t temporary_for(const Var& buffer, const std::string& name) {
    const BufferSpec spec = buffer_spec(buffer);
    const std::string own = field<String>(buffer, "name");
    program_.buffers.push_back(
        {{fmt::format("{}.{}", name, own), spec.dtype, spec.shape}, std::nullopt});
    return program_.buffers.size() - 1;
  }

  void add_step(const KernelLaunch& launch, const std::unordered_map<const void*, size_t>& of) {
    EmittedStep step;
    step.kernel = table_.kernel(launch.kernel);
    for (const KernelArgument& argument : launch.arguments) {
      if (argument.buffer.defined()) {
        step.arguments.push_back({of.at(argument.buffer.get())});
      } else {
        step.arguments.push_back({std::nullopt, argument.number});
      }
    }
    for (size_t i = 0; i < launch.tags.size(); ++i) {
      const std::string& tag = launch.tags[i];
      const auto axis = static_cast<size_t>(tag.back() - 'x');
      (tag.starts_with("block") ? step.groups : step.threads)[axis] = launch.extents[i];
    }
    program_.steps.push_back(std::move(step));
  }

  const IRModule& module_;
  EmittedProgram& program_;
  KernelTable table_;
  std::unordered_map<const void*, Buffers> buffers_;
};

}  // namespace

std::optional<EmittedProgram> emit(const IRModule& scheduled,
                                   const std::vector<nnef_runtime::TensorSpec>& inputs,
                                   const std::vector<nnef_runtime::TensorSpec>& outputs,
                                   const std::vector<ffi::Tensor>& weights,
                                   nnef::Diagnostics& diagnostics) {
  EmittedProgram program;
  try {
    Walk(scheduled, program).run(inputs, outputs);
  } catch (const CannotEmit& problem) {
    diagnostics.error("emit/dynamic", {}, problem.what())
        .help(
            "applications that run kernels without TVM need a model whose sizes are all known: "
            "give them by --shape, or leave --emit out");
    return std::nullopt;
  }
  program.weight_values = weights;
  return program;
}

}  // namespace nnef_tvm
