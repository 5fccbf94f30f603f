// Looks for a smaller case that fails in the same way.
#pragma once

#include "worker.h"

namespace generator {

/// Deletes, zeroes and halves choices for as long as the failure stays of `kind`; judges at most
/// `budget` cases.
Recorded shrink(Worker& worker, Recorded failing, const std::string& kind, size_t budget);

}  // namespace generator
