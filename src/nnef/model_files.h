// Private to libnnef: the files of a model, be they in a folder or in an archive.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef/file.h"

namespace nnef {

/// Files are named relative to the model, with '/' between the parts.
class ModelFiles {
 public:
  /// `path` is a folder, the text of a graph, a .tar or a .tgz, told apart by content. Null when
  /// there is no model
  /// ("model/...", "archive/...", "file/..."); else the graph's text is there.
  static std::unique_ptr<ModelFiles> open(const std::string& path, Diagnostics& diagnostics);
  virtual ~ModelFiles() = default;

  /// The name of a file of the model in diagnostics.
  virtual std::string display_name(const std::string& name) const = 0;
  virtual bool contains(const std::string& name) const = 0;
  /// The files at the model's top whose names end so, sorted.
  virtual std::vector<std::string> with_suffix(std::string_view suffix) const = 0;
  /// Only of a file that is there.
  virtual std::optional<FileBytes> read(const std::string& name,
                                        Diagnostics& diagnostics) const = 0;

  const std::string& graph_name() const { return graph_name_; }
  /// The name that the graph's quantisation file has, when there is one.
  const std::string& quantization_name() const { return quantization_name_; }

 protected:
  ModelFiles(std::string graph_name, std::string quantization_name)
      : graph_name_(std::move(graph_name)), quantization_name_(std::move(quantization_name)) {}

 private:
  std::string graph_name_;
  std::string quantization_name_;
};

inline constexpr char kGraphFile[] = "graph.nnef";
inline constexpr char kQuantizationFile[] = "graph.quant";
inline constexpr char kTensorSuffix[] = ".dat";
inline constexpr char kTensorsSuffix[] = ".safetensors";  ///< tract: of several variables

}  // namespace nnef
