#include "runtime/plugin/file_cache.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/crc32.h"

namespace nnef_plugin {

namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxFiles = 1000;
constexpr size_t kFilesAfterRemoval = 800;

/// FNV-1a, to name files; their keys decide.
uint64_t hash(std::string_view bytes) {
  uint64_t value = 14695981039346656037ull;
  for (unsigned char byte : bytes) value = (value ^ byte) * 1099511628211ull;
  return value;
}

/// [key's bytes][value's bytes][CRC-32 of both] key value
struct Header {
  uint64_t key_bytes;
  uint64_t value_bytes;
  uint64_t crc;
};

std::string base_folder() {
  if (const char* own = std::getenv("NNEF_CACHE_DIR")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0) {
    return std::string(cache) + "/tvm-nnef";
  }
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == 0 ? "" : std::string(home) + "/.cache/tvm-nnef";
}

}  // namespace

FileCache::FileCache(const char* folder) : folder_(base_folder()) {
  if (folder_.empty()) return;
  folder_ += std::string("/") + folder;
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) folder_.clear();
}

std::string FileCache::path(std::string_view key) const {
  char name[32];
  std::snprintf(name, sizeof(name), "/%016llx", static_cast<unsigned long long>(hash(key)));
  return folder_ + name;
}

std::optional<std::string> FileCache::find(std::string_view key) const {
  if (folder_.empty()) return std::nullopt;
  std::ifstream in(path(key), std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  Header header;
  if (content.size() < sizeof(header)) return std::nullopt;
  std::memcpy(&header, content.data(), sizeof(header));
  const std::string_view rest = std::string_view(content).substr(sizeof(header));
  if (header.key_bytes != key.size() || rest.size() < key.size() ||
      header.value_bytes != rest.size() - key.size() || rest.substr(0, key.size()) != key ||
      header.crc != nnef_runtime::crc32(rest)) {
    return std::nullopt;
  }
  return std::string(rest.substr(key.size()));
}

void FileCache::store(std::string_view key, std::string_view value) const {
  if (folder_.empty()) return;
  remove_oldest();
  std::string temporary = folder_ + "/.new-XXXXXX";
  const int file = mkstemp(temporary.data());
  if (file < 0) return;
  std::string rest(key);
  rest += value;
  const Header header{key.size(), value.size(), nnef_runtime::crc32(rest)};
  const std::string content(reinterpret_cast<const char*>(&header), sizeof(header));
  const std::string all = content + rest;
  const bool whole = ::write(file, all.data(), all.size()) == static_cast<ssize_t>(all.size());
  const bool closed = ::close(file) == 0;
  std::error_code error;
  if (whole && closed) fs::rename(temporary, path(key), error);
  if (!whole || !closed || error) fs::remove(temporary, error);
}

void FileCache::remove_oldest() const {
  std::error_code error;
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    files.emplace_back(entry.last_write_time(error), entry.path());
  }
  if (files.size() < kMaxFiles) return;
  std::sort(files.begin(), files.end());
  files.resize(files.size() - kFilesAfterRemoval);
  for (const auto& [time, path] : files) fs::remove(path, error);
}

}  // namespace nnef_plugin
