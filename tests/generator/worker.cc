#include "worker.h"

#include <fmt/format.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace generator {
namespace {

using nlohmann::json;

/// Seconds of processor time that a case may take, and of the clock, for one that waits for ever.
constexpr unsigned time_limit = 60;
constexpr unsigned clock_limit = 900;

void limit_time(unsigned processor, unsigned clock) {
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = processor, .tv_usec = 0}};
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(clock);
}
/// Cases after which a process is replaced, so that memory that is never given back stays bounded.
constexpr size_t cases_per_process = 400;

json answer(const json& request, const nnef_tvm::CompileOptions& options) {
  const std::string focus = request.at("focus");
  Choices choices = request.contains("seed")
                        ? Choices(request.at("seed").get<uint64_t>())
                        : Choices(request.at("choices").get<std::vector<uint32_t>>());
  const GraphCase graph_case = draw_case(choices, focus);
  json attempts = json::object();
  for (const auto& [operation, count] : graph_case.attempts) {
    attempts[operation] = {count.valid, count.invalid};
  }
  json report{{"choices", choices.recorded()}, {"attempts", attempts}};
  Verdict verdict;
  verdict.passed = true;  // nothing was drawn
  if (!graph_case.given.empty()) verdict = judge(graph_case, options);
  report["passed"] = verdict.passed;
  report["kind"] = verdict.kind;
  report["message"] = verdict.message;
  report["compared"] = verdict.compared;
  report["skipped"] = verdict.skipped;
  if (request.value("file", false)) report["file"] = case_file(graph_case, verdict.kind);
  return report;
}

Report report_of(const json& reply) {
  Report report;
  report.choices = reply.at("choices").get<std::vector<uint32_t>>();
  for (const auto& [operation, count] : reply.at("attempts").items()) {
    report.attempts[operation] = {count.at(0), count.at(1)};
  }
  report.verdict = {.passed = reply.at("passed"),
                    .kind = reply.at("kind"),
                    .message = reply.at("message"),
                    .compared = reply.at("compared"),
                    .skipped = reply.at("skipped")};
  report.case_file = reply.value("file", "");
  return report;
}

}  // namespace

Worker::~Worker() {
  if (process_ > 0) stop();
}

void Worker::serve(int from, int to) const {
  FILE* requests = fdopen(from, "r");
  char* line = nullptr;
  size_t capacity = 0;
  while (getline(&line, &capacity, requests) > 0) {
    limit_time(time_limit, clock_limit);
    const std::string text =
        answer(json::parse(line), options_).dump(-1, ' ', false, json::error_handler_t::replace) +
        "\n";
    limit_time(0, 0);
    for (size_t at = 0; at < text.size();) {
      const ssize_t wrote = write(to, text.data() + at, text.size() - at);
      if (wrote <= 0) _exit(1);
      at += static_cast<size_t>(wrote);
    }
  }
  _exit(0);
}

void Worker::start() {
  int requests[2], replies[2];
  if (pipe(requests) != 0 || pipe(replies) != 0) std::abort();
  process_ = fork();
  if (process_ < 0) std::abort();
  if (process_ == 0) {
    close(requests[1]);
    close(replies[0]);
    serve(requests[0], replies[1]);
  }
  close(requests[0]);
  close(replies[1]);
  to_ = requests[1];
  from_ = replies[0];
  judged_ = 0;
}

std::string Worker::stop() {
  close(to_);
  close(from_);
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  if (!WIFSIGNALED(status)) return fmt::format("exit {}", WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  return signal == SIGPROF || signal == SIGALRM ? "took too long" : strsignal(signal);
}

Report Worker::ask(const std::string& request) {
  if (process_ > 0 && judged_ >= cases_per_process) stop();
  if (process_ <= 0) start();
  ++judged_;
  std::string reply;
  const bool asked =
      write(to_, request.data(), request.size()) == static_cast<ssize_t>(request.size());
  char buffer[65536];
  while (asked && (reply.empty() || reply.back() != '\n')) {
    const ssize_t count = read(from_, buffer, sizeof buffer);
    if (count <= 0) break;
    reply.append(buffer, static_cast<size_t>(count));
  }
  if (!reply.empty() && reply.back() == '\n') return report_of(json::parse(reply));
  Report crashed;
  crashed.verdict.kind = "crash: " + stop();
  crashed.verdict.message = crashed.verdict.kind + "\n";
  return crashed;
}

Report Worker::judge_drawn(const std::string& focus, uint64_t seed) {
  Report report = ask(json{{"focus", focus}, {"seed", seed}}.dump() + "\n");
  if (report.choices.empty()) report.choices = draw(focus, seed);
  return report;
}

Report Worker::judge_recorded(const Recorded& recorded, bool with_file) {
  const json request{{"focus", recorded.focus}, {"choices", recorded.choices}, {"file", with_file}};
  Report report = ask(request.dump() + "\n");
  if (!report.choices.empty()) return report;
  Choices choices(recorded.choices);
  const GraphCase graph_case = draw_case(choices, recorded.focus);
  report.choices = choices.recorded();
  if (with_file) report.case_file = case_file(graph_case, report.verdict.kind);
  return report;
}

std::vector<uint32_t> Worker::draw(const std::string& focus, uint64_t seed) {
  Choices choices(seed);
  draw_case(choices, focus);
  return choices.recorded();
}

}  // namespace generator
