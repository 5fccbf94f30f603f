// bench --profile: where the time of an inference goes.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "nnef_runtime/session.h"

namespace nnefc {

/// One kernel, with all of its calls; or one call.
struct ProfileRow {
  std::string kernel;
  int calls = 0;
  double milliseconds = 0;
  double flops = 0;
  double bytes = 0;
  std::vector<std::string> operations;  ///< "conv y", in the order of the model, each once
  std::vector<std::string> sources;     ///< "graph.nnef:12", in that order, each once

  double gflops() const { return milliseconds > 0 ? flops / milliseconds * 1e-6 : 0; }
  double gigabytes() const { return milliseconds > 0 ? bytes / milliseconds * 1e-6 : 0; }
};

struct Profile {
  std::vector<ProfileRow> kernels;  ///< the slowest first
  std::vector<ProfileRow> calls;    ///< in the order of execution
  double milliseconds = 0;          ///< of all of them
  double peak_gflops = 0;           ///< that registers can do, measured on as many threads
};

/// The medians of `repeat` runs. Reports "run/...".
std::optional<Profile> profile(nnef_runtime::Session& session,
                               const std::vector<tvm::ffi::Tensor>& inputs, int threads, int repeat,
                               nnef::Diagnostics& diagnostics);

std::string profile_table(const Profile& profile);
nlohmann::ordered_json profile_json(const Profile& profile);
/// A page that needs nothing else.
std::string profile_page(const Profile& profile, const std::string& model);

/// "graph.nnef:12,14": lines of one file behind each other, the first few of them.
std::string joined_sources(const std::vector<std::string>& sources);

}  // namespace nnefc
