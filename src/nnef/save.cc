#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "model_archive.h"
#include "model_files.h"
#include "nnef/file.h"
#include "nnef/model.h"
#include "variables.h"

namespace nnef {
namespace {

namespace fs = std::filesystem;

/// A file to write: `head` (a text, or the header of a tensor file) and then `data`.
struct Content {
  std::string head;
  TensorDataPtr data;

  std::vector<std::span<const std::byte>> parts() const {
    std::vector<std::span<const std::byte>> result = {std::as_bytes(std::span(head))};
    if (data != nullptr) result.push_back(data->bytes);
    return result;
  }
};

/// By name, relative to the model.
using Contents = std::map<std::string, Content>;

bool add_variables(const Graph& graph, Contents& contents, Diagnostics& diagnostics) {
  bool complete = true;
  for (const Operation& operation : graph.operations) {
    if (operation.name != "variable") continue;
    const OpView view(graph, operation);
    const Tensor& tensor = graph[view.result("output")];
    const auto file = label_file(view.string("label"));
    if (!file || tensor.data == nullptr) {
      complete = false;
      diagnostics.error(
          "variable/no-data", operation.where,
          fmt::format("variable '{}' cannot be written: its data was not read", tensor.name));
      continue;
    }
    auto header = tensor_header(*tensor.data, *file, diagnostics);
    complete = complete && header.has_value();
    if (header) contents[*file] = {std::move(*header), tensor.data};
  }
  return complete;
}

bool fail(const std::string& path, std::string_view what, const std::error_code& error,
          Diagnostics& diagnostics) {
  diagnostics.file_error("file/write", path, std::nullopt,
                         fmt::format("{}: {}", what, error.message()));
  return false;
}

/// Folders made on the way, which vanish again unless they are kept.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders() {
    std::error_code ignored;
    for (auto folder = made_.rbegin(); folder != made_.rend(); ++folder)
      fs::remove(*folder, ignored);
  }

  bool make(const fs::path& folder, Diagnostics& diagnostics) {
    std::error_code error;
    if (folder.empty() || fs::is_directory(folder, error)) return true;
    if (folder.has_relative_path() && !make(folder.parent_path(), diagnostics)) return false;
    if (fs::create_directory(folder, error)) made_.push_back(folder);
    return error ? fail(folder.string(), "cannot make the folder", error, diagnostics) : true;
  }
  void keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;
};

bool save_folder(const Contents& contents, const fs::path& folder, Diagnostics& diagnostics) {
  NewFolders folders;
  std::vector<PendingFile> pending;  // after `folders`: goes first
  pending.reserve(contents.size());
  if (!folders.make(folder, diagnostics)) return false;
  for (const auto& [name, content] : contents) {
    const fs::path path = folder / name;
    if (!folders.make(path.parent_path(), diagnostics)) return false;
    auto file = PendingFile::create(path.string(), diagnostics);
    if (!file) return false;
    for (const auto& part : content.parts()) {
      if (!file->write(part, diagnostics)) return false;
    }
    if (!file->close(diagnostics)) return false;
    pending.push_back(std::move(*file));
  }
  for (PendingFile& file : pending) {
    if (!file.commit(diagnostics)) return false;
  }
  folders.keep();
  // One of an earlier model would be taken for this one's.
  std::error_code error;
  if (!contents.contains(kQuantizationFile)) fs::remove(folder / kQuantizationFile, error);
  return error ? fail((folder / kQuantizationFile).string(), "cannot remove", error, diagnostics)
               : true;
}

bool save_archive(const Contents& contents, const std::string& path, bool compressed,
                  Diagnostics& diagnostics) {
  auto writer = ArchiveWriter::create(path, compressed, diagnostics);
  if (!writer) return false;
  // The text first, so that `tar -t | head` shows it.
  if (!writer->add(kGraphFile, contents.at(kGraphFile).parts(), diagnostics)) return false;
  for (const auto& [name, content] : contents) {
    if (name != kGraphFile && !writer->add(name, content.parts(), diagnostics)) return false;
  }
  return writer->commit(diagnostics);
}

}  // namespace

bool save_model(const Graph& graph, const std::string& path, Diagnostics& diagnostics) {
  Contents contents;
  if (!add_variables(graph, contents, diagnostics)) return false;
  contents[kGraphFile] = {write_graph(graph), nullptr};
  if (std::string quantization = write_quantization(graph); !quantization.empty()) {
    contents[kQuantizationFile] = {std::move(quantization), nullptr};
  }
  const bool compressed = path.ends_with(".tgz") || path.ends_with(".tar.gz");
  if (compressed || path.ends_with(".tar"))
    return save_archive(contents, path, compressed, diagnostics);
  return save_folder(contents, path, diagnostics);
}

}  // namespace nnef
