// Tuning, as the command line has it: where the database is, what is shown, how it is stopped.
#pragma once

#include <string>

#include "commands.h"
#include "database_path.h"

namespace nnefc {

/// "tuning: 12 of 20 kernels from FILE, 8 measured: 1.20 times as fast as by rule"; "" when there
/// is nothing to choose or no database, unless kernels were to be measured.
std::string tuning_summary(const nnef_tvm::TuningSummary& summary, const TuningChoice& choice);

/// While kernels are measured: shows progress on stderr, one line for each kernel or, on a
/// terminal, a bar; and takes the first SIGINT as the wish to stop measuring.
class Measuring {
 public:
  Measuring();
  ~Measuring();
  Measuring(const Measuring&) = delete;
  Measuring& operator=(const Measuring&) = delete;

  void show(const nnef_tvm::TuningProgress& progress);
  bool interrupted() const;

 private:
  bool terminal_;
  bool shown_ = false;
};

}  // namespace nnefc
