#include "runtime/cpu_features.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace nnef_runtime {

#if defined(__x86_64__)

namespace {

enum Register : uint8_t { eax, ebx, ecx, edx };

// Register files that the operating system must save (bits of XCR0) before an extension can be
// used.
constexpr uint32_t kNoState = 0;
constexpr uint32_t kAvxState = 0x6;
constexpr uint32_t kAvx512State = 0xe6;
constexpr uint32_t kTileState = 0x60000;

/// Where CPUID reports an extension.
struct Feature {
  std::string_view name;
  uint32_t leaf;
  uint32_t subleaf;
  Register reg;
  uint8_t bit;
  uint32_t state;
};

constexpr uint32_t kExtended = 0x80000001;

constexpr Feature kFeatures[] = {
    {"sse3", 1, 0, ecx, 0, kNoState},
    {"ssse3", 1, 0, ecx, 9, kNoState},
    {"sse4.1", 1, 0, ecx, 19, kNoState},
    {"sse4.2", 1, 0, ecx, 20, kNoState},
    {"sse4a", kExtended, 0, ecx, 6, kNoState},
    {"popcnt", 1, 0, ecx, 23, kNoState},
    {"lzcnt", kExtended, 0, ecx, 5, kNoState},
    {"movbe", 1, 0, ecx, 22, kNoState},
    {"bmi", 7, 0, ebx, 3, kNoState},
    {"bmi2", 7, 0, ebx, 8, kNoState},
    {"f16c", 1, 0, ecx, 29, kAvxState},
    {"fma", 1, 0, ecx, 12, kAvxState},
    {"fma4", kExtended, 0, ecx, 16, kAvxState},
    {"xop", kExtended, 0, ecx, 11, kAvxState},
    {"avx", 1, 0, ecx, 28, kAvxState},
    {"avx2", 7, 0, ebx, 5, kAvxState},
    {"gfni", 7, 0, ecx, 8, kNoState},
    {"avxvnni", 7, 1, eax, 4, kAvxState},
    {"avx512f", 7, 0, ebx, 16, kAvx512State},
    {"avx512bw", 7, 0, ebx, 30, kAvx512State},
    {"avx512cd", 7, 0, ebx, 28, kAvx512State},
    {"avx512dq", 7, 0, ebx, 17, kAvx512State},
    {"avx512vl", 7, 0, ebx, 31, kAvx512State},
    {"avx512ifma", 7, 0, ebx, 21, kAvx512State},
    {"avx512vbmi", 7, 0, ecx, 1, kAvx512State},
    {"avx512vbmi2", 7, 0, ecx, 6, kAvx512State},
    {"avx512vnni", 7, 0, ecx, 11, kAvx512State},
    {"avx512bitalg", 7, 0, ecx, 12, kAvx512State},
    {"avx512vpopcntdq", 7, 0, ecx, 14, kAvx512State},
    {"avx512bf16", 7, 1, eax, 5, kAvx512State},
    {"avx512fp16", 7, 0, edx, 23, kAvx512State},
    {"amx-tile", 7, 0, edx, 24, kTileState},
    {"amx-int8", 7, 0, edx, 25, kTileState},
    {"amx-bf16", 7, 0, edx, 22, kTileState},
};

/// XCR0: the register files that the operating system saves; 0 when it saves none.
uint32_t saved_states() {
  constexpr uint32_t kOsSaves = 1u << 27;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsSaves) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

bool present(const Feature& feature) {
  static const uint32_t states = saved_states();
  uint32_t registers[4] = {};
  if (__get_cpuid_count(feature.leaf, feature.subleaf, &registers[eax], &registers[ebx],
                        &registers[ecx], &registers[edx]) == 0) {
    return false;
  }
  return (registers[feature.reg] >> feature.bit & 1) != 0 &&
         (states & feature.state) == feature.state;
}

}  // namespace

const std::vector<std::string_view>& known_cpu_features() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const Feature& feature : kFeatures) all.push_back(feature.name);
    return all;
  }();
  return names;
}

bool has_cpu_feature(std::string_view name) {
  for (const Feature& feature : kFeatures) {
    if (feature.name == name) return present(feature);
  }
  return false;
}

#else

const std::vector<std::string_view>& known_cpu_features() {
  static const std::vector<std::string_view> none;
  return none;
}

bool has_cpu_feature(std::string_view) { return false; }

#endif

}  // namespace nnef_runtime
