// One line on a terminal's stderr for work that takes more than a second: what is going on, and for
// how long.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace nnefc {

/// Shows `task` and the seconds gone while it is alive; erases the line at the end. Silent when
/// stderr is no terminal.
class Progress {
 public:
  explicit Progress(std::string task);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void show();

  std::string task_;
  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace nnefc
