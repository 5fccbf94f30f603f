// Models on disk: folders, graph.nnef, .tar and .tgz archives; the whole way from files to a typed,
// shaped graph.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "nnef/diagnostic.h"
#include "nnef/graph.h"

namespace nnef {

/// How NNEF text is read: as the standard has it, or as tract and torch-to-nnef write it
/// (docs/tract.md).
enum class Dialect : uint8_t { khronos, tract };

struct LoadOptions {
  /// Default: by the extension lines of the text.
  std::optional<Dialect> dialect;
  /// Which compound operations of the standard stay whole instead of being replaced by their
  /// bodies. Default (empty): all of them.
  std::function<bool(std::string_view)> keep_compound;
  /// Replaces the shape of an external (graph input), by tensor name; the rank must stay.
  std::map<std::string, Shape, std::less<>> input_shapes;
  /// Replaces the item type of an external, by tensor name; it must be one of the external's
  /// primitive type.
  std::map<std::string, ItemType, std::less<>> input_types;
  /// Read the headers and map the data of variables.
  bool read_data = true;
};

/// Parses, resolves, expands, infers and reads a model. `path` is a folder, a graph.nnef, a .tar or
/// a .tgz, told apart by content. Nothing when there were errors; diagnostics hold all that were
/// found.
std::optional<Graph> load_model(const std::string& path, const LoadOptions& options,
                                Diagnostics& diagnostics);

/// The same for text in memory, without data: `quant` (a graph.quant) may be null.
std::optional<Graph> load_text(SourcePtr text, SourcePtr quant, const LoadOptions& options,
                               Diagnostics& diagnostics);

/// Canonical flat NNEF text of a graph: one operation a line, defaults left out, exact literals.
/// With `annotate`, every line ends in a comment with the results' types and shapes.
std::string write_graph(const Graph& graph, bool annotate = false);
/// The graph.quant of a graph; empty when nothing is quantised.
std::string write_quantization(const Graph& graph);

/// Writes graph.nnef, graph.quant and one .dat for each variable into the folder `path` (made when
/// missing), or into a .tar, .tgz archive by the suffix of `path`. Leaves nothing partial behind
/// when it fails.
bool save_model(const Graph& graph, const std::string& path, Diagnostics& diagnostics);

/// The file of a variable's label, relative to the model; nothing for a label that leads out of the
/// model.
std::optional<std::string> label_file(std::string_view label);

/// What is at a path, by content: used to tell models from compiled artefacts.
enum class ContainerKind : uint8_t { missing, folder, text, tar, gzip, elf, unknown };
ContainerKind container_kind(const std::string& path);

}  // namespace nnef
