#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <utility>

namespace nnefc {

using std::chrono::milliseconds;

Progress::Progress(std::string task) : task_(std::move(task)) {
  if (isatty(STDERR_FILENO) != 0) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_one();
  thread_.join();
}

void Progress::show() {
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  bool shown = false;
  // Nothing for the first second: short work leaves no trace.
  while (
      !done_changed_.wait_for(lock, milliseconds(shown ? 100 : 1000), [this] { return done_; })) {
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - start;
    fmt::print(stderr, "\r{} ... {:.1f} s", task_, gone.count());
    std::fflush(stderr);
    shown = true;
  }
  if (shown) fmt::print(stderr, "\r\033[K");
}

}  // namespace nnefc
