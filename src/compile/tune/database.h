// What was measured, in a file: one JSON object on each line, so that databases merge by
// concatenation and a line that was cut short costs no other one.
#pragma once

#include <compare>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>

#include "nnef/diagnostic.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// What times hold for.
struct CpuKey {
  std::string cpu;       ///< LLVM's name
  std::string features;  ///< that code may use, separated by blanks
  int threads = 1;

  auto operator<=>(const CpuKey&) const = default;
};

/// Of code for the target on so many threads.
CpuKey cpu_key(const Target& target, int threads);

struct TuningRecord {
  std::string kernel;  ///< kernel_key(), or the name of a convolution
  std::string name;    ///< for readers
  CpuKey cpu;
  std::string plan;         ///< JSON
  double microseconds = 0;  ///< of one call with that plan
  double by_rule = 0;       ///< of one call with the cost rule's
};

class TuningDatabase {
 public:
  /// Increased when kernels or schedules change so that old times say nothing.
  static constexpr int kVersion = 2;

  /// Of no file: it holds what is added to it.
  TuningDatabase() = default;
  /// Reads the file if there is one. What cannot be read are warnings: "tuning/read",
  /// "tuning/record", "tuning/version".
  TuningDatabase(std::string path, nnef::Diagnostics& diagnostics);

  /// The fastest one.
  const TuningRecord* find(const std::string& kernel, const CpuKey& cpu) const;
  size_t size() const { return records_.size(); }

  /// Also to the end of the file, at once. A file that cannot be written is a warning,
  /// "tuning/write", once.
  void add(TuningRecord record, nnef::Diagnostics& diagnostics);

 private:
  void read(std::istream& text, nnef::Diagnostics& diagnostics);
  void keep(TuningRecord record);
  bool write(const std::string& line);

  std::string path_;
  bool writable_ = true;
  std::map<std::pair<std::string, CpuKey>, TuningRecord> records_;
};

/// One line, without its end.
std::string to_line(const TuningRecord& record);

}  // namespace nnef_tvm
