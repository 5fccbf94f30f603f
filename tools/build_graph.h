// From a graph to machine code, for programs that have both at hand: import and compilation, which
// know nothing of each other, one after the other.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compile/compile.h"
#include "nnef/graph.h"
#include "nnef_runtime/session.h"
#include "relax/import.h"

namespace nnefc {

/// The compounds of `graph` that stand whole must have a lowering (nnef_tvm::has_lowering), or one
/// of `lowerings`.
std::optional<nnef_tvm::Compiled> compile_graph(const nnef::Graph& graph,
                                                const nnef_tvm::CompileOptions& options,
                                                nnef::Diagnostics& diagnostics,
                                                nnef_tvm::CustomLowerings lowerings = {});
/// The graph's kernels as they are written to files; reports "emit/..." for what has to run in TVM.
std::optional<nnef_tvm::EmittedProgram> emit_graph(const nnef::Graph& graph,
                                                   const nnef_tvm::CompileOptions& options,
                                                   nnef::Diagnostics& diagnostics);
/// TVM's JSON of a Relax module, compiled.
std::optional<nnef_tvm::Compiled> compile_relax(const std::string& path,
                                                const nnef_tvm::CompileOptions& options,
                                                nnef::Diagnostics& diagnostics);
std::unique_ptr<nnef_runtime::Session> create_session(nnef_tvm::Compiled compiled,
                                                      const nnef_runtime::SessionOptions& options,
                                                      nnef::Diagnostics& diagnostics);

}  // namespace nnefc
