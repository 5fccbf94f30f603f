// Tuning, as the command line has it: where the database is, what is shown, how it is stopped.
#pragma once

#include <string>

#include "commands.h"

namespace nnefc {

/// The file that --tuning names ("" when it is not given); "" for none.
std::string database_path(const std::string& option);

/// "tuning: 12 of 20 kernels from FILE, 8 measured: 1.2 times faster than by rule"; "" when there
/// is no database and nothing was measured.
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
