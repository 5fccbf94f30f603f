// Graph to Relax: ordinary high-level Relax, as TVM's own frontends make it (reference: TVM's ONNX
// frontend).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "nnef/graph.h"
#include "tvm/object.h"

namespace nnef_tvm {

class LoweringContext;
/// A lowering that a program brings along: the results of the operation, in order; none after a
/// failure, which it reported.
using CustomLowering = std::function<std::vector<Expr>(const LoweringContext&)>;
using CustomLowerings = std::map<std::string, CustomLowering, std::less<>>;

struct ImportOptions {
  /// Weights become parameters of "main" after the inputs and states; else constants.
  bool keep_params = false;
  /// Whether inputs get names that are legal in TVMScript, as all other variables do.
  bool sanitize_inputs = true;
  /// By operation; they stand before the built-in ones.
  CustomLowerings lowerings = {};
};

struct ImportedTensor {
  std::string name;        ///< in the NNEF model
  std::string relax_name;  ///< sanitised and unique
  DLDataType dtype;
  nnef::Shape shape;
};

/// A variable that the graph updates.
struct ImportedState {
  ImportedTensor tensor;
  std::string label;
  ffi::Tensor initial;  ///< a view of the .dat file where that is possible
};

/// Where a variable of "main" comes from.
struct ImportedOperation {
  std::string name;    ///< of the operation, as the graph has it
  std::string tensor;  ///< its first result
  std::string source;  ///< "graph.nnef:12"; of the invocation in the graph when it was expanded
};

struct Imported {
  /// One function "main" of the inputs, the states and, with keep_params, the other variables; it
  /// returns the outputs and the new states. Attributes: num_input counts inputs and states, which
  /// all differ from run to run; num_state the states, when there are any.
  IRModule module;
  std::vector<ffi::Tensor>
      params;  ///< with keep_params: the values, in parameter order; views of the .dat files
  std::vector<ImportedTensor> inputs;
  std::vector<ImportedTensor> outputs;
  std::vector<ImportedState> states;
  std::vector<ImportedTensor> param_specs;
  /// By the names of the variables that operations' results are bound to.
  std::map<std::string, ImportedOperation> operations;
};

/// Needs load_compiler(). Operations without a lowering are all reported at once
/// ("import/unsupported"), with their positions. Never throws for a fault of the model.
std::optional<Imported> import_graph(const nnef::Graph& graph, const ImportOptions& options,
                                     nnef::Diagnostics& diagnostics);

/// Whether a compound operation of the standard has a lowering of its own (and so need not be
/// expanded).
bool has_lowering(std::string_view operation);

/// One row of the support matrix.
struct LoweringInfo {
  std::string_view operation;
  std::string_view kind;  ///< "alias" (one Relax operator), "own"
};
std::vector<LoweringInfo> lowerings();

}  // namespace nnef_tvm
