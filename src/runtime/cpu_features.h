// Instruction set extensions that compiled code may use and a processor may lack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace nnef_runtime {

/// Names of the extensions known for this architecture, the same as GCC's and LLVM's; empty where
/// none is optional.
const std::vector<std::string_view>& known_cpu_features();

/// Whether this processor (and its operating system) has a known extension; false for an unknown
/// one.
bool has_cpu_feature(std::string_view name);

}  // namespace nnef_runtime
