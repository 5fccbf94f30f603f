// Draws graphs at random and compares the compiled code with the reference evaluator. Every failure
// is made smaller and printed as a case file.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>

#include "recipes.h"
#include "shrink.h"
#include "tvm/object.h"
#include "worker.h"

namespace generator {
namespace {

const std::map<std::string, nnef_tvm::WinogradUse> kWinogradUses = {
    {"where-it-pays", nnef_tvm::WinogradUse::kWherePays},
    {"never", nnef_tvm::WinogradUse::kNever},
    {"small-tiles", nnef_tvm::WinogradUse::kSmallTiles},
    {"large-tiles", nnef_tvm::WinogradUse::kLargeTiles},
};

struct Options {
  uint64_t seed = 1;
  size_t count = 500;
  std::vector<std::string> operations;
  int optimize = 1;  ///< LLVM's level
  nnef_tvm::WinogradUse winograd = nnef_tvm::WinogradUse::kWherePays;
  size_t budget = 300;  ///< cases judged to make a failure smaller
  size_t alike = 1;     ///< failures of one operation and kind that are made smaller
  std::string folder;   ///< for the cases of failures
  bool statistics = false;
};

/// A line on a terminal; nothing elsewhere.
class Bar {
 public:
  explicit Bar(size_t count) : count_(count), shown_(isatty(STDERR_FILENO) != 0) {}

  void show(size_t done, size_t failed) {
    if (!shown_) return;
    const std::chrono::duration<double> gone = std::chrono::steady_clock::now() - start_;
    const double left =
        gone.count() / static_cast<double>(done) * static_cast<double>(count_ - done);
    constexpr size_t width = 30;
    const size_t filled = done * width / count_;
    fmt::print(stderr, "\r[{:#>{}}{:.>{}}] {}/{} cases, {} failed, {:.0f} s left \033[K", "",
               filled, "", width - filled, done, count_, failed, left);
    std::fflush(stderr);
  }
  void clear() const {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  size_t count_;
  bool shown_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Campaign {
 public:
  explicit Campaign(const Options& options)
      : options_(options),
        worker_({.target = host_target_json(options.optimize), .winograd = options.winograd}) {
    for (const std::string& name : options.operations) focuses_.push_back(name);
    if (focuses_.empty()) {
      for (const Recipe& recipe : recipes()) focuses_.emplace_back(recipe.operation);
    }
  }

  int run() {
    Bar bar(options_.count);
    for (size_t i = 0; i < options_.count; ++i) {
      const std::string& focus = focuses_[i % focuses_.size()];
      const uint64_t seed = options_.seed * 1000003 + i;
      Report report = worker_.judge_drawn(focus, seed);
      add(report);
      if (!report.verdict.passed) {
        bar.clear();
        explain(focus, seed, std::move(report));
      }
      bar.show(i + 1, failed_);
    }
    bar.clear();
    return conclude();
  }

 private:
  void add(const Report& report) {
    compared_ += report.verdict.compared;
    skipped_ += report.verdict.skipped;
    for (const auto& [operation, count] : report.attempts) {
      attempts_[operation].valid += count.valid;
      attempts_[operation].invalid += count.invalid;
    }
  }

  void explain(const std::string& focus, uint64_t seed, Report report) {
    ++failed_;
    const std::string kind = report.verdict.kind;
    if (++alike_[focus + " " + kind] > options_.alike) return;
    const Recorded small = shrink(worker_, {focus, report.choices}, kind, options_.budget);
    const Report last = worker_.judge_recorded(small, true);
    const std::string& message =
        last.verdict.message.empty() ? report.verdict.message : last.verdict.message;
    fmt::print("== {} (seed {}): {}\n{}{}", focus, seed, kind, message, last.case_file);
    std::fflush(stdout);
    if (options_.folder.empty()) return;
    std::filesystem::create_directories(options_.folder);
    std::ofstream(std::filesystem::path(options_.folder) / fmt::format("{}-{}.case", focus, seed))
        << last.case_file;
  }

  /// Operations whose recipes miss their shape rules more often than not test too little.
  int conclude() const {
    bool often_valid = true;
    for (const auto& [operation, count] : attempts_) {
      const size_t all = count.valid + count.invalid;
      if (options_.statistics) fmt::print("{}: {} of {} valid\n", operation, count.valid, all);
      if (all < 20 || 2 * count.valid >= all) continue;
      fmt::print("{}: only {} of {} drawn invocations are valid\n", operation, count.valid, all);
      often_valid = false;
    }
    fmt::print("{} cases of {} operations: {} failed; {} items compared, {} undecided\n",
               options_.count, attempts_.size(), failed_, compared_, skipped_);
    for (const auto& [what, count] : alike_) fmt::print("  {} x {}\n", count, what);
    return failed_ == 0 && often_valid ? 0 : 1;
  }

  const Options& options_;
  std::vector<std::string> focuses_;
  Worker worker_;
  std::map<std::string, Attempts> attempts_;
  std::map<std::string, size_t> alike_;  ///< failures by operation and kind
  size_t failed_ = 0, compared_ = 0, skipped_ = 0;
};

int run(int argc, char** argv) {
  Options options;
  CLI::App app("Compare compiled code with the reference evaluator on random graphs");
  app.add_option("--seed", options.seed, "Another seed draws other cases")->capture_default_str();
  app.add_option("--count", options.count, "Cases")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--operation", options.operations, "Only cases with one of these operations")
      ->check(CLI::Validator(
          [](const std::string& name) {
            return find_recipe(name) != nullptr ? "" : "no operation '" + name + "'";
          },
          "NAME"));
  app.add_option("--optimize", options.optimize, "LLVM's level of optimisation")
      ->capture_default_str()
      ->check(CLI::Range(0, 3));
  app.add_option("--winograd", options.winograd, "Convolutions by Winograd's method")
      ->transform(CLI::CheckedTransformer(kWinogradUses));
  app.add_option("--budget", options.budget, "Cases tried to make a failure smaller")
      ->capture_default_str();
  app.add_option("--alike", options.alike, "Failures of one kind and operation that are explained")
      ->capture_default_str();
  app.add_option("--keep", options.folder, "Folder for the case files of failures");
  app.add_flag("--statistics", options.statistics, "Say how often each operation was drawn");
  CLI11_PARSE(app, argc, argv);
  // Loaded before the workers are forked, so that each has it from the start.
  nnef::Diagnostics diagnostics;
  if (!nnef_tvm::load_compiler(diagnostics)) {
    fmt::print(stderr, "{}", nnef::format(diagnostics));
    return 1;
  }
  return Campaign(options).run();
}

}  // namespace
}  // namespace generator

int main(int argc, char** argv) { return generator::run(argc, argv); }
