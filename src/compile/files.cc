#include "compile/files.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <random>
#include <sstream>
#include <system_error>

extern char** environ;

namespace nnef_tvm {

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  auto parent = std::filesystem::temp_directory_path(error);
  if (error) parent = "/tmp";
  std::string name = (parent / "nnef-XXXXXX").string();
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  constexpr int kTries = 16;
  std::random_device random;
  for (int i = 0; i < kTries && file_ < 0; ++i) {
    temporary_ = path_ + ".tmp" + std::to_string(random());
    file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0 && errno != EEXIST) break;
  }
  if (file_ < 0) error_ = errno;
}

OutputFile::~OutputFile() {
  if (file_ < 0) return;
  ::close(file_);
  ::unlink(temporary_.c_str());
}

void OutputFile::write(const void* data, uint64_t bytes) {
  const char* begin = static_cast<const char*>(data);
  while (bytes > 0 && error_ == 0) {
    ssize_t written = ::write(file_, begin, bytes);
    if (written < 0) {
      if (errno != EINTR) error_ = errno;
      continue;
    }
    begin += written;
    bytes -= written;
    size_ += written;
  }
}

void OutputFile::pad_to(uint64_t alignment) {
  uint64_t missing = (alignment - size_ % alignment) % alignment;
  std::string zeros(missing, '\0');
  write(zeros.data(), zeros.size());
}

bool OutputFile::commit() {
  if (error_ != 0) return false;
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    error_ = errno;
    return false;
  }
  int closed = ::close(file_);
  file_ = -1;
  if (closed != 0) error_ = errno;
  return error_ == 0;
}

ProcessResult run_process(const std::vector<std::string>& arguments,
                          const std::filesystem::path& log) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = -1;
  ProcessResult result;
  result.started = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  if (!result.started) return result;

  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return result;
  }
  if (WIFEXITED(status)) result.status = WEXITSTATUS(status);
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  result.output = text.str();
  return result;
}

}  // namespace nnef_tvm
