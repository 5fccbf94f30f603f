// Several versions of one kernel against each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compile/tune/measure.h"

namespace nnef_tvm {

/// A version: its plan, as the database keeps it, and what makes the scheduled module.
struct Entrant {
  std::string plan;
  std::function<IRModule()> schedule;
};

struct ContestRules {
  Target target;
  std::vector<ffi::Tensor> arguments;
  double tolerance = 0;    ///< of results, in parts of the largest item
  int64_t cold_bytes = 0;  ///< see ModuleRun::prepare()
  StopSignal stop;
};

class Contest {
 public:
  explicit Contest(ContestRules rules) : rules_(std::move(rules)) {}

  /// Builds versions for the next race; the first version ever is the reference. What cannot be
  /// built takes no part, nor does what is the same code as an earlier version. May be called from
  /// any thread, by one at a time.
  void enter(const std::vector<Entrant>& entrants);

  /// Races the versions that were entered, the reference and the best so far against each other,
  /// for at most so many seconds. Those whose results differ from the reference's take no part.
  void race(double seconds);

  struct Result {
    std::string plan;
    double seconds;  ///< of one call, the least that was seen
  };
  /// All that were timed, the reference first.
  const std::vector<Result>& results() const { return results_; }
  /// Nullptr when nothing was timed.
  const Result* best() const;
  /// The same, of those with a plan.
  const Result* best(const std::string& plan) const;

 private:
  struct Runner {
    std::string plan;
    std::unique_ptr<ModuleRun> run;
    size_t result = 0;
  };
  template <typename Takes>
  const Result* least(const Takes& takes) const;
  bool is_right(ModuleRun& run) const;
  void admit_pending();
  void dismiss_losers();

  ContestRules rules_;
  std::set<std::vector<uint64_t>> seen_;
  std::vector<Runner> pending_;
  std::vector<Runner> runners_;  ///< the reference, then those that may win
  std::vector<Result> results_;
};

}  // namespace nnef_tvm
