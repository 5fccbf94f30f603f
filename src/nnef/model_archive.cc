#include "model_archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace nnef {
namespace {

/// A compressed archive may unpack to this much in any case, ...
constexpr uint64_t kFreeExpansion = uint64_t{256} << 20;
/// ... and beyond it to this many times its own size: weights hardly shrink, bombs shrink a
/// thousandfold.
constexpr uint64_t kMaxExpansionRatio = 100;
constexpr size_t kReadBlock = 1 << 18;

using EntryPtr = std::unique_ptr<archive_entry, void (*)(archive_entry*)>;

std::string_view message_of(archive* handle) {
  const char* text = archive_error_string(handle);
  return text == nullptr ? "unknown error" : text;
}

/// The name without "." components; nothing when it is absolute, empty or leads out of the archive.
std::optional<std::string> normalized(std::string_view name) {
  if (name.empty() || name.front() == '/') return std::nullopt;
  std::string result;
  while (!name.empty()) {
    const size_t slash = std::min(name.find('/'), name.size());
    const std::string_view component = name.substr(0, slash);
    name.remove_prefix(std::min(slash + 1, name.size()));
    if (component == "..") return std::nullopt;
    if (component.empty() || component == ".") continue;
    if (!result.empty()) result += '/';
    result += component;
  }
  return result;
}

class ArchiveReader {
 public:
  ArchiveReader(const std::string& path, const std::function<bool(std::string_view)>& wanted,
                Diagnostics& diagnostics)
      : path_(path),
        wanted_(wanted),
        diagnostics_(diagnostics),
        handle_(archive_read_new(), archive_read_free) {}

  bool open(bool compressed) {
    archive_read_support_format_tar(handle_.get());
    if (!compressed) {
      file_ = read_file(path_, diagnostics_);
      if (!file_) return false;
      limit_ = file_->bytes.size();
      return accept(
          archive_read_open_memory(handle_.get(), file_->bytes.data(), file_->bytes.size()));
    }
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(path_, error);
    if (error) return fail("file/open", fmt::format("cannot open: {}", error.message()));
    limit_ =
        std::max(kFreeExpansion,
                 size > UINT64_MAX / kMaxExpansionRatio ? UINT64_MAX : size * kMaxExpansionRatio);
    archive_read_support_filter_gzip(handle_.get());
    return accept(archive_read_open_filename(handle_.get(), path_.c_str(), kReadBlock));
  }

  bool read_all() {
    for (;;) {
      archive_entry* entry = nullptr;
      const int status = archive_read_next_header(handle_.get(), &entry);
      if (status == ARCHIVE_EOF) return true;
      if (!accept(status) || !check_expansion() || !read_entry(entry)) return false;
    }
  }

  ArchiveMembers take() { return std::move(members_); }

 private:
  bool fail(std::string_view id, std::string message) {
    diagnostics_.file_error(std::string(id), path_, std::nullopt, std::move(message));
    return false;
  }

  bool accept(int status) {
    if (status == ARCHIVE_OK || status == ARCHIVE_WARN) return true;
    return fail("archive/format",
                fmt::format("cannot be read as an archive: {}", message_of(handle_.get())));
  }

  bool check_expansion() {
    const auto unpacked = static_cast<uint64_t>(archive_filter_bytes(handle_.get(), 0));
    if (unpacked <= limit_) return true;
    return fail("archive/expansion",
                fmt::format("unpacks to more than {} bytes, the most that is accepted for its size",
                            limit_));
  }

  bool read_entry(archive_entry* entry) {
    const char* raw = archive_entry_pathname_utf8(entry);
    if (raw == nullptr) raw = archive_entry_pathname(entry);
    const auto name = raw == nullptr ? std::nullopt : normalized(raw);
    if (!name) {
      return fail("archive/path",
                  fmt::format("member '{}' has a name that is absolute or leads out of the archive",
                              raw == nullptr ? "" : raw));
    }
    if (const char* target = archive_entry_hardlink(entry))
      return wanted_(*name) ? link(*name, target) : true;
    if (archive_entry_filetype(entry) == AE_IFDIR) return true;
    if (!wanted_(*name)) return skip();
    if (archive_entry_filetype(entry) != AE_IFREG) {
      return fail(
          "archive/link",
          fmt::format("member '{}' is a link or a special file, expected a plain file", *name));
    }
    return read_data(*name, archive_entry_size(entry));
  }

  /// A file that was archived before under another name.
  bool link(const std::string& name, const char* target) {
    const auto original = normalized(target);
    const auto found = original ? members_.find(*original) : members_.end();
    if (found == members_.end()) {
      return fail(
          "archive/link",
          fmt::format("member '{}' is a link to '{}', which is no earlier file of the model", name,
                      target));
    }
    members_.insert_or_assign(name, found->second);
    return true;
  }

  bool skip() {
    for (;;) {
      const void* block = nullptr;
      size_t size = 0;
      int64_t offset = 0;
      const int status = file_ ? archive_read_data_skip(handle_.get())
                               : archive_read_data_block(handle_.get(), &block, &size, &offset);
      if (status == ARCHIVE_EOF || (file_ && status == ARCHIVE_OK)) return true;
      if (!accept(status) || !check_expansion()) return false;
    }
  }

  bool read_data(const std::string& name, int64_t declared) {
    const auto size = static_cast<uint64_t>(std::max<int64_t>(declared, 0));
    if (size > limit_) {
      return fail("archive/size", fmt::format("member '{}' is said to have {} bytes, more than an "
                                              "archive of this size can hold ({})",
                                              name, size, limit_));
    }
    Buffer buffer;
    uint64_t done = 0;
    while (done < size) {
      const void* block = nullptr;
      size_t count = 0;
      int64_t offset = 0;
      const int status = archive_read_data_block(handle_.get(), &block, &count, &offset);
      if (status == ARCHIVE_EOF) break;
      if (!accept(status) || !check_expansion()) return false;
      if (offset < 0 || static_cast<uint64_t>(offset) != done || count > size - done) {
        return fail("archive/sparse",
                    fmt::format("member '{}' has holes; expected a plain file", name));
      }
      const auto* bytes = static_cast<const std::byte*>(block);
      if (count == size && within_file(bytes, count)) {
        members_.insert_or_assign(name, FileBytes{{bytes, count}, file_->owner});
        return true;
      }
      if (buffer.data == nullptr) buffer = allocate_buffer(size);
      if (buffer.data == nullptr) {
        return fail("archive/size",
                    fmt::format("no memory for the {} bytes of member '{}'", size, name));
      }
      std::memcpy(buffer.data + done, bytes, count);
      done += count;
    }
    if (done < size) {
      return fail("archive/size", fmt::format("member '{}' is said to have {} bytes, but holds {}",
                                              name, size, done));
    }
    members_.insert_or_assign(name,
                              FileBytes{{buffer.data, static_cast<size_t>(size)}, buffer.owner});
    return true;
  }

  bool within_file(const std::byte* bytes, size_t count) const {
    if (!file_) return false;
    const auto begin = reinterpret_cast<uintptr_t>(file_->bytes.data());
    const auto at = reinterpret_cast<uintptr_t>(bytes);
    return at >= begin && at - begin <= file_->bytes.size() &&
           count <= file_->bytes.size() - (at - begin);
  }

  const std::string& path_;
  const std::function<bool(std::string_view)>& wanted_;
  Diagnostics& diagnostics_;
  std::optional<FileBytes> file_;  ///< of an uncompressed archive
  uint64_t limit_ = 0;             ///< of bytes after decompression
  ArchiveMembers members_;
  std::unique_ptr<archive, int (*)(archive*)> handle_;  // last: it reads from `file_`
};

}  // namespace

std::optional<ArchiveMembers> read_archive(const std::string& path, bool compressed,
                                           const std::function<bool(std::string_view)>& wanted,
                                           Diagnostics& diagnostics) {
  ArchiveReader reader(path, wanted, diagnostics);
  if (!reader.open(compressed) || !reader.read_all()) return std::nullopt;
  return reader.take();
}

ArchiveWriter::ArchiveWriter(PendingFile file, Handle handle)
    : file_(std::move(file)), handle_(std::move(handle)) {}

std::optional<ArchiveWriter> ArchiveWriter::create(const std::string& path, bool compressed,
                                                   Diagnostics& diagnostics) {
  auto file = PendingFile::create(path, diagnostics);
  if (!file) return std::nullopt;
  ArchiveWriter writer(std::move(*file), Handle(archive_write_new(), archive_write_free));
  archive* handle = writer.handle_.get();
  archive_write_set_format_pax_restricted(handle);
  if (compressed) {
    archive_write_add_filter_gzip(handle);
    archive_write_set_filter_option(handle, "gzip", "timestamp", nullptr);
  }
  if (archive_write_open_fd(handle, writer.file_.descriptor()) != ARCHIVE_OK) {
    writer.fail(diagnostics);
    return std::nullopt;
  }
  return writer;
}

bool ArchiveWriter::fail(Diagnostics& diagnostics) const {
  diagnostics.file_error("file/write", file_.path(), std::nullopt,
                         fmt::format("cannot write the archive: {}", message_of(handle_.get())));
  return false;
}

bool ArchiveWriter::add(const std::string& name, std::span<const std::span<const std::byte>> parts,
                        Diagnostics& diagnostics) {
  uint64_t size = 0;
  for (const auto& part : parts) size += part.size();
  const EntryPtr entry(archive_entry_new(), archive_entry_free);
  archive_entry_set_pathname_utf8(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0644);
  archive_entry_set_size(entry.get(), static_cast<int64_t>(size));
  archive_entry_set_mtime(entry.get(), 0, 0);
  if (archive_write_header(handle_.get(), entry.get()) < ARCHIVE_WARN) return fail(diagnostics);
  for (const auto& part : parts) {
    if (part.empty()) continue;
    if (archive_write_data(handle_.get(), part.data(), part.size()) !=
        static_cast<la_ssize_t>(part.size())) {
      return fail(diagnostics);
    }
  }
  return true;
}

bool ArchiveWriter::commit(Diagnostics& diagnostics) {
  if (archive_write_close(handle_.get()) != ARCHIVE_OK) return fail(diagnostics);
  return file_.commit(diagnostics);
}

}  // namespace nnef
