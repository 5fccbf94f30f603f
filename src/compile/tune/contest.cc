#include "compile/tune/contest.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "runtime/parallel.h"
#include "runtime/threads.h"
#include "tvm/ir_module.h"

namespace nnef_tvm {
namespace {

/// What the kernels of a module do.
std::vector<uint64_t> fingerprint(const IRModule& module) {
  std::vector<uint64_t> hashes;
  for (const NamedFunction& item : functions_of(module)) {
    if (is_prim_func(item.function)) hashes.push_back(structural_hash(item.function));
  }
  return hashes;
}

}  // namespace

void Contest::enter(const std::vector<Entrant>& entrants) {
  std::vector<Runner> built(entrants.size());
  std::mutex mutex;
  const auto threads = static_cast<size_t>(nnef_runtime::physical_cores());
  nnef_runtime::parallel_for(entrants.size(), threads, [&](size_t i) {
    if (rules_.stop()) return;
    try {
      const IRModule module = entrants[i].schedule();
      {
        const std::lock_guard lock(mutex);
        if (!seen_.insert(fingerprint(module)).second) return;
      }
      built[i] = {entrants[i].plan, std::make_unique<ModuleRun>(module, rules_.target)};
    } catch (const ffi::Error&) {
      // A plan that the schedule or the code generator cannot follow is none.
    }
  });
  for (Runner& runner : built) {
    if (runner.run) pending_.push_back(std::move(runner));
  }
}

bool Contest::is_right(ModuleRun& run) const {
  try {
    run.prepare(rules_.arguments, rules_.cold_bytes);
  } catch (const ffi::Error&) {
    return false;
  }
  return runners_.empty() ||
         same_results(run.results(), runners_.front().run->results(), rules_.tolerance);
}

void Contest::admit_pending() {
  for (Runner& runner : pending_) {
    const bool right = !rules_.stop() && is_right(*runner.run);
    // Without a reference nothing can be judged.
    if (!right && results_.empty()) break;
    if (!right) continue;
    runner.result = results_.size();
    results_.push_back({runner.plan, std::numeric_limits<double>::infinity()});
    runners_.push_back(std::move(runner));
  }
  pending_.clear();
}

void Contest::race(double seconds) {
  admit_pending();
  if (runners_.empty()) return;
  std::vector<ModuleRun*> runs;
  for (const Runner& runner : runners_) runs.push_back(runner.run.get());
  const std::vector<double> times = least_times(runs, seconds, rules_.stop);
  for (size_t i = 0; i < times.size(); ++i) {
    double& known = results_[runners_[i].result].seconds;
    known = std::min(known, times[i]);
  }
  dismiss_losers();
}

/// So that they give back their memory.
void Contest::dismiss_losers() {
  const Result* winner = best();
  std::vector<Runner> kept;
  for (Runner& runner : runners_) {
    if (kept.empty() || &results_[runner.result] == winner) kept.push_back(std::move(runner));
  }
  runners_ = std::move(kept);
}

const Contest::Result* Contest::best() const {
  return least([](const Result&) { return true; });
}

const Contest::Result* Contest::best(const std::string& plan) const {
  return least([&](const Result& result) { return result.plan == plan; });
}

template <typename Takes>
const Contest::Result* Contest::least(const Takes& takes) const {
  const Result* found = nullptr;
  for (const Result& result : results_) {
    if (!takes(result) || std::isinf(result.seconds)) continue;
    if (found == nullptr || result.seconds < found->seconds) found = &result;
  }
  return found;
}

}  // namespace nnef_tvm
