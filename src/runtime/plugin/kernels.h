// The kernels of a module as TVM's code generators describe them, in the bytes that TVM writes:
//   string format; u64 count, then for each: string key, string name, u64 + {u8, u8, u16} types of
//   the arguments, u64 + strings of launch parameters, u64 + i32 of further tags; string code
// with lengths of strings and lists as 64-bit numbers, little endian.
#pragma once

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nnef_plugin {

namespace ffi = ::tvm::ffi;

struct KernelInfo {
  std::string name;
  std::vector<DLDataType> arguments;
  std::vector<std::string>
      launch_tags;  ///< "blockIdx.x", "threadIdx.x", ...: of the last arguments
  std::vector<int32_t> extra_tags;
};

struct KernelModule {
  std::string format;
  std::vector<KernelInfo> kernels;
  std::string code;
};

/// Throws tvm::ffi::Error when the bytes are no such module.
KernelModule read_kernel_module(std::string_view bytes);
std::string write_kernel_module(const KernelModule& module);

/// The code of a module of SPIR-V: for each kernel, in order, the number of its words (u64) and the
/// words.
void append_spirv(const std::vector<uint32_t>& words, std::string& code);
/// Throws tvm::ffi::Error when the code is no such list.
std::vector<std::vector<uint32_t>> split_spirv(std::string_view code);

/// A number that a kernel takes by value.
struct Scalar {
  std::array<char, 8> bytes{};
  size_t size = 0;
};

/// The arguments of one call of a kernel, as TVM's host code passes them.
class Launch {
 public:
  /// Throws tvm::ffi::Error when the arguments are not the kernel's.
  Launch(const KernelInfo& kernel, ffi::PackedArgs arguments);

  bool is_handle(size_t i) const { return kernel_.arguments[i].code == kDLOpaqueHandle; }
  void* handle(size_t i) const;
  /// In the size that the kernel declares.
  Scalar scalar(size_t i) const;

  const std::array<uint64_t, 3>& groups() const { return groups_; }
  const std::array<uint64_t, 3>& threads() const { return threads_; }
  /// Nothing to do: a grid without groups.
  bool is_empty() const { return groups_[0] == 0 || groups_[1] == 0 || groups_[2] == 0; }

 private:
  const KernelInfo& kernel_;
  ffi::PackedArgs arguments_;
  std::array<uint64_t, 3> groups_{1, 1, 1};
  std::array<uint64_t, 3> threads_{1, 1, 1};
};

}  // namespace nnef_plugin
