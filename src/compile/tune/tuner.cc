#include "compile/tune/tuner.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "compile/kernels/winograd.h"
#include "compile/pipeline.h"
#include "compile/schedule/cpu/rules.h"
#include "compile/tune/candidates.h"
#include "compile/tune/plan_json.h"
#include "runtime/parallel.h"
#include "runtime/threads.h"
#include "tvm/target.h"

namespace nnef_tvm {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kConvolutionShare = 0.4;  // of the seconds, at most, for the choice of methods
constexpr double kGain = 0.98;             // what gains less is noise
constexpr double kMethodGain = 0.92;       // other weights are worth more than that
constexpr double kNegligible = 1e-3;       // of all kernels' time
constexpr double kExact = 1e-4;            // tolerances of results, in parts of the largest
constexpr double kWinograd = 2e-3;
constexpr size_t kMostCandidates = 24;
constexpr size_t kFewestCandidates = 4;
constexpr size_t kDirectCandidates = 3;
constexpr size_t kWinogradCandidates = 5;  // for each size of tiles
constexpr double kWorthTrying = 2;         // times the direct convolution's estimate
constexpr double kFirstRace = 0.1;         // seconds
constexpr double kRace = 2;
constexpr double kGuess = 0.3;  // seconds for a candidate, before any was built
constexpr int64_t kMostColdBytes = 32 << 20;

/// The best plan for each size of tiles, next best ones after them.
std::vector<WinogradPlan> winograd_candidates(const WinogradProblem& problem,
                                              const CpuTraits& traits) {
  std::vector<WinogradPlan> plans;
  for (const int64_t tile : {4, 2}) {
    const auto ranked = rank_winograd(problem, tile, traits, kWinogradCandidates);
    plans.insert(plans.end(), ranked.begin(), ranked.end());
  }
  return plans;
}

bool is_worth_trying(const WinogradProblem& problem, const CpuTraits& traits) {
  const double least =
      std::min(plan_winograd(problem, 2, traits).cycles, plan_winograd(problem, 4, traits).cycles);
  return least < kWorthTrying * direct_cycles(problem, traits);
}

IRModule lowered(const IRModule& module, const CpuTraits& traits) {
  nnef::Diagnostics diagnostics;
  IRModule result = lower_operators(module, "main", traits, diagnostics);
  if (diagnostics.has_errors()) TVM_FFI_THROW(ValueError) << nnef::format(diagnostics);
  return result;
}

std::string text(const KernelPlan& plan) { return to_json(plan).dump(); }
std::string text(const std::optional<WinogradPlan>& plan) { return to_json(plan).dump(); }

}  // namespace

Tuner::Tuner(TuningOptions options, const Target& target, nnef::Diagnostics& diagnostics)
    : options_(std::move(options)),
      target_(target),
      traits_(cpu_traits(target)),
      diagnostics_(diagnostics),
      database_(options_.database, diagnostics),
      cpu_(cpu_key(target, nnef_runtime::default_threads())) {
  if (!options_.stop) options_.stop = [] { return false; };
}

double Tuner::gone() const {
  return spent_ + std::chrono::duration<double>(Clock::now() - stage_).count();
}

bool Tuner::is_over(double deadline) const { return options_.stop() || gone() >= deadline; }

Contest Tuner::new_contest(const IRModule& module, double tolerance, double deadline) const {
  const auto arguments = sample_arguments(module);
  if (!arguments) TVM_FFI_THROW(ValueError) << "no samples for the kernel's parameters";
  return Contest({.target = target_,
                  .arguments = *arguments,
                  .tolerance = tolerance,
                  .cold_bytes = cold_bytes_,
                  .stop = [this, deadline] { return is_over(deadline); }});
}

std::function<IRModule()> Tuner::scheduled(const IRModule& module, const std::string& key,
                                           const KernelPlan& plan) const {
  return [=, this] {
    TargetScope scope(target_);
    return schedule_cpu(module, target_, WeightLayout::kPack, {{key, plan}});
  };
}

bool Tuner::conclude(const Task& task, size_t done, size_t total) {
  const Contest::Result* rule = task.contest.best(task.rule);
  const Contest::Result* winner = task.contest.best();
  if (winner == nullptr || rule == nullptr) return false;
  if (winner->seconds > task.gain * rule->seconds) winner = rule;
  constexpr double kMicro = 1e6;
  database_.add({.kernel = task.key,
                 .name = task.name,
                 .cpu = cpu_,
                 .plan = winner->plan,
                 .microseconds = winner->seconds * kMicro,
                 .by_rule = rule->seconds * kMicro},
                diagnostics_);
  ++summary_.measured;
  best_gain_ = std::max(best_gain_, rule->seconds / winner->seconds);
  if (!options_.progress) return true;
  const double each = gone() / static_cast<double>(summary_.measured);
  options_.progress({.done = done,
                     .total = total,
                     .kernel = task.name,
                     .by_rule = rule->seconds,
                     .best = winner->seconds,
                     .best_gain = best_gain_,
                     .seconds_left = std::clamp(each * static_cast<double>(total - done), 0.0,
                                                std::max(0.0, options_.seconds - gone()))});
  return true;
}

std::optional<std::optional<WinogradPlan>> Tuner::known_plan(const WinogradProblem& problem) {
  const TuningRecord* record = database_.find(problem_name(problem), cpu_);
  if (record == nullptr) return std::nullopt;
  const auto plan = winograd_plan(Json::parse(record->plan));
  if (!plan || !*plan) return plan;
  const auto complete = complete_winograd(problem, **plan, traits_);
  return complete ? std::optional(complete) : std::nullopt;
}

WinogradPlans Tuner::plan_convolutions(const IRModule& module) {
  cold_bytes_ = std::min(weight_bytes(module), kMostColdBytes);
  WinogradPlans plans;
  Problems unknown;
  for (const auto& [problem, count] : winograd_problems(module)) {
    if (!is_worth_trying(problem, traits_)) continue;
    ++summary_.kernels;
    if (const auto plan = known_plan(problem)) {
      plans[problem] = *plan;
      ++summary_.found;
    } else {
      unknown.emplace_back(problem, count);
    }
  }
  if (options_.seconds > 0 && !unknown.empty()) measure_convolutions(std::move(unknown), plans);
  return plans;
}

void Tuner::begin_stage() {
  stage_ = Clock::now();
  nnef_runtime::configure_threads(cpu_.threads);
}

void Tuner::end_stage() {
  spent_ = gone();
  stage_ = Clock::now();
}

void Tuner::measure_convolutions(Problems problems, WinogradPlans& plans) {
  begin_stage();
  const auto work = [&](const auto& item) {
    return direct_cycles(item.first, traits_) * item.second;
  };
  std::sort(problems.begin(), problems.end(),
            [&](const auto& a, const auto& b) { return work(a) > work(b); });
  const double deadline = kConvolutionShare * options_.seconds;
  size_t done = 0;
  for (const auto& [problem, count] : problems) {
    if (is_over(deadline)) break;
    try {
      const std::string name = problem_name(problem);
      Task task{name,
                name,
                count,
                new_contest(convolution_module(problem), kWinograd, deadline),
                text(choose_winograd(problem, traits_, WinogradUse::kWherePays)),
                kMethodGain};
      race_convolution(task, problem);
      if (is_over(deadline)) break;
      if (conclude(task, done + 1, problems.size())) plans[problem] = *known_plan(problem);
    } catch (const ffi::Error&) {
      // The cost rule decides.
    }
    ++done;
  }
  end_stage();
}

void Tuner::race_convolution(Task& task, const WinogradProblem& problem) {
  const IRModule convolution = convolution_module(problem);
  const IRModule direct = lowered(convolution, traits_);
  std::vector<Entrant> entrants;
  for (const KernelUse& use : kernel_uses(direct)) {
    const KernelChoices choices =
        kernel_choices(use.function, use.weights, traits_, kDirectCandidates);
    if (choices.reductions.empty()) continue;
    for (const KernelPlan& plan : first_candidates(choices, kDirectCandidates)) {
      entrants.push_back({text(std::optional<WinogradPlan>()), scheduled(direct, use.key, plan)});
    }
  }
  for (const WinogradPlan& plan : winograd_candidates(problem, traits_)) {
    const auto make = [=, this] {
      const auto choose = [&](const WinogradProblem&) { return std::optional(plan); };
      const IRModule module = lowered(use_winograd(convolution, "main", choose), traits_);
      return schedule_cpu(module, target_, WeightLayout::kPack);
    };
    entrants.push_back({text(std::optional(plan)), make});
  }
  task.contest.enter(entrants);
  task.contest.race(kRace);
}

KernelPlans Tuner::plan_kernels(const IRModule& module) {
  cold_bytes_ = std::min(weight_bytes(module), kMostColdBytes);
  KernelPlans plans;
  std::vector<KernelUse> unknown;
  for (const KernelUse& use : kernel_uses(module)) {
    // What weights alone decide is computed only once; convolutions were planned before.
    const bool once = std::find(use.weights.begin(), use.weights.end(), false) == use.weights.end();
    if (once || is_winograd(TirSchedule(use.function))) continue;
    ++summary_.kernels;
    const TuningRecord* record = database_.find(use.key, cpu_);
    const auto plan = record ? kernel_plan(Json::parse(record->plan)) : std::nullopt;
    if (plan) {
      plans[use.key] = *plan;
      ++summary_.found;
    } else {
      unknown.push_back(use);
    }
  }
  if (options_.seconds > 0 && !unknown.empty()) measure_kernels(unknown, plans);
  return plans;
}

std::vector<Tuner::KernelTask> Tuner::start_kernels(const std::vector<KernelUse>& uses) {
  std::vector<std::optional<KernelTask>> started(uses.size());
  const auto threads = static_cast<size_t>(nnef_runtime::physical_cores());
  nnef_runtime::parallel_for(uses.size(), threads, [&](size_t i) {
    const KernelUse& use = uses[i];
    if (is_over(options_.seconds)) return;
    try {
      TargetScope scope(target_);
      const IRModule module = kernel_module(use);
      KernelChoices choices = kernel_choices(use.function, use.weights, traits_, kMostCandidates);
      const KernelPlan rule = first_candidates(choices, 1).front();
      started[i] = KernelTask{{use.key, use.name, use.calls,
                               new_contest(module, kExact, options_.seconds), text(rule), kGain},
                              use,
                              module,
                              std::move(choices)};
      started[i]->contest.enter({{text(rule), scheduled(module, use.key, rule)}});
    } catch (const ffi::Error&) {
      // A kernel that does not stand by itself, of symbolic shapes for example.
      started[i].reset();
    }
  });
  std::vector<KernelTask> tasks;
  for (auto& task : started) {
    if (!task) continue;
    task->contest.race(kFirstRace);
    if (task->contest.best() != nullptr) tasks.push_back(std::move(*task));
  }
  return tasks;
}

void Tuner::measure_kernels(const std::vector<KernelUse>& uses, KernelPlans& plans) {
  begin_stage();
  std::vector<KernelTask> tasks = start_kernels(uses);
  const auto work = [](const KernelTask& task) {
    return task.contest.best()->seconds * task.calls;
  };
  std::sort(tasks.begin(), tasks.end(),
            [&](const KernelTask& a, const KernelTask& b) { return work(a) > work(b); });
  double total = 0;
  for (const KernelTask& task : tasks) total += work(task);
  double left = total;
  const double begun = gone();
  size_t candidates = 0;
  for (size_t i = 0; i < tasks.size() && !is_over(options_.seconds); ++i) {
    KernelTask task = std::move(tasks[i]);
    const double each =
        candidates == 0 ? kGuess : (gone() - begun) / static_cast<double>(candidates);
    const double share = (options_.seconds - gone()) * work(task) / std::max(left, work(task));
    left -= work(task);
    if (work(task) > kNegligible * total) {
      race_kernel(
          task, std::clamp(static_cast<size_t>(share / each), kFewestCandidates, kMostCandidates));
      candidates += task.contest.results().size();
      if (is_over(options_.seconds) && task.contest.results().size() == 1) break;
    }
    if (!conclude(task, i + 1, tasks.size())) continue;
    const TuningRecord& record = *database_.find(task.key, cpu_);
    plans[task.key] = *kernel_plan(Json::parse(record.plan));
    summary_.by_rule += record.by_rule * task.calls;
    summary_.best += record.microseconds * task.calls;
  }
  end_stage();
}

void Tuner::race_kernel(KernelTask& task, size_t limit) {
  const auto race = [&](const std::vector<KernelPlan>& plans) {
    std::vector<Entrant> entrants;
    for (const KernelPlan& plan : plans) {
      entrants.push_back({text(plan), scheduled(task.module, task.key, plan)});
    }
    task.contest.enter(entrants);
    task.contest.race(kRace);
  };
  // Half of them for the tile, half for what is around the best one.
  race(first_candidates(task.choices, (limit + 1) / 2));
  if (is_over(options_.seconds)) return;
  const auto best = kernel_plan(Json::parse(task.contest.best()->plan));
  race(variations(*best, task.choices, limit / 2));
}

}  // namespace nnef_tvm
