// The states of a session in files: FOLDER/<label>.dat for each, as in a model.
#pragma once

#include <string>

#include "nnef/diagnostic.h"
#include "nnef_runtime/session.h"

namespace nnefc {

/// Gives every state the value of its file; on failure ("states/...", or of the file) none.
bool load_states(nnef_runtime::Session& session, const std::string& folder,
                 nnef::Diagnostics& diagnostics);
/// Writes all states, or none. Folders are made when missing.
bool save_states(const nnef_runtime::Session& session, const std::string& folder,
                 nnef::Diagnostics& diagnostics);

}  // namespace nnefc
