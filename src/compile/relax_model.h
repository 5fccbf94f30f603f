// Relax modules of any frontend, made ready for compile().
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compile/compile.h"

namespace nnef_tvm {

/// What compile() takes.
struct RelaxModel {
  IRModule module;
  std::vector<ffi::Tensor> params;
  std::vector<nnef_runtime::TensorSpec> inputs;
  std::vector<nnef_runtime::TensorSpec> outputs;  ///< named after the variables that main returns
};

/// Whether a file holds JSON, by content; no NNEF model does.
bool is_relax_file(const std::string& path);

/// A module as tvm.ir.save_json writes it. Damaged files do no harm. Reports "relax/..." at `path`.
std::optional<RelaxModel> read_relax(const std::string& path, nnef::Diagnostics& diagnostics);

/// The inputs of "main" are its first num_input parameters (an attribute; all of them when it is
/// absent). The others have values: `params`, or the attribute of that name, as TVM's frontends
/// leave it with keep_params_in_input. Messages name `path`, which may be empty.
std::optional<RelaxModel> relax_model(const IRModule& module, std::vector<ffi::Tensor> params,
                                      const std::string& path, nnef::Diagnostics& diagnostics);

/// Needs load_compiler().
std::optional<Compiled> compile(RelaxModel model, const CompileOptions& options,
                                nnef::Diagnostics& diagnostics);

/// The first step for TVM's own build. All parameters of "main" stay: they count as inputs.
std::optional<IRModule> lower_within(const IRModule& module, const CompileOptions& options,
                                     nnef::Diagnostics& diagnostics);

/// The module alone: weights as parameters of main with an attribute "params", or as constants.
IRModule as_module(const RelaxModel& model, bool keep_params);

}  // namespace nnef_tvm
