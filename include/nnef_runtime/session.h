// Loads a compiled artefact and runs it. Needs libtvm_runtime and libtvm_ffi only; knows neither
// NNEF nor the compiler.
#pragma once

#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nnef/diagnostic.h"

namespace nnef_runtime {

struct TensorSpec {
  std::string name;  ///< the name in the model (not the sanitised one)
  DLDataType dtype;
  std::vector<int64_t> shape;
};

struct SessionOptions {
  int threads = 0;  ///< 0: one for each physical core
};

/// A loaded model. Not thread-safe: one run at a time for each session.
class Session {
 public:
  /// Opens an artefact file written by nnefc compile. Reports "artefact/..." diagnostics: not an
  /// artefact, cut short, other version, made for a CPU with features that this one lacks (all of
  /// them named).
  static std::unique_ptr<Session> open(const std::string& path, const SessionOptions& options,
                                       nnef::Diagnostics& diagnostics);
  /// A session over a module compiled in this process: `executable` is a relax.VMExecutable,
  /// `parameters` follow the inputs of its function "main".
  static std::unique_ptr<Session> create(::tvm::ffi::Module executable,
                                         std::vector<::tvm::ffi::Tensor> parameters,
                                         std::vector<TensorSpec> inputs,
                                         std::vector<TensorSpec> outputs,
                                         const SessionOptions& options,
                                         nnef::Diagnostics& diagnostics);
  ~Session();

  const std::vector<TensorSpec>& inputs() const;
  const std::vector<TensorSpec>& outputs() const;

  /// Runs once. `inputs` in the order of inputs(), on the CPU, contiguous, of the right shape and
  /// dtype ("run/..." diagnostics otherwise). Empty when that failed.
  std::vector<::tvm::ffi::Tensor> run(const std::vector<::tvm::ffi::Tensor>& inputs,
                                      nnef::Diagnostics& diagnostics);

 private:
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A new CPU tensor, 64-byte aligned, not initialised.
::tvm::ffi::Tensor allocate(DLDataType dtype, const std::vector<int64_t>& shape);
/// A CPU tensor over memory that `owner` keeps alive; `data` must be 64-byte aligned, else it is
/// copied.
::tvm::ffi::Tensor view(const void* data, DLDataType dtype, const std::vector<int64_t>& shape,
                        std::shared_ptr<const void> owner);

/// What an artefact says of itself, for `nnefc info`: its metadata as JSON text.
std::optional<std::string> artefact_metadata(const std::string& path,
                                             nnef::Diagnostics& diagnostics);

/// True when the file at `path` is an artefact, by content (an ELF file with or without a valid
/// trailer).
bool is_artefact(const std::string& path);

/// Loads libtvm_runtime once. Searched in $NNEF_TVM_LIBRARY_PATH, beside libtvm_ffi, in the folder
/// known at build time.
bool load_tvm_runtime(nnef::Diagnostics& diagnostics);

}  // namespace nnef_runtime
