#include "runtime/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "runtime/threads.h"

namespace nnef_runtime {
namespace {

using Clock = std::chrono::steady_clock;

// Enough to hide the latency of a multiplication with an addition, few enough for 16 registers.
constexpr int kChains = 12;
constexpr int64_t kSteps = 20000;

template <int bytes>
struct VectorOf {
  typedef float type __attribute__((vector_size(bytes)));
};

/// Independent chains of multiplications with additions; returns the number of these operations,
/// each counted twice.
template <int bytes>
[[gnu::always_inline]] inline double run_chains(float& sink) {
  using Vector = typename VectorOf<bytes>::type;
  const Vector factor = Vector{} + 0.999F;
  const Vector term = Vector{} + 0.001F;
  Vector chains[kChains];
  for (Vector& chain : chains) chain = Vector{} + sink;
  for (int64_t step = 0; step < kSteps; ++step) {
#pragma GCC unroll 12
    for (Vector& chain : chains) chain = chain * factor + term;
  }
  Vector sum = chains[0];
  for (int i = 1; i < kChains; ++i) sum += chains[i];
  sink = sum[0];
  return 2.0 * kChains * kSteps * (bytes / sizeof(float));
}

double baseline(float& sink) { return run_chains<16>(sink); }

using Chains = double (*)(float& sink);

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] double avx2(float& sink) { return run_chains<32>(sink); }
[[gnu::target("avx512f")]] double avx512(float& sink) { return run_chains<64>(sink); }

Chains widest() {
  if (__builtin_cpu_supports("avx512f") != 0) return avx512;
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) return avx2;
  return baseline;
}
#else
Chains widest() { return baseline; }
#endif

}  // namespace

double measured_peak(int threads) {
  if (threads <= 0) threads = default_threads();
  const Chains chains = widest();
  constexpr auto kTime = std::chrono::milliseconds(30);
  std::vector<double> rates(static_cast<size_t>(threads));
  std::vector<std::thread> workers;
  for (double& rate : rates) {
    workers.emplace_back([&rate, chains, kTime] {
      float sink = 1;
      const auto start = Clock::now();
      // The best of short stretches: others may want the core meanwhile.
      while (Clock::now() - start < kTime) {
        const auto begin = Clock::now();
        const double flops = chains(sink);
        const std::chrono::duration<double> gone = Clock::now() - begin;
        rate = std::max(rate, flops / gone.count() * 1e-9);
      }
    });
  }
  double total = 0;
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i].join();
    total += rates[i];
  }
  return total;
}

}  // namespace nnef_runtime
