// What devices call functions of mathematics by.
#pragma once

namespace nnef_tvm {

/// Names functions for code generators that TVM has no such rules for. TVM's tables of rules are of
/// the whole process. Once is enough.
void register_device_functions();

}  // namespace nnef_tvm
