#include "runtime/threads.h"

#include <sched.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace nnef_runtime {

namespace {

namespace ffi = ::tvm::ffi;

/// The logical processors that this process may use.
std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

/// Names the core that a logical processor belongs to; its own name when the system does not tell.
std::string core_of(int cpu) {
  std::string siblings;
  std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                     "/topology/thread_siblings_list");
  return std::getline(file, siblings) && !siblings.empty() ? siblings : std::to_string(cpu);
}

// TVM's runtime sets the affinity of its threads, the calling one included; the processors that
// were allowed before it did so are the ones to share.
const std::vector<int>& initial_cpus() {
  static const std::vector<int> cpus = allowed_cpus();
  return cpus;
}

// How TVM spreads threads (threading::ThreadGroup::AffinityMode): each on one of the given
// processors, or all of them on all of these, where the system places them.
constexpr int kOneForEach = -2;
constexpr int kShareAllCores = -3;

/// The allowed processors, one of each core before the second of any.
std::vector<int> cores_first() {
  std::vector<int> first;
  std::vector<int> others;
  std::set<std::string> cores;
  for (int cpu : initial_cpus())
    (cores.insert(core_of(cpu)).second ? first : others).push_back(cpu);
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

}  // namespace

int physical_cores() {
  static const int count = [] {
    std::set<std::string> cores;
    for (int cpu : initial_cpus()) cores.insert(core_of(cpu));
    return static_cast<int>(cores.size());
  }();
  return count;
}

int default_threads() {
  const char* text = std::getenv("TVM_NUM_THREADS");
  int wanted = text == nullptr ? 0 : std::atoi(text);
  return wanted > 0 ? wanted : physical_cores();
}

void configure_threads(int threads, bool pin) {
  // TVM keeps one pool for each calling thread.
  thread_local std::pair<int, bool> configured = {0, false};
  if (threads <= 0) threads = default_threads();
  if (std::pair(threads, pin) == configured) return;
  // The pool is made as large as this list; processors repeat when more threads are asked for.
  const std::vector<int> allowed = pin ? cores_first() : initial_cpus();
  ffi::Array<ffi::String> cpus;
  size_t pool = std::max<size_t>(allowed.size(), threads);
  for (size_t i = 0; i < pool; ++i) cpus.push_back(std::to_string(allowed[i % allowed.size()]));
  static const ffi::Function configure =
      ffi::Function::GetGlobalRequired("runtime.config_threadpool");
  configure(pin ? kOneForEach : kShareAllCores, threads, cpus);
  configured = {threads, pin};
}

}  // namespace nnef_runtime
