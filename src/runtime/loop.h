// Loops of compiled models: a function of the model that is called for each step of a scan.
#pragma once

namespace nnef_runtime {

/// Makes "nnef.loop" known to virtual machines.
void register_loop();

}  // namespace nnef_runtime
