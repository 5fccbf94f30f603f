// An artefact file, opened and checked.
#pragma once

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nnef/diagnostic.h"
#include "runtime/metadata.h"

namespace nnef_runtime {

class ArtefactFile {
 public:
  /// Checks everything but the machine code itself. Reports "artefact/...".
  static std::optional<ArtefactFile> open(const std::string& path, nnef::Diagnostics& diagnostics);

  const ArtefactMetadata& metadata() const { return metadata_; }
  const std::string& metadata_text() const { return metadata_text_; }

  /// Reports "artefact/cpu" when this processor lacks features that the code uses.
  bool check_cpu(nnef::Diagnostics& diagnostics) const;
  /// Where the kernels are to run: on the CPU, or on a device of the kind that they are compiled
  /// for; the first of them when `wanted` is empty. Reports "artefact/target" and "device/...".
  std::optional<DLDevice> choose_device(const std::string& wanted,
                                        nnef::Diagnostics& diagnostics) const;
  /// The initial states and then the weights, mapped from the file, which stays mapped while any of
  /// them is in use.
  std::optional<std::vector<::tvm::ffi::Tensor>> map_parameters(
      nnef::Diagnostics& diagnostics) const;
  /// Takes the initial states off the front of map_parameters()' result.
  std::vector<StateSpec> split_states(std::vector<::tvm::ffi::Tensor>& mapped) const;
  /// The executable. Needs libtvm_runtime; this object must outlive the module.
  std::optional<::tvm::ffi::Module> load_executable(nnef::Diagnostics& diagnostics) const;

 private:
  struct Descriptor;

  ArtefactFile(std::string path, std::shared_ptr<Descriptor> file, uint64_t file_bytes)
      : path_(std::move(path)), file_(std::move(file)), file_bytes_(file_bytes) {}
  bool read(nnef::Diagnostics& diagnostics);
  std::vector<const ParameterSpec*> stored() const;
  bool check_parameters(uint64_t begin, uint64_t end, nnef::Diagnostics& diagnostics) const;
  bool read_at(uint64_t offset, void* data, size_t bytes, nnef::Diagnostics& diagnostics) const;

  std::string path_;
  std::shared_ptr<Descriptor> file_;
  uint64_t file_bytes_;
  std::string metadata_text_;
  ArtefactMetadata metadata_;
};

}  // namespace nnef_runtime
