#include "nnef/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

namespace nnef {
namespace {

/// Below this a copy is cheaper than a mapping, and spares the process' limited number of mappings.
constexpr uint64_t kSmallFile = uint64_t{64} << 10;
constexpr int kTemporaryNameTries = 100;

std::string error_text(int error) { return std::generic_category().message(error); }

class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

std::shared_ptr<const void> own_mapping(void* address, size_t size) {
  return std::shared_ptr<const void>(
      address, [size](const void* mapped) { ::munmap(const_cast<void*>(mapped), size); });
}

/// False with errno set (0 when the file ended early).
bool read_fully(int descriptor, std::byte* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(descriptor, to + done, size - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = 0;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

Buffer allocate_buffer(uint64_t size) {
  if (size > std::numeric_limits<size_t>::max() / 2) return {};
  const size_t bytes = size == 0 ? 1 : static_cast<size_t>(size);
  if (bytes >= kSmallFile) {
    void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return {};
    return {static_cast<std::byte*>(address), own_mapping(address, bytes)};
  }
  void* address = ::operator new (bytes, std::align_val_t{kByteAlignment}, std::nothrow);
  if (address == nullptr) return {};
  return {static_cast<std::byte*>(address),
          std::shared_ptr<const void>(address, [](const void* memory) {
            ::operator delete (const_cast<void*>(memory), std::align_val_t{kByteAlignment});
          })};
}

std::optional<FileBytes> read_file(const std::string& path, Diagnostics& diagnostics) {
  const auto fail = [&](std::string_view id, std::string message) {
    diagnostics.file_error(std::string(id), path, std::nullopt, std::move(message));
    return std::nullopt;
  };
  // Non-blocking, so that opening a pipe that nobody writes does not hang; it changes nothing for
  // regular files.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return fail("file/open", fmt::format("cannot open: {}", error_text(errno)));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return fail("file/open", fmt::format("cannot open: {}", error_text(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    return fail("file/open",
                S_ISDIR(status.st_mode) ? "is a folder, expected a file" : "is not a regular file");
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > kSmallFile) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (address == MAP_FAILED) {
      return fail("file/read", fmt::format("cannot map: {}", error_text(errno)));
    }
    return FileBytes{{static_cast<const std::byte*>(address), static_cast<size_t>(size)},
                     own_mapping(address, size)};
  }
  const Buffer buffer = allocate_buffer(size);
  if (buffer.data == nullptr) return fail("file/read", "out of memory");
  if (!read_fully(file.get(), buffer.data, size)) {
    return fail("file/read", errno == 0 ? "the file became shorter while it was read"
                                        : fmt::format("cannot read: {}", error_text(errno)));
  }
  return FileBytes{{buffer.data, static_cast<size_t>(size)}, buffer.owner};
}

PendingFile::PendingFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

PendingFile::PendingFile(PendingFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::exchange(other.temporary_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

bool PendingFile::fail(int error, Diagnostics& diagnostics) const {
  diagnostics.file_error("file/write", path_, std::nullopt,
                         fmt::format("cannot write: {}", error_text(error)));
  return false;
}

std::optional<PendingFile> PendingFile::create(const std::string& path, Diagnostics& diagnostics) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  std::string target = path;
  if (fs::exists(status)) {
    if (!fs::is_regular_file(status)) {
      PendingFile direct(path, {}, ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
      if (direct.descriptor_ >= 0) return direct;
      direct.fail(errno, diagnostics);
      return std::nullopt;
    }
    // The target of a link is replaced, not the link.
    const fs::path resolved = fs::canonical(path, error);
    if (!error) target = resolved.string();
  }
  for (int i = 0; i < kTemporaryNameTries; ++i) {
    std::string temporary = fmt::format("{}.{}-{}.tmp", target, ::getpid(), i);
    const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) return PendingFile(std::move(target), std::move(temporary), descriptor);
    if (errno != EEXIST) break;
  }
  PendingFile(path, {}, -1).fail(errno, diagnostics);
  return std::nullopt;
}

bool PendingFile::write(std::span<const std::byte> bytes, Diagnostics& diagnostics) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return fail(errno, diagnostics);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
  return true;
}

bool PendingFile::close(Diagnostics& diagnostics) {
  const int descriptor = std::exchange(descriptor_, -1);
  if (descriptor >= 0 && ::close(descriptor) != 0) return fail(errno, diagnostics);
  return true;
}

bool PendingFile::commit(Diagnostics& diagnostics) {
  if (!close(diagnostics)) return false;
  if (temporary_.empty()) return true;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return fail(errno, diagnostics);
  temporary_.clear();
  return true;
}

bool write_file(const std::string& path, std::span<const std::span<const std::byte>> parts,
                Diagnostics& diagnostics) {
  auto file = PendingFile::create(path, diagnostics);
  if (!file) return false;
  for (const auto& part : parts) {
    if (!file->write(part, diagnostics)) return false;
  }
  return file->commit(diagnostics);
}

bool write_file(const std::string& path, const std::string& text, Diagnostics& diagnostics) {
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span(text))};
  return write_file(path, parts, diagnostics);
}

}  // namespace nnef
