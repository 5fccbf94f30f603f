// Which CPU to compile for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nnef/diagnostic.h"
#include "tvm/object.h"

namespace nnef_tvm {

/// This machine's processor, with the features that it really has.
Target host_target();
/// The same, for code that runs once and should be compiled quickly.
Target host_target_for_one_run();

/// "llvm" (this machine), or TVM's JSON for a target of kind llvm or of a kind of device. Reports
/// "compile/target".
std::optional<Target> choose_target(const std::string& text, nnef::Diagnostics& diagnostics);

/// The extensions that code for the target may use, of those that the runtime can check.
std::vector<std::string> required_features(const Target& target);

}  // namespace nnef_tvm
