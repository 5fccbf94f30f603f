#include "tvm/cuda_code.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "tvm/object.h"

namespace nnef_tvm {

namespace {

constexpr const char* kIntegers = "#include <cstdint>\n";

/// Functions of half precision that TVM calls and cuda_fp16.h lacks.
constexpr const char* kHalf = R"(#include <cuda_fp16.h>
static inline __device__ half max(half a, half b) { return a > b ? a : b; }
static inline __device__ half min(half a, half b) { return a < b ? a : b; }
#define NNEF_HALF_BY_FLOAT(name, function) \
  static inline __device__ half name(half x) { return __float2half(function(__half2float(x))); }
NNEF_HALF_BY_FLOAT(htan, tanf)
NNEF_HALF_BY_FLOAT(hatan, atanf)
NNEF_HALF_BY_FLOAT(herf, erff)
#if __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ < 1208
NNEF_HALF_BY_FLOAT(htanh, tanhf)
#endif
static inline __device__ half hpow(half x, half y) {
  return __float2half(powf(__half2float(x), __half2float(y)));
}
static inline __device__ unsigned __pack_half2(half x, half y) {
  return (unsigned)__half_as_ushort(y) << 16 | __half_as_ushort(x);
}
)";

struct Feature {
  std::string_view tag;
  const char* text;
};
constexpr std::array<Feature, 3> kFeatures = {
    {{"fp16", kHalf}, {"math_constants", "#include <math_constants.h>\n"}, {"warp_shuffle", ""}}};

/// What the code begins with, by the features that it uses.
String header(const Array<String>& tags) {
  std::string text = kIntegers;
  for (const String& tag : tags) {
    const auto found = std::find_if(kFeatures.begin(), kFeatures.end(), [&](const Feature& row) {
      return std::string_view(tag.data(), tag.size()) == row.tag;
    });
    if (found == kFeatures.end()) TVM_FFI_THROW(DeviceLimit) << "CUDA's " << std::string(tag);
    text += found->text;
  }
  return text;
}

/// For each of CUDA's own intrinsics, a function that writes it: for none, since no schedule here
/// uses them.
Any no_intrinsic(const Any&) { return nullptr; }

template <typename Answer>
void register_missing(const char* name, Answer answer) {
  if (ffi::Function::GetGlobal(name).has_value()) return;
  ffi::Function::SetGlobal(name, ffi::Function::FromTyped(answer));
}

}  // namespace

void register_cuda_code() {
  register_missing("tirx.intrinsics.cuda.get_codegen", no_intrinsic);
  register_missing("tirx.intrinsics.cuda.header_generator", header);
}

}  // namespace nnef_tvm
