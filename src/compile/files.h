// Temporary files that never outlive their owner, and programs that are run.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nnef_tvm {

/// A new folder under the system's folder for temporary files; removed with all that is in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// Empty when the folder could not be made; errno says why.
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A file that appears under its name only when it is complete. Errors stick; errno of the first is
/// kept.
class OutputFile {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* data, uint64_t bytes);
  /// Zeros up to a multiple of `alignment` bytes.
  void pad_to(uint64_t alignment);
  uint64_t size() const { return size_; }
  /// Gives the file its name. False when this or anything before failed.
  bool commit();
  int error() const { return error_; }

 private:
  std::string path_;
  std::string temporary_;
  int file_ = -1;
  uint64_t size_ = 0;
  int error_ = 0;
};

struct ProcessResult {
  bool started = false;
  int status = -1;     ///< exit status; -1 when it did not exit by itself
  std::string output;  ///< its standard error and output
};

/// Runs a program, found in $PATH, to its end; no shell takes part. `log` is a file for its output.
ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::filesystem::path& log);

}  // namespace nnef_tvm
