#include "profile.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "runtime/peak.h"
#include "statistics.h"

namespace nnefc {
namespace {

using nnef_runtime::KernelSpec;
using nnef_runtime::Program;

void add_once(std::vector<std::string>& list, const std::string& text) {
  if (!text.empty() && std::ranges::find(list, text) == list.end()) list.push_back(text);
}

ProfileRow row_of(const Program& program, const KernelSpec& kernel, double milliseconds) {
  ProfileRow row{kernel.name, 1, milliseconds, kernel.flops, static_cast<double>(kernel.bytes),
                 {},          {}};
  for (const uint32_t place : kernel.operations) {
    const auto& operation = program.operations[place];
    add_once(row.operations, fmt::format("{} {}", operation.name, operation.tensor));
    add_once(row.sources, operation.source);
  }
  return row;
}

void add(ProfileRow& sum, const ProfileRow& call) {
  sum.calls += call.calls;
  sum.milliseconds += call.milliseconds;
  sum.flops += call.flops;
  sum.bytes += call.bytes;
  for (const std::string& operation : call.operations) add_once(sum.operations, operation);
  for (const std::string& source : call.sources) add_once(sum.sources, source);
}

/// The calls of each kernel together, the slowest first.
std::vector<ProfileRow> by_kernel(const std::vector<ProfileRow>& calls) {
  std::map<std::string, ProfileRow> kernels;
  for (const ProfileRow& call : calls) {
    const auto [place, fresh] = kernels.try_emplace(call.kernel, call);
    if (!fresh) add(place->second, call);
  }
  std::vector<ProfileRow> rows;
  for (auto& [name, row] : kernels) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater<>(), &ProfileRow::milliseconds);
  return rows;
}

double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

nlohmann::ordered_json row_json(const ProfileRow& row, const Profile& profile) {
  return {{"kernel", row.kernel},
          {"calls", row.calls},
          {"ms", row.milliseconds},
          {"share", share(row.milliseconds, profile.milliseconds) / 100},
          {"flops", row.flops},
          {"gflops", row.gflops()},
          {"share_of_peak", share(row.gflops(), profile.peak_gflops) / 100},
          {"bytes", row.bytes},
          {"gb_per_s", row.gigabytes()},
          {"operations", row.operations},
          {"sources", row.sources}};
}

}  // namespace

std::optional<Profile> profile(nnef_runtime::Session& session,
                               const std::vector<tvm::ffi::Tensor>& inputs, int threads, int repeat,
                               nnef::Diagnostics& diagnostics) {
  const Program& program = session.program();
  std::vector<std::vector<double>> times(program.kernels.size());
  for (int i = 0; i < repeat; ++i) {
    std::vector<double> run;
    session.run_timed(inputs, run, diagnostics);
    if (diagnostics.has_errors()) return std::nullopt;
    for (size_t k = 0; k < run.size(); ++k) times[k].push_back(run[k]);
  }
  Profile result;
  for (size_t k = 0; k < times.size(); ++k) {
    result.calls.push_back(row_of(program, program.kernels[k], median(times[k])));
    result.milliseconds += result.calls.back().milliseconds;
  }
  result.kernels = by_kernel(result.calls);
  result.peak_gflops = nnef_runtime::measured_peak(threads);
  return result;
}

std::string joined_sources(const std::vector<std::string>& sources) {
  constexpr size_t kShown = 5;
  std::string text;
  std::string last;
  for (size_t i = 0; i < std::min(sources.size(), kShown); ++i) {
    const size_t colon = sources[i].rfind(':');
    const std::string file = sources[i].substr(0, colon);
    const bool same = i > 0 && file == last && colon != std::string::npos;
    text += same ? "," + sources[i].substr(colon + 1) : (i > 0 ? " " : "") + sources[i];
    last = file;
  }
  if (sources.size() > kShown) text += fmt::format(" and {} more", sources.size() - kShown);
  return text;
}

std::string profile_table(const Profile& profile) {
  constexpr const char* kLine = "{:>9} {:>6} {:>5} {:>9} {:>6} {:>9} {:>7}  {}\n";
  std::string text = fmt::format(kLine, "ms", "share", "calls", "GFLOP/s", "peak", "MB", "GB/s",
                                 "kernel: operations (where)");
  for (const ProfileRow& row : profile.kernels) {
    constexpr size_t kShown = 3;
    const size_t shown = std::min(row.operations.size(), kShown);
    std::string from = fmt::format(
        "{}",
        fmt::join(row.operations.begin(), row.operations.begin() + static_cast<long>(shown), ", "));
    if (row.operations.size() > shown) {
      from += fmt::format(" and {} more", row.operations.size() - shown);
    }
    const std::string sources = joined_sources(row.sources);
    text +=
        fmt::format(kLine, fmt::format("{:.3f}", row.milliseconds),
                    fmt::format("{:.1f}%", share(row.milliseconds, profile.milliseconds)),
                    row.calls, fmt::format("{:.1f}", row.gflops()),
                    fmt::format("{:.0f}%", share(row.gflops(), profile.peak_gflops)),
                    fmt::format("{:.2f}", row.bytes * 1e-6), fmt::format("{:.1f}", row.gigabytes()),
                    fmt::format("{}: {}{}", row.kernel, from,
                                sources.empty() ? "" : fmt::format(" ({})", sources)));
  }
  double flops = 0;
  for (const ProfileRow& row : profile.kernels) flops += row.flops;
  text += fmt::format(
      "{:.3f} ms in {} calls of {} kernels, {:.1f} GFLOP/s; the peak is {:.0f} GFLOP/s, measured "
      "in "
      "registers on as many threads\n",
      profile.milliseconds, profile.calls.size(), profile.kernels.size(),
      profile.milliseconds > 0 ? flops / profile.milliseconds * 1e-6 : 0, profile.peak_gflops);
  return text;
}

nlohmann::ordered_json profile_json(const Profile& profile) {
  nlohmann::ordered_json json{{"ms", profile.milliseconds},
                              {"peak_gflops", profile.peak_gflops},
                              {"peak", "measured in registers, on as many threads"},
                              {"kernels", nlohmann::ordered_json::array()},
                              {"calls", nlohmann::ordered_json::array()}};
  for (const ProfileRow& row : profile.kernels) json["kernels"].push_back(row_json(row, profile));
  for (const ProfileRow& row : profile.calls) json["calls"].push_back(row_json(row, profile));
  return json;
}

}  // namespace nnefc
