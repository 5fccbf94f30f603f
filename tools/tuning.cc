#include "tuning.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>

namespace nnefc {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBarWidth = 24;

volatile std::sig_atomic_t interruptions = 0;
struct sigaction previous_action;

void note_interruption(int) { interruptions = 1; }

double milliseconds(double seconds) { return seconds * 1e3; }

}  // namespace

std::string tuning_summary(const nnef_tvm::TuningSummary& summary, const TuningChoice& choice) {
  const std::string path = database_path(choice.database);
  std::error_code ignored;
  const bool there = !path.empty() && fs::exists(path, ignored);
  const bool has_choices = summary.kernels > 0;
  if (choice.seconds <= 0 && (!there || !has_choices)) return "";
  std::string text = fmt::format("tuning: {} of {} kernels", summary.found, summary.kernels);
  text += path.empty() ? " known" : " from " + path;
  if (choice.seconds > 0) text += fmt::format(", {} measured", summary.measured);
  if (summary.best > 0) {
    text += fmt::format(": {:.2f} times as fast as by rule", summary.by_rule / summary.best);
  }
  return text;
}

Measuring::Measuring() : terminal_(isatty(STDERR_FILENO) != 0) {
  interruptions = 0;
  struct sigaction action = {};
  action.sa_handler = note_interruption;
  // The second time, the process ends as usual.
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &previous_action);
}

Measuring::~Measuring() {
  sigaction(SIGINT, &previous_action, nullptr);
  if (terminal_ && shown_) fmt::print(stderr, "\r\033[K");
  if (interrupted()) {
    fmt::print(stderr, "interrupted: what was measured so far is used\n");
  }
}

bool Measuring::interrupted() const { return interruptions != 0; }

void Measuring::show(const nnef_tvm::TuningProgress& progress) {
  const std::string state =
      fmt::format("{}/{} {}: {:.3f} ms, by rule {:.3f} ms; best gain {:.2f}; {:.0f} s left",
                  progress.done, progress.total, progress.kernel, milliseconds(progress.best),
                  milliseconds(progress.by_rule), progress.best_gain, progress.seconds_left);
  if (!terminal_) {
    fmt::print(stderr, "tuning {}\n", state);
    return;
  }
  const size_t filled = kBarWidth * progress.done / std::max<size_t>(1, progress.total);
  fmt::print(stderr, "\r\033[Ktuning [{:<{}}] {}", std::string(filled, '#'), kBarWidth, state);
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace nnefc
