// Diagnostics: every message of the project is a value with a position; only format() turns it into
// text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nnef {

/// A named text (the content of a graph.nnef, a graph.quant, the built-in standard library).
class Source {
 public:
  Source(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  struct LineColumn {
    uint32_t line;    ///< 1-based
    uint32_t column;  ///< 1-based, in bytes
  };
  LineColumn line_column(uint32_t offset) const;
  /// The text of a 1-based line, without its line end.
  std::string_view line(uint32_t number) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

using SourcePtr = std::shared_ptr<const Source>;

/// A range of bytes [begin, end) of a source; without a source it is "nowhere".
struct Location {
  SourcePtr source;
  uint32_t begin = 0;
  uint32_t end = 0;

  explicit operator bool() const { return source != nullptr; }
};

/// The smallest range that covers both; both must be of one source.
Location join(const Location& first, const Location& last);

enum class Severity : uint8_t { error, warning };

struct Note {
  std::string text;
  Location where;  ///< may be nowhere
};

struct Diagnostic {
  Severity severity = Severity::error;
  std::string id;       ///< stable, e.g. "conv/stride-rank"
  std::string message;  ///< what is wrong, with both values
  Location where;       ///< position in a text, or nowhere
  std::string
      path;  ///< the file at fault when `where` is nowhere (a .dat file, an artefact); may be empty
  std::optional<uint64_t> offset;  ///< byte offset within `path`
  std::vector<Note> notes;
  std::string hint;  ///< how to mend it; may be empty

  // Chained by whoever reports: diagnostics.error(...).note(...).help(...).
  Diagnostic& note(std::string text, Location at = {});
  Diagnostic& help(std::string text);
};

/// Collects diagnostics in the order in which they are found.
class Diagnostics {
 public:
  /// The returned reference is valid until the next report.
  Diagnostic& error(std::string id, Location where, std::string message);
  Diagnostic& warning(std::string id, Location where, std::string message);
  /// For binary files and paths; `offset` is in bytes.
  Diagnostic& file_error(std::string id, std::string path, std::optional<uint64_t> offset,
                         std::string message);

  bool has_errors() const { return errors_ != 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& items() const { return items_; }
  void append(Diagnostics&& other);

 private:
  std::vector<Diagnostic> items_;
  size_t errors_ = 0;
};

/// "file:line:col: error: [id] message", the source line, carets, notes and the hint; ends with a
/// newline.
std::string format(const Diagnostic& diagnostic, bool color = false);
std::string format(const Diagnostics& diagnostics, bool color = false);

/// The candidate nearest to `name` by edit distance, if any is near enough to be meant; else empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace nnef
