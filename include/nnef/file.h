// Files as bytes: reading (mapped where that pays) and writing without ever leaving a partial file
// under its name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "nnef/diagnostic.h"

namespace nnef {

/// Memory handed out by this header begins at a multiple of this.
inline constexpr size_t kByteAlignment = 64;

/// Bytes kept alive by `owner`: memory, or a read-only mapping of a file.
struct FileBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// Writable memory of `size` bytes; `data` is null when there is not that much. Large blocks take
/// real memory only as they are written.
struct Buffer {
  std::byte* data = nullptr;
  std::shared_ptr<const void> owner;
};
Buffer allocate_buffer(uint64_t size);

/// The content of a regular file. Large files are mapped, not read: a file that is cut short while
/// it is in use ends the process, as with any mapping. Reports "file/...".
std::optional<FileBytes> read_file(const std::string& path, Diagnostics& diagnostics);

/// A file that appears under its name only by commit(); until then, and after a failure, there is
/// only a temporary file beside it, which the destructor removes. Devices and pipes are written
/// directly.
class PendingFile {
 public:
  /// Reports "file/write".
  static std::optional<PendingFile> create(const std::string& path, Diagnostics& diagnostics);
  PendingFile(PendingFile&& other) noexcept;
  PendingFile& operator=(PendingFile&&) = delete;
  ~PendingFile();

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_; }
  bool write(std::span<const std::byte> bytes, Diagnostics& diagnostics);
  /// Ends the writing; the content is on the disk's side, still under the temporary name.
  bool close(Diagnostics& diagnostics);
  /// Closes, and gives the file its name.
  bool commit(Diagnostics& diagnostics);

 private:
  PendingFile(std::string path, std::string temporary, int descriptor);
  bool fail(int error, Diagnostics& diagnostics) const;

  std::string path_;
  std::string temporary_;  ///< empty: written directly, or committed
  int descriptor_ = -1;
};

/// Writes `parts` one after the other as one file.
bool write_file(const std::string& path, std::span<const std::span<const std::byte>> parts,
                Diagnostics& diagnostics);
/// The same for text.
bool write_file(const std::string& path, const std::string& text, Diagnostics& diagnostics);

}  // namespace nnef
