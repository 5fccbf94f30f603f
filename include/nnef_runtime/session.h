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
#include "nnef/shape.h"
#include "nnef_runtime/program.h"

namespace nnef_runtime {

struct TensorSpec {
  std::string name;  ///< the name in the model (not the sanitised one)
  DLDataType dtype;
  std::vector<int64_t> shape;  ///< -1 where the extent depends on the run
  /// The same, with symbols; empty where all extents are numbers. Inputs that share a symbol have
  /// one extent there.
  nnef::Shape extents{};
};

/// What must hold of the symbols of inputs for a run to mean anything.
struct ShapeCondition {
  nnef::Dim left;
  bool equal;  ///< left == right; else left >= right
  nnef::Dim right;
  std::string reason;  ///< what asks for it: "'conv' at graph.nnef:12"
};

/// A variable that the model updates: runs read its value, and replace it when they are done.
struct StateSpec {
  TensorSpec tensor;
  std::string label;           ///< of its data in the model's files
  ::tvm::ffi::Tensor initial;  ///< before the first run; never written to
};

struct SessionOptions {
  int threads = 0;  ///< 0: one for each physical core
  /// Each thread stays on a processor of its own, the calling one included: steadier where nothing
  /// else runs, slower where something does. Else the system places them.
  bool pin = false;
  /// Where kernels run (nnef_runtime/devices.h): "opencl", "opencl:1", ...; empty: where the model
  /// was compiled for, the first device of the kind.
  std::string device{};
};

/// A loaded model. Not thread-safe: one run at a time for each session.
class Session {
 public:
  /// Opens an artefact file written by nnefc compile. Reports "artefact/..." diagnostics: not an
  /// artefact, cut short, other version, made for a CPU with features that this one lacks (all of
  /// them named).
  static std::unique_ptr<Session> open(const std::string& path, const SessionOptions& options,
                                       nnef::Diagnostics& diagnostics);
  /// A session over a module compiled in this process, for the CPU unless `options` name a device:
  /// `executable` is a relax.VMExecutable; its function "main" takes the inputs, the states and the
  /// parameters, and returns the outputs and the new states.
  static std::unique_ptr<Session> create(::tvm::ffi::Module executable,
                                         std::vector<::tvm::ffi::Tensor> parameters,
                                         std::vector<TensorSpec> inputs,
                                         std::vector<TensorSpec> outputs,
                                         const SessionOptions& options,
                                         nnef::Diagnostics& diagnostics,
                                         std::vector<StateSpec> states = {}, Program program = {},
                                         std::vector<ShapeCondition> conditions = {});
  ~Session();

  const std::vector<TensorSpec>& inputs() const;
  const std::vector<TensorSpec>& outputs() const;
  const std::vector<StateSpec>& states() const;

  /// Runs once. `inputs` in the order of inputs(), on the CPU, contiguous, of the right shape and
  /// dtype ("run/..." diagnostics otherwise). Empty when that failed; the states are then what they
  /// were.
  std::vector<::tvm::ffi::Tensor> run(const std::vector<::tvm::ffi::Tensor>& inputs,
                                      nnef::Diagnostics& diagnostics);

  /// What each run does; empty when the artefact does not tell.
  const Program& program() const;
  /// The same as run(); `milliseconds` become those of each call of program().kernels. Reports
  /// "run/no-program" when that does not say what was called.
  std::vector<::tvm::ffi::Tensor> run_timed(const std::vector<::tvm::ffi::Tensor>& inputs,
                                            std::vector<double>& milliseconds,
                                            nnef::Diagnostics& diagnostics);

  /// What the next run reads from a state, by its place in states(). The tensor stays as it is when
  /// later runs replace the state, and is not to be written to.
  const ::tvm::ffi::Tensor& state(size_t index) const;
  /// Replaces it by a copy of `value`, which must be like an input ("run/state-..." diagnostics).
  bool set_state(size_t index, const ::tvm::ffi::Tensor& value, nnef::Diagnostics& diagnostics);
  /// All states have their initial values again.
  void reset_states();

 private:
  struct Model;
  explicit Session(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
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
