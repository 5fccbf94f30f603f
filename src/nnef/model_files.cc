#include "model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "model_archive.h"
#include "nnef/model.h"

namespace nnef {
namespace {

namespace fs = std::filesystem;

constexpr size_t kProbeSize = 4096;
constexpr size_t kTarHeader = 512;

std::string probe(const std::string& path) {
  std::string head(kProbeSize, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  return head;
}

/// The checksum of a tar header: the sum of its bytes, those of the checksum itself taken as
/// blanks.
bool is_tar(std::string_view head) {
  constexpr size_t kChecksumAt = 148;
  constexpr size_t kChecksumEnd = 156;
  if (head.size() < kTarHeader) return false;
  unsigned sum = 0;
  for (size_t i = 0; i < kTarHeader; ++i) {
    const bool blank = i >= kChecksumAt && i < kChecksumEnd;
    sum += blank ? unsigned{' '} : static_cast<unsigned char>(head[i]);
  }
  unsigned stated = 0;
  bool digits = false;
  for (size_t i = kChecksumAt; i < kChecksumEnd; ++i) {
    if (head[i] >= '0' && head[i] <= '7') {
      stated = stated * 8 + static_cast<unsigned>(head[i] - '0');
      digits = true;
    } else if (digits) {
      break;
    }
  }
  return digits && stated == sum;
}

bool is_text(std::string_view head) {
  return !head.empty() && std::none_of(head.begin(), head.end(), [](char c) {
    return (c >= '\0' && c < '\t') || (c > '\r' && c < ' ') || c == '\x7f';
  });
}

class Folder : public ModelFiles {
 public:
  Folder(fs::path folder, std::string graph_name, std::string quantization_name)
      : ModelFiles(std::move(graph_name), std::move(quantization_name)),
        folder_(std::move(folder)) {}

  std::string display_name(const std::string& name) const override {
    return (folder_ / name).string();
  }
  bool contains(const std::string& name) const override {
    std::error_code error;
    return fs::exists(folder_ / name, error);
  }
  std::vector<std::string> with_suffix(std::string_view suffix) const override {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator entry(folder_.empty() ? "." : folder_, error), end;
         !error && entry != end; entry.increment(error)) {
      std::string name = entry->path().filename().string();
      if (name.ends_with(suffix)) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::optional<FileBytes> read(const std::string& name, Diagnostics& diagnostics) const override {
    return read_file(display_name(name), diagnostics);
  }

 private:
  fs::path folder_;
};

class Packed : public ModelFiles {
 public:
  Packed(std::string path, std::string root, ArchiveMembers members)
      : ModelFiles(kGraphFile, kQuantizationFile),
        path_(std::move(path)),
        root_(std::move(root)),
        members_(std::move(members)) {}

  std::string display_name(const std::string& name) const override {
    return path_ + "/" + root_ + name;
  }
  bool contains(const std::string& name) const override { return members_.contains(root_ + name); }
  std::vector<std::string> with_suffix(std::string_view suffix) const override {
    std::vector<std::string> names;
    for (const auto& [member, bytes] : members_) {
      if (!member.starts_with(root_) || !member.ends_with(suffix)) continue;
      std::string name = member.substr(root_.size());
      if (name.find('/') == std::string::npos) names.push_back(std::move(name));
    }
    return names;
  }
  std::optional<FileBytes> read(const std::string& name, Diagnostics&) const override {
    const auto found = members_.find(root_ + name);
    return found == members_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::string path_;
  std::string root_;  ///< the archive's top folder with its '/', or empty
  ArchiveMembers members_;
};

std::unique_ptr<ModelFiles> open_folder(const std::string& path, Diagnostics& diagnostics) {
  // Without a slash at the end, so that messages do not show two.
  fs::path folder(path);
  if (!folder.has_filename() && folder.has_relative_path()) folder = folder.parent_path();
  auto files = std::make_unique<Folder>(folder, kGraphFile, kQuantizationFile);
  if (files->contains(kGraphFile)) return files;

  std::error_code error;
  std::vector<std::string> models;
  size_t entries = 0;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error), ++entries) {
    std::error_code ignored;
    const bool model =
        entry->path().extension() == ".nnef" || fs::exists(entry->path() / kGraphFile, ignored);
    if (model) models.push_back(entry->path().string());
  }
  if (error) {
    diagnostics.file_error("file/open", path, std::nullopt,
                           fmt::format("cannot list the folder: {}", error.message()));
    return nullptr;
  }
  Diagnostic& report = diagnostics.file_error(
      "model/no-graph", path, std::nullopt,
      fmt::format("the folder {} '{}'", entries == 0 ? "is empty, expected a file" : "has no file",
                  kGraphFile));
  std::sort(models.begin(), models.end());
  if (!models.empty()) report.help(fmt::format("did you mean '{}'?", models.front()));
  return nullptr;
}

std::unique_ptr<ModelFiles> open_text(const std::string& path) {
  const fs::path file(path);
  const std::string quantization = file.stem().string() + ".quant";
  return std::make_unique<Folder>(file.parent_path(), file.filename().string(), quantization);
}

bool wanted_member(std::string_view name) {
  const std::string_view file = name.substr(name.rfind('/') + 1);
  return file == kGraphFile || file == kQuantizationFile || file.ends_with(kTensorSuffix) ||
         file.ends_with(kTensorsSuffix);
}

std::unique_ptr<ModelFiles> open_archive(const std::string& path, bool compressed,
                                         Diagnostics& diagnostics) {
  auto members = read_archive(path, compressed, wanted_member, diagnostics);
  if (!members) return nullptr;
  if (members->contains(kGraphFile)) return std::make_unique<Packed>(path, "", std::move(*members));
  std::vector<std::string> roots;
  for (const auto& [name, bytes] : *members) {
    const size_t slash = name.find('/');
    if (slash != std::string::npos && name.substr(slash + 1) == kGraphFile)
      roots.push_back(name.substr(0, slash + 1));
  }
  if (roots.size() == 1) return std::make_unique<Packed>(path, roots[0], std::move(*members));
  if (roots.empty()) {
    diagnostics.file_error(
        "model/no-graph", path, std::nullopt,
        fmt::format("the archive has no '{}' at its top or in its top folder", kGraphFile));
  } else {
    diagnostics.file_error(
        "model/several-graphs", path, std::nullopt,
        fmt::format("the archive has several models, '{}{}' and '{}{}', expected one", roots[0],
                    kGraphFile, roots[1], kGraphFile));
  }
  return nullptr;
}

}  // namespace

ContainerKind container_kind(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return ContainerKind::missing;
  if (fs::is_directory(status)) return ContainerKind::folder;
  if (!fs::is_regular_file(status)) return ContainerKind::unknown;
  const std::string head = probe(path);
  if (head.starts_with("\x7f"
                       "ELF"))
    return ContainerKind::elf;
  if (head.starts_with("\x1f\x8b")) return ContainerKind::gzip;
  if (is_tar(head)) return ContainerKind::tar;
  return is_text(head) ? ContainerKind::text : ContainerKind::unknown;
}

std::unique_ptr<ModelFiles> ModelFiles::open(const std::string& path, Diagnostics& diagnostics) {
  switch (container_kind(path)) {
    case ContainerKind::missing:
      diagnostics.file_error("model/missing", path, std::nullopt,
                             "there is no file or folder of this name");
      return nullptr;
    case ContainerKind::folder:
      return open_folder(path, diagnostics);
    case ContainerKind::tar:
      return open_archive(path, /*compressed=*/false, diagnostics);
    case ContainerKind::gzip:
      return open_archive(path, /*compressed=*/true, diagnostics);
    case ContainerKind::text:
    case ContainerKind::elf:
    case ContainerKind::unknown:
      break;  // whether it is NNEF text is for the lexer to say
  }
  std::error_code error;
  if (fs::is_regular_file(path, error)) return open_text(path);
  diagnostics.file_error(
      "model/format", path, std::nullopt,
      "neither a file nor a folder, expected a folder, a graph.nnef, a .tar or a .tgz");
  return nullptr;
}

}  // namespace nnef
