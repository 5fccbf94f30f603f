#include "runtime/artefact.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/artefact_format.h"
#include "runtime/cpu_features.h"
#include "runtime/crc32.h"
#include "runtime/device_tensors.h"
#include "runtime/error_text.h"

namespace nnef_runtime {

namespace ffi = ::tvm::ffi;

namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "which ELF machine is this?"
#endif

constexpr const char* kRecompile = "compile the model again: nnefc compile MODEL -o FILE";

class Mapping {
 public:
  static std::shared_ptr<const Mapping> map(int file, uint64_t offset, uint64_t bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, static_cast<off_t>(offset));
    if (data == MAP_FAILED) return nullptr;
    return std::shared_ptr<const Mapping>(new Mapping(data, bytes));
  }
  ~Mapping() { munmap(data_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const char* data() const { return static_cast<const char*>(data_); }

 private:
  Mapping(void* data, uint64_t bytes) : data_(data), bytes_(bytes) {}
  void* data_;
  uint64_t bytes_;
};

bool has_elf_magic(const void* data) { return std::memcmp(data, ELFMAG, SELFMAG) == 0; }

}  // namespace

struct ArtefactFile::Descriptor {
  explicit Descriptor(int number) : number(number) {}
  ~Descriptor() { ::close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

bool ArtefactFile::read_at(uint64_t offset, void* data, size_t bytes,
                           nnef::Diagnostics& diagnostics) const {
  auto* out = static_cast<char*>(data);
  while (bytes > 0) {
    ssize_t got = pread(file_->number, out, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      diagnostics.file_error("artefact/read", path_, offset,
                             fmt::format("cannot read {} bytes: {}", bytes,
                                         got == 0 ? "the file ends" : std::strerror(errno)));
      return false;
    }
    out += got;
    offset += got;
    bytes -= got;
  }
  return true;
}

std::optional<ArtefactFile> ArtefactFile::open(const std::string& path,
                                               nnef::Diagnostics& diagnostics) {
  int number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (number < 0) {
    diagnostics.file_error("artefact/open", path, std::nullopt,
                           fmt::format("cannot open: {}", std::strerror(errno)));
    return std::nullopt;
  }
  auto file = std::make_shared<Descriptor>(number);
  struct stat status;
  if (fstat(number, &status) != 0 || !S_ISREG(status.st_mode)) {
    diagnostics.file_error("artefact/open", path, std::nullopt, "not a regular file");
    return std::nullopt;
  }
  ArtefactFile artefact(path, file, status.st_size);
  if (!artefact.read(diagnostics)) return std::nullopt;
  return artefact;
}

namespace {

/// The first thing wrong with an artefact's ELF header, if any.
std::optional<std::pair<const char*, std::string>> elf_problem(const Elf64_Ehdr& header) {
  if (!has_elf_magic(&header)) return {{"artefact/magic", "not an artefact: no ELF header"}};
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != kMachine) {
    return {
        {"artefact/machine", fmt::format("made for another machine: ELF machine {}, expected {}",
                                         uint16_t{header.e_machine}, kMachine)}};
  }
  return std::nullopt;
}

/// The first thing wrong with a footer, if any; every size in it is then within the file.
std::optional<std::pair<const char*, std::string>> footer_problem(const ArtefactFooter& footer,
                                                                  uint64_t file_bytes) {
  if (std::memcmp(footer.magic, kArtefactMagic, sizeof(kArtefactMagic)) != 0) {
    return {{"artefact/footer",
             "no artefact's footer at the end: the file is cut short, or another shared library"}};
  }
  if (footer.format != kArtefactFormat) {
    return {{"artefact/version", fmt::format("artefact of format {}, this program reads format {}",
                                             footer.format, kArtefactFormat)}};
  }
  if (footer.file_bytes != file_bytes) {
    return {{"artefact/length", fmt::format("the file has {} bytes, its footer says {}", file_bytes,
                                            footer.file_bytes)}};
  }
  uint64_t end = file_bytes - sizeof(ArtefactFooter);
  if (footer.metadata_offset > end || footer.metadata_bytes != end - footer.metadata_offset) {
    return {{"artefact/layout",
             fmt::format("{} bytes of metadata at {} do not end at the footer, at {}",
                         footer.metadata_bytes, footer.metadata_offset, end)}};
  }
  if (footer.library_bytes > footer.metadata_offset || footer.library_bytes < sizeof(Elf64_Ehdr)) {
    return {
        {"artefact/layout", fmt::format("a library of {} bytes does not fit before the metadata, "
                                        "at {}",
                                        footer.library_bytes, footer.metadata_offset)}};
  }
  return std::nullopt;
}

}  // namespace

bool ArtefactFile::read(nnef::Diagnostics& diagnostics) {
  auto report = [&](const char* id, uint64_t offset, std::string message) {
    diagnostics.file_error(id, path_, offset, std::move(message)).help(kRecompile);
    return false;
  };
  if (file_bytes_ < sizeof(Elf64_Ehdr) + sizeof(ArtefactFooter)) {
    return report("artefact/length", file_bytes_,
                  fmt::format("the file has {} bytes, an artefact at least {}", file_bytes_,
                              sizeof(Elf64_Ehdr) + sizeof(ArtefactFooter)));
  }
  Elf64_Ehdr header;
  if (!read_at(0, &header, sizeof(header), diagnostics)) return false;
  if (auto problem = elf_problem(header)) return report(problem->first, 0, problem->second);

  ArtefactFooter footer;
  uint64_t footer_offset = file_bytes_ - sizeof(footer);
  if (!read_at(footer_offset, &footer, sizeof(footer), diagnostics)) return false;
  if (auto problem = footer_problem(footer, file_bytes_)) {
    return report(problem->first, footer_offset, problem->second);
  }

  metadata_text_.resize(footer.metadata_bytes);
  if (!read_at(footer.metadata_offset, metadata_text_.data(), metadata_text_.size(), diagnostics)) {
    return false;
  }
  if (uint32_t crc = crc32(metadata_text_); crc != footer.metadata_crc32) {
    return report("artefact/crc", footer.metadata_offset,
                  fmt::format("the metadata's CRC-32 is {:08x}, the footer says {:08x}: the file "
                              "is damaged",
                              crc, footer.metadata_crc32));
  }
  std::string problem;
  auto metadata = metadata_from_json(metadata_text_, problem);
  if (!metadata) return report("artefact/metadata", footer.metadata_offset, problem);
  metadata_ = std::move(*metadata);
  return check_parameters(footer.library_bytes, footer.metadata_offset, diagnostics);
}

std::vector<const ParameterSpec*> ArtefactFile::stored() const {
  std::vector<const ParameterSpec*> all;
  for (const StoredState& state : metadata_.states) all.push_back(&state.initial);
  for (const ParameterSpec& parameter : metadata_.parameters) all.push_back(&parameter);
  return all;
}

bool ArtefactFile::check_parameters(uint64_t begin, uint64_t end,
                                    nnef::Diagnostics& diagnostics) const {
  for (const ParameterSpec* item : stored()) {
    const ParameterSpec& parameter = *item;
    auto bytes = tensor_bytes(parameter.tensor);
    if (!bytes || *bytes != parameter.bytes) {
      diagnostics.file_error(
          "artefact/parameter", path_, parameter.offset,
          fmt::format("the weights of '{}' are {} bytes, but {} takes {}", parameter.tensor.name,
                      parameter.bytes,
                      to_string(parameter.tensor.dtype, parameter.tensor.shape.data(),
                                parameter.tensor.shape.size()),
                      bytes ? std::to_string(*bytes) : "more than can be"));
      return false;
    }
    if (parameter.offset < begin || parameter.offset > end ||
        parameter.bytes > end - parameter.offset || parameter.offset % kWeightAlignment != 0) {
      diagnostics.file_error(
          "artefact/parameter", path_, parameter.offset,
          fmt::format("the weights of '{}' ({} bytes) are not at an aligned place between {} and "
                      "{}",
                      parameter.tensor.name, parameter.bytes, begin, end));
      return false;
    }
  }
  return true;
}

bool ArtefactFile::check_cpu(nnef::Diagnostics& diagnostics) const {
  std::vector<std::string> missing;
  for (const std::string& feature : metadata_.cpu_features) {
    if (!has_cpu_feature(feature)) missing.push_back(feature);
  }
  if (missing.empty()) return true;
  diagnostics
      .file_error(
          "artefact/cpu", path_, std::nullopt,
          fmt::format("compiled for a CPU with {}, which this one lacks", fmt::join(missing, ", ")))
      .help("compile the model on this machine, or for an older CPU by --target");
  return false;
}

std::optional<DLDevice> ArtefactFile::choose_device(const std::string& wanted,
                                                    nnef::Diagnostics& diagnostics) const {
  const CompiledFor& compiled = metadata_.compiled_for;
  const std::string_view kind = device_kind(compiled.kind);
  if (!wanted.empty() && device_kind(wanted) != kind) {
    diagnostics
        .file_error(
            "artefact/target", path_, std::nullopt,
            fmt::format("compiled for '{}', which cannot run on '{}'", compiled.kind, wanted))
        .help(fmt::format("compile the model for it: nnefc compile MODEL --target {} -o FILE",
                          wanted));
    return std::nullopt;
  }
  if (kind.empty()) return DLDevice{kDLCPU, 0};
  const auto device = find_device(wanted.empty() ? std::string(kind) : wanted, diagnostics);
  if (!device) return std::nullopt;
  if (device->max_threads < compiled.max_threads || device->shared_bytes < compiled.shared_bytes) {
    diagnostics
        .file_error("artefact/target", path_, std::nullopt,
                    fmt::format("compiled for groups of {} threads that share {} bytes; {} has "
                                "groups of {} and {} bytes",
                                compiled.max_threads, compiled.shared_bytes, device->name,
                                device->max_threads, device->shared_bytes))
        .help(kRecompile);
    return std::nullopt;
  }
  return dl_device(*device);
}

std::optional<std::vector<ffi::Tensor>> ArtefactFile::map_parameters(
    nnef::Diagnostics& diagnostics) const {
  uint64_t begin = file_bytes_, end = 0;
  const auto parameters = stored();
  for (const ParameterSpec* parameter : parameters) {
    begin = std::min(begin, parameter->offset);
    end = std::max(end, parameter->offset + parameter->bytes);
  }
  std::vector<ffi::Tensor> tensors;
  if (parameters.empty()) return tensors;
  begin -= begin % static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  auto mapping = Mapping::map(file_->number, begin, std::max<uint64_t>(end - begin, 1));
  if (mapping == nullptr) {
    diagnostics.file_error(
        "artefact/map", path_, begin,
        fmt::format("cannot map {} bytes of weights: {}", end - begin, std::strerror(errno)));
    return std::nullopt;
  }
  for (const ParameterSpec* parameter : parameters) {
    tensors.push_back(view(mapping->data() + (parameter->offset - begin), parameter->tensor.dtype,
                           parameter->tensor.shape, mapping));
  }
  return tensors;
}

std::vector<StateSpec> ArtefactFile::split_states(std::vector<ffi::Tensor>& mapped) const {
  std::vector<StateSpec> states;
  for (const StoredState& state : metadata_.states) {
    states.push_back({state.initial.tensor, state.label, mapped.at(states.size())});
  }
  mapped.erase(mapped.begin(), mapped.begin() + static_cast<ptrdiff_t>(states.size()));
  return states;
}

std::optional<ffi::Module> ArtefactFile::load_executable(nnef::Diagnostics& diagnostics) const {
  // Through the descriptor, so that it is the file that was checked, even if another has taken its
  // name since; the loader would take a name that it has seen before for the same library.
  std::string name = fmt::format("/proc/self/fd/{}", file_->number);
  if (access(name.c_str(), R_OK) != 0) {
    name = path_.find('/') == std::string::npos ? "./" + path_ : path_;
  }
  try {
    return ffi::Function::GetGlobalRequired("ffi.Module.load_from_file.so")(name, "")
        .cast<ffi::Module>();
  } catch (const ffi::Error& error) {
    diagnostics
        .file_error("artefact/load", path_, std::nullopt,
                    fmt::format("the machine code cannot be loaded: {}", first_line(error)))
        .help(kRecompile);
    return std::nullopt;
  }
}

std::optional<std::string> artefact_metadata(const std::string& path,
                                             nnef::Diagnostics& diagnostics) {
  auto artefact = ArtefactFile::open(path, diagnostics);
  if (!artefact) return std::nullopt;
  return artefact->metadata_text();
}

bool is_artefact(const std::string& path) {
  int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char magic[SELFMAG];
  bool elf = pread(file, magic, sizeof(magic), 0) == SELFMAG && has_elf_magic(magic);
  ::close(file);
  return elf;
}

}  // namespace nnef_runtime
