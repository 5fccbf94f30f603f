// Private to libnnef: reading and writing of .tar and .tgz archives. What an archive says is
// checked against what it holds.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "nnef/diagnostic.h"
#include "nnef/file.h"

struct archive;
struct archive_entry;

namespace nnef {

/// Plain files by their names, without a leading "./".
using ArchiveMembers = std::map<std::string, FileBytes, std::less<>>;

/// Reads those members of a .tar or (`compressed`) .tgz for whose names `wanted` says true; of
/// equal names the last counts. Members of an uncompressed archive are views of the mapped file.
/// Names that are absolute or contain "..", links other than hard links to earlier members, and
/// sizes that the archive cannot hold are errors ("archive/...").
std::optional<ArchiveMembers> read_archive(const std::string& path, bool compressed,
                                           const std::function<bool(std::string_view)>& wanted,
                                           Diagnostics& diagnostics);

/// Writes an archive whose bytes depend on nothing but its members; it appears under its name only
/// by commit().
class ArchiveWriter {
 public:
  static std::optional<ArchiveWriter> create(const std::string& path, bool compressed,
                                             Diagnostics& diagnostics);

  bool add(const std::string& name, std::span<const std::span<const std::byte>> parts,
           Diagnostics& diagnostics);
  bool commit(Diagnostics& diagnostics);

 private:
  using Handle = std::unique_ptr<::archive, int (*)(::archive*)>;
  ArchiveWriter(PendingFile file, Handle handle);
  bool fail(Diagnostics& diagnostics) const;

  PendingFile file_;
  Handle handle_;
};

}  // namespace nnef
