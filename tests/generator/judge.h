// Runs a case by the reference evaluator and as compiled code, and compares.
#pragma once

#include <string>

#include "compile/compile.h"
#include "graph_case.h"

namespace generator {

struct Verdict {
  bool passed = false;
  /// What kind of failure: "values", or the stage with the id of its diagnostic.
  std::string kind;
  std::string message;
  size_t compared = 0;  ///< items
  size_t skipped = 0;   ///< items that rounding decides, or that are not finite
};

/// Needs the compiler to be loaded.
Verdict judge(const GraphCase& graph_case, const nnef_tvm::CompileOptions& options);
/// This machine, with LLVM's optimisation of that level: what it does is most of the time of a
/// case.
std::string host_target_json(int level);

/// The case as a file of tests/: its values are those of the reference evaluator.
std::string case_file(const GraphCase& graph_case, const std::string& comment);

}  // namespace generator
