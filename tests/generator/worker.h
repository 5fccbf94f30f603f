// Judges cases in a process of their own, which may crash or hang.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "judge.h"

namespace generator {

/// A case by what it is made from.
struct Recorded {
  std::string focus;
  std::vector<uint32_t> choices;
};

struct Report {
  Verdict verdict;
  std::vector<uint32_t> choices;  ///< those that were made
  std::map<std::string, Attempts> attempts;
  std::string case_file;  ///< when asked for
};

class Worker {
 public:
  explicit Worker(nnef_tvm::CompileOptions options) : options_(std::move(options)) {}
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Draws by `seed` and judges.
  Report judge_drawn(const std::string& focus, uint64_t seed);
  Report judge_recorded(const Recorded& recorded, bool with_file = false);
  /// The choices of a case that is not judged, for one that crashed.
  static std::vector<uint32_t> draw(const std::string& focus, uint64_t seed);

 private:
  Report ask(const std::string& request);
  void start();
  [[noreturn]] void serve(int from, int to) const;
  /// Waits for the end of the process; how it ended.
  std::string stop();

  nnef_tvm::CompileOptions options_;
  pid_t process_ = -1;
  int to_ = -1, from_ = -1;
  size_t judged_ = 0;
};

}  // namespace generator
