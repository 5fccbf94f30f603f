// An artefact's metadata: the JSON of artefact_format.h and the values that it stands for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nnef_runtime/session.h"

namespace nnef_runtime {

struct ParameterSpec {
  TensorSpec tensor;
  uint64_t offset = 0;  ///< from the beginning of the file
  uint64_t bytes = 0;
};

/// A state and where its initial value is.
struct StoredState {
  ParameterSpec initial;
  std::string label;
};

/// What the target says of where kernels can run.
struct CompiledFor {
  std::string kind;  ///< "llvm", "opencl", ...
  int64_t max_threads = 0;
  int64_t shared_bytes = 0;
};

struct ArtefactMetadata {
  std::string target_json;
  CompiledFor compiled_for;  ///< read from target_json
  std::vector<std::string> cpu_features;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  std::vector<ShapeCondition> conditions;
  std::vector<StoredState> states;
  std::vector<ParameterSpec> parameters;
  Program program;
};

std::string metadata_to_json(const ArtefactMetadata& metadata);

/// Empty when the text is not such metadata; `problem` then says why.
std::optional<ArtefactMetadata> metadata_from_json(const std::string& text, std::string& problem);

/// Bytes of a tensor, items packed; empty when that number does not fit in 63 bits or an extent is
/// negative.
std::optional<uint64_t> tensor_bytes(const TensorSpec& tensor);

/// "float32[1,3,224,224]"
std::string to_string(DLDataType dtype, const int64_t* shape, size_t rank);

}  // namespace nnef_runtime
