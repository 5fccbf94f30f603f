// Variables that a model updates, in files: FOLDER/<label>.dat for each, as in a model.
#pragma once

#include <string>
#include <vector>

#include "nnef/diagnostic.h"
#include "nnef/tensor_file.h"
#include "nnef_runtime/session.h"

namespace nnefc {

struct NamedState {
  std::string name;
  std::string label;
  nnef::TensorData value;
};

/// Replaces every value by that of its file, as items of the type that it has; on failure
/// ("states/...", "run/input-items", or of the file) none.
bool load_states(std::vector<NamedState>& states, const std::string& folder,
                 nnef::Diagnostics& diagnostics);
/// Writes all states, or none. Folders are made when missing.
bool save_states(const std::vector<NamedState>& states, const std::string& folder,
                 nnef::Diagnostics& diagnostics);

/// Views of the states of a session, and the way back.
std::vector<NamedState> states_of(const nnef_runtime::Session& session);
bool set_states(nnef_runtime::Session& session, const std::vector<NamedState>& states,
                nnef::Diagnostics& diagnostics);

}  // namespace nnefc
