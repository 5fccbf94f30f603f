// How long each kernel of a run takes.
#pragma once

#include <tvm/ffi/extra/module.h>

#include <memory>
#include <string>
#include <vector>

namespace nnef_runtime {

/// Watches a virtual machine while it lives.
class KernelTimer {
 public:
  struct Call {
    std::string name;
    double milliseconds = 0;
  };

  /// Throws tvm::ffi::Error.
  explicit KernelTimer(::tvm::ffi::Module machine);
  ~KernelTimer();
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

  /// The calls so far, in order; those of the machine's own functions are not among them.
  const std::vector<Call>& calls() const;

 private:
  struct Record;

  ::tvm::ffi::Module machine_;
  std::shared_ptr<Record> record_;
};

}  // namespace nnef_runtime
