#include "compile/tune/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "compile/cpu_target.h"
#include "tvm/target.h"

namespace nnef_tvm {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Lines that a file has but that cannot be used.
struct Unused {
  size_t count = 0;
  size_t first = 0;

  void add(size_t line) {
    if (count++ == 0) first = line;
  }
};

int version_of(const Json& json) {
  const auto found = json.find("version");
  return found != json.end() && found->is_number_integer() ? found->get<int>() : 0;
}

std::optional<TuningRecord> record_of(const Json& json) {
  try {
    TuningRecord record;
    record.kernel = json.at("kernel").get<std::string>();
    record.name = json.at("name").get<std::string>();
    record.cpu.cpu = json.at("cpu").get<std::string>();
    record.cpu.features = json.at("features").get<std::string>();
    record.cpu.threads = json.at("threads").get<int>();
    record.plan = json.at("plan").dump();
    record.microseconds = json.at("microseconds").get<double>();
    record.by_rule = json.at("by_rule").get<double>();
    return record;
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

/// "line 7 is", "3 lines (the first is 7) are"
std::string lines_are(const Unused& unused) {
  return unused.count == 1
             ? fmt::format("line {} is", unused.first)
             : fmt::format("{} lines (the first is {}) are", unused.count, unused.first);
}

/// Whether a file ends within a line, which a process wrote that was interrupted.
bool ends_within_line(int file) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  char last = '\n';
  return size > 0 && ::pread(file, &last, 1, size - 1) == 1 && last != '\n';
}

}  // namespace

CpuKey cpu_key(const Target& target, int threads) {
  const auto cpu = target_attr(target, "mcpu").as<String>();
  return {cpu.has_value() ? std::string(*cpu) : "",
          fmt::format("{}", fmt::join(required_features(target), " ")), threads};
}

std::string to_line(const TuningRecord& record) {
  const Json json{{"version", TuningDatabase::kVersion},
                  {"kernel", record.kernel},
                  {"name", record.name},
                  {"cpu", record.cpu.cpu},
                  {"features", record.cpu.features},
                  {"threads", record.cpu.threads},
                  {"plan", Json::parse(record.plan)},
                  {"microseconds", record.microseconds},
                  {"by_rule", record.by_rule}};
  return json.dump();
}

TuningDatabase::TuningDatabase(std::string path, nnef::Diagnostics& diagnostics)
    : path_(std::move(path)) {
  std::error_code ignored;
  if (path_.empty() || !fs::exists(path_, ignored)) return;
  std::ifstream file(path_, std::ios::binary);
  std::stringstream text;
  if (fs::is_directory(path_, ignored) || !file) {
    diagnostics
        .warning("tuning/read", {},
                 "the tuning database cannot be read: kernels are scheduled by rule")
        .help("name another file by --tuning, or 'none'")
        .path = path_;
    return;
  }
  if (file.peek() != std::ifstream::traits_type::eof()) text << file.rdbuf();
  read(text, diagnostics);
}

void TuningDatabase::read(std::istream& text, nnef::Diagnostics& diagnostics) {
  Unused broken, newer;
  size_t number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.empty()) continue;
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    const int version = json.is_object() ? version_of(json) : 0;
    std::optional<TuningRecord> record;
    if (version == kVersion) record = record_of(json);
    if (record) keep(std::move(*record));
    if (version > kVersion) newer.add(number);
    if (version < 1 || (version == kVersion && !record)) broken.add(number);
  }
  if (broken.count > 0) {
    diagnostics
        .warning("tuning/record", {},
                 fmt::format("{} no record of a measured kernel: ignored", lines_are(broken)))
        .path = path_;
  }
  if (newer.count > 0) {
    diagnostics
        .warning("tuning/version", {},
                 fmt::format("{} of a newer version than {}, which this program writes: ignored",
                             lines_are(newer), kVersion))
        .path = path_;
  }
}

void TuningDatabase::keep(TuningRecord record) {
  const auto [found, is_new] = records_.try_emplace({record.kernel, record.cpu}, std::move(record));
  if (!is_new && record.microseconds < found->second.microseconds) {
    found->second = std::move(record);
  }
}

const TuningRecord* TuningDatabase::find(const std::string& kernel, const CpuKey& cpu) const {
  const auto found = records_.find({kernel, cpu});
  return found == records_.end() ? nullptr : &found->second;
}

void TuningDatabase::add(TuningRecord record, nnef::Diagnostics& diagnostics) {
  const std::string line = to_line(record);
  keep(std::move(record));
  if (path_.empty() || !writable_) return;
  writable_ = write(line);
  if (writable_) return;
  diagnostics
      .warning("tuning/write", {},
               fmt::format("the tuning database cannot be written: {}; what is measured is used "
                           "this time only",
                           std::strerror(errno)))
      .help("name another file by --tuning")
      .path = path_;
}

bool TuningDatabase::write(const std::string& line) {
  std::error_code error;
  const fs::path folder = fs::path(path_).parent_path();
  if (!folder.empty()) fs::create_directories(folder, error);
  // Several processes may add to one file: each line is one write.
  const int file = ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return false;
  const std::string text = (ends_within_line(file) ? "\n" : "") + line + "\n";
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int failure = errno;
  const bool closed = ::close(file) == 0;
  if (!written) errno = failure;
  return written && closed;
}

}  // namespace nnef_tvm
