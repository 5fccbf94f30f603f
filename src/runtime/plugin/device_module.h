// What modules of kernels for devices have in common, whatever their code is.
#pragma once

#include <tvm/ffi/cast.h>
#include <tvm/ffi/extra/module.h>

#include <string>

#include "runtime/plugin/kernels.h"

namespace nnef_plugin {

/// Gives TVM's host code a function for each kernel.
class DeviceModule : public ffi::ModuleObj {
 public:
  explicit DeviceModule(const ffi::Bytes& bytes)
      : bytes_(bytes), description_(read_kernel_module({bytes.data(), bytes.size()})) {}

  int GetPropertyMask() const final {
    return ffi::Module::kBinarySerializable | ffi::Module::kRunnable;
  }
  ffi::Bytes SaveToBytes() const final { return bytes_; }

  ffi::Optional<ffi::Function> GetFunction(const ffi::String& name) final {
    for (size_t i = 0; i < description_.kernels.size(); ++i) {
      if (description_.kernels[i].name != std::string(name)) continue;
      // The function keeps the module.
      auto self = ffi::GetRef<ffi::Module>(this);
      return ffi::Function::FromPacked(
          [self, this, i](ffi::PackedArgs arguments, ffi::Any* result) {
            const Launch call(description_.kernels[i], arguments);
            if (!call.is_empty()) launch(i, call);
            *result = nullptr;
          });
    }
    return std::nullopt;
  }

 protected:
  const KernelModule& description() const { return description_; }
  /// Starts the kernel of this index.
  virtual void launch(size_t kernel, const Launch& call) = 0;

 private:
  ffi::Bytes bytes_;
  KernelModule description_;
};

}  // namespace nnef_plugin
