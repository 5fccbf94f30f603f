#include "compile/device_code.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "compile/cuda.h"
#include "compile/opencl_truths.h"
#include "compile/spirv/build.h"
#include "runtime/plugin/kernels.h"
#include "tvm/build.h"
#include "tvm/target.h"

namespace nnef_tvm {

namespace {

/// Carries code to an artefact where there is no plug-in to run it.
class CodeModule final : public ffi::ModuleObj {
 public:
  CodeModule(std::string kind, ffi::Bytes bytes)
      : kind_(std::move(kind)), bytes_(std::move(bytes)) {}

  const char* kind() const final { return kind_.c_str(); }
  int GetPropertyMask() const final { return ffi::Module::kBinarySerializable; }
  ffi::Bytes SaveToBytes() const final { return bytes_; }
  ffi::Optional<ffi::Function> GetFunction(const String& name) final {
    TVM_FFI_THROW(RuntimeError) << "kernel " << name << " needs the plug-in for " << kind_;
    return std::nullopt;
  }

 private:
  std::string kind_;
  ffi::Bytes bytes_;
};

ffi::Module make_module_of_kind(const std::string& kind, const std::string& bytes) {
  const ffi::Bytes code(bytes.data(), bytes.size());
  const auto load = ffi::Function::GetGlobal("ffi.Module.load_from_bytes." + kind);
  return load.has_value() ? (*load)(code).cast<ffi::Module>()
                          : ffi::Module(ffi::make_object<CodeModule>(kind, code));
}

/// Functions that jump between neighbouring numbers.
constexpr std::array<std::string_view, 4> kSteps = {"floor(", "ceil(", "trunc(", "rint("};

/// OpenCL C may compute a * b + c without rounding the product. Before a step, that makes other
/// results of exact ties than every other target: in kernels with steps, products are rounded.
std::string with_rounded_products(const std::string& source) {
  constexpr std::string_view kKernel = "\n__kernel void ";
  constexpr std::string_view kRounded = "\n#pragma OPENCL FP_CONTRACT OFF";
  std::string result;
  size_t at = 0;
  while (at < source.size()) {
    const size_t end = std::min(source.find(kKernel, at + 1), source.size());
    std::string part = source.substr(at, end - at);
    const size_t body = part.find('{');
    const bool steps = std::any_of(kSteps.begin(), kSteps.end(), [&](std::string_view step) {
      return part.find(step) != std::string::npos;
    });
    if (part.starts_with(kKernel) && body != std::string::npos && steps) {
      part.insert(body + 1, kRounded);
    }
    result += part;
    at = end;
  }
  return result;
}

/// TVM's own code for kernels.
nnef_plugin::KernelModule generate(const IRModule& kernels, const Target& target) {
  const ffi::Bytes bytes = build_kernels(kernels, target)->SaveToBytes();
  return nnef_plugin::read_kernel_module({bytes.data(), bytes.size()});
}

nnef_plugin::KernelModule opencl_source(const IRModule& kernels, const Target& target) {
  nnef_plugin::KernelModule module = generate(with_opencl_truths(kernels), target);
  module.code = with_rounded_products(module.code);
  return module;
}

nnef_plugin::KernelModule spirv_words(const IRModule& kernels, const Target&) {
  return spirv::build(kernels);
}

/// What becomes of code when the model is compiled.
nnef_plugin::KernelModule as_it_is(nnef_plugin::KernelModule module, const Target&) {
  return module;
}

nnef_plugin::KernelModule as_machine_code(nnef_plugin::KernelModule module, const Target& target) {
  module.code = cuda::compile_to_cubin(module.code, cuda::architecture(target));
  module.format = "cubin";
  return module;
}

struct Language {
  std::string_view kind;
  nnef_plugin::KernelModule (*generate)(const IRModule& kernels, const Target& target);
  nnef_plugin::KernelModule (*finish)(nnef_plugin::KernelModule module, const Target& target);
};

constexpr std::array<Language, 3> kLanguages = {{{"opencl", opencl_source, as_it_is},
                                                 {"vulkan", spirv_words, as_it_is},
                                                 {"cuda", generate, as_machine_code}}};

const Language& language_of(const Target& target) {
  const std::string kind = target_kind(target);
  const auto found = std::find_if(kLanguages.begin(), kLanguages.end(),
                                  [&](const Language& row) { return row.kind == kind; });
  if (found == kLanguages.end()) {
    TVM_FFI_THROW(ValueError) << "no kernels for targets of kind " << kind;
  }
  return *found;
}

}  // namespace

ffi::Module build_device_code(const IRModule& kernels, const Target& target) {
  const Language& language = language_of(target);
  const auto module = language.finish(language.generate(kernels, target), target);
  return make_module_of_kind(std::string(language.kind), nnef_plugin::write_kernel_module(module));
}

std::string kernel_code(const NamedFunction& kernel, const Target& target) {
  const auto module = language_of(target).generate(make_module({kernel}), target);
  if (target_kind(target) != "vulkan") return module.code;
  const std::vector<uint32_t> words = nnef_plugin::split_spirv(module.code).front();
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)};
}

}  // namespace nnef_tvm
