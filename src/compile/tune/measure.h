// Small modules of kernels, built and run in this process to be timed.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compile/schedule/cpu/schedule.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// Returns whether to stop soon.
using StopSignal = std::function<bool()>;

/// A module whose "main" calls kernels, one after the other, on tensors of known shapes. What
/// depends on weights alone is computed once, as when a model is compiled.
class ModuleRun {
 public:
  /// Builds the kernels. May be called from any thread. Throws tvm::ffi::Error.
  ModuleRun(const IRModule& scheduled, const Target& target);

  /// Runs once. `cold_bytes`: weights are copied until their copies fill so many bytes, and take
  /// turns, since in a model other kernels push them out of the caches. Throws tvm::ffi::Error.
  void prepare(const std::vector<ffi::Tensor>& arguments, int64_t cold_bytes);

  /// Seconds for one call, the mean of so many. Throws tvm::ffi::Error.
  double time(int64_t calls);

  /// What the last call made.
  const std::vector<ffi::Tensor>& results() const { return results_; }

 private:
  struct Step {
    ffi::Function kernel;
    std::vector<std::vector<ffi::Tensor>> arguments;  ///< of the calls in turn
  };
  void call(const Step& step, size_t turn) const;

  IRModule module_;
  std::map<std::string, ffi::Function> kernels_;
  std::vector<ffi::Module> libraries_;
  std::vector<Step> steps_;
  std::vector<ffi::Tensor> results_;
  size_t turn_ = 0;
};

/// Tensors for main's parameters, all of whose shapes are known: small numbers, the same in every
/// process. Nullopt when a shape is not known or items are of an unusual type.
std::optional<std::vector<ffi::Tensor>> sample_arguments(const IRModule& module);

/// Whether two results are equal but for rounding.
bool same_results(const std::vector<ffi::Tensor>& got, const std::vector<ffi::Tensor>& want,
                  double tolerance);

/// The least time of a call of each, in seconds: they take turns, so that whatever else the machine
/// does disturbs all alike; slow ones leave early. Ends when times do not get better, after
/// `seconds`, or with the signal.
std::vector<double> least_times(const std::vector<ModuleRun*>& runs, double seconds,
                                const StopSignal& stop);

}  // namespace nnef_tvm
