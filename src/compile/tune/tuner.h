// The choice of plans by measurement, within a budget of seconds, and from what was measured
// before.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compile/schedule/cpu/plan.h"
#include "compile/schedule/cpu/winograd_plan.h"
#include "compile/tune/contest.h"
#include "compile/tune/database.h"
#include "compile/tune/kernel_use.h"
#include "nnef/diagnostic.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// After each kernel that was measured.
struct TuningProgress {
  size_t done = 0;   ///< of the stage: first convolutions, for their method, then kernels
  size_t total = 0;  ///< to be measured in the stage
  std::string kernel;
  double by_rule = 0;    ///< seconds of one call as the cost rule has it,
  double best = 0;       ///< and as it is chosen now
  double best_gain = 1;  ///< the greatest ratio of the two so far
  double seconds_left = 0;
};

struct TuningOptions {
  std::string database;  ///< a file; empty: none
  double seconds = 0;    ///< for measuring what the database does not know
  std::function<void(const TuningProgress&)> progress;
  StopSignal stop;  ///< ends measuring early; what was found stays
};

struct TuningSummary {
  size_t kernels = 0;  ///< that there could be plans for; convolutions also for their method
  size_t found = 0;    ///< in the database
  size_t measured = 0;
  double by_rule = 0;  ///< microseconds of all calls of the measured kernels (not convolutions)
  double best = 0;
};

class Tuner {
 public:
  /// Reads the database, if there is one.
  Tuner(TuningOptions options, const Target& target, nnef::Diagnostics& diagnostics);

  /// For the convolutions of a module that is laid out and whose operators are not lowered.
  WinogradPlans plan_convolutions(const IRModule& module);
  /// For the kernels of a module that are not scheduled.
  KernelPlans plan_kernels(const IRModule& module);

  const TuningSummary& summary() const { return summary_; }

 private:
  using Clock = std::chrono::steady_clock;
  using Problems = std::vector<std::pair<WinogradProblem, int>>;

  /// A kernel in measurement.
  struct Task {
    std::string key;
    std::string name;
    int calls;
    Contest contest;
    std::string rule;  ///< the plan of the cost rule
    double gain;       ///< another one must not take more than this part of its time
  };
  struct KernelTask : Task {
    KernelUse use;
    IRModule module;
    KernelChoices choices;
  };

  void begin_stage();
  void end_stage();
  double gone() const;
  bool is_over(double deadline) const;
  Contest new_contest(const IRModule& module, double tolerance, double deadline) const;
  std::function<IRModule()> scheduled(const IRModule& module, const std::string& key,
                                      const KernelPlan& plan) const;
  std::optional<std::optional<WinogradPlan>> known_plan(const WinogradProblem& problem);

  void measure_convolutions(Problems problems, WinogradPlans& plans);
  void race_convolution(Task& task, const WinogradProblem& problem);
  void measure_kernels(const std::vector<KernelUse>& uses, KernelPlans& plans);
  std::vector<KernelTask> start_kernels(const std::vector<KernelUse>& uses);
  void race_kernel(KernelTask& task, size_t limit);
  /// Notes the winner in the database and reports it; false when nothing was compared.
  bool conclude(const Task& task, size_t done, size_t total);

  TuningOptions options_;
  Target target_;
  CpuTraits traits_;
  nnef::Diagnostics& diagnostics_;
  TuningDatabase database_;
  CpuKey cpu_;
  TuningSummary summary_;
  Clock::time_point stage_ = Clock::now();
  double spent_ = 0;        ///< seconds, in stages that are over
  int64_t cold_bytes_ = 0;  ///< of weights, from one call of a kernel to the next
  double best_gain_ = 1;
};

}  // namespace nnef_tvm
