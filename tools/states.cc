#include "states.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "nnef/file.h"
#include "nnef/model.h"
#include "nnef/tensor_file.h"
#include "tensors.h"

namespace nnefc {
namespace {

namespace fs = std::filesystem;
using nnef_runtime::Session;

/// The file of a state; an artefact could name one outside of the folder.
std::optional<fs::path> state_file(const NamedState& state, const std::string& folder,
                                   nnef::Diagnostics& diagnostics) {
  const auto file = nnef::label_file(state.label);
  if (file) return fs::path(folder) / *file;
  diagnostics.file_error("states/label", folder, std::nullopt,
                         fmt::format("the label '{}' of state '{}' names no file within the folder",
                                     state.label, state.name));
  return std::nullopt;
}

bool check_any(const std::vector<NamedState>& states, const std::string& folder,
               nnef::Diagnostics& diagnostics) {
  if (!states.empty()) return true;
  diagnostics
      .file_error("states/none", folder, std::nullopt,
                  "the model has no state: it updates none of its variables")
      .help("only variables that an operation 'update' names keep values between runs");
  return false;
}

/// The value of a state in a file.
std::optional<nnef::TensorData> read_state(const NamedState& state, const std::string& path,
                                           nnef::Diagnostics& diagnostics) {
  const auto data = nnef::read_tensor_file(path, diagnostics);
  if (data == nullptr) return std::nullopt;
  if (data->shape == state.value.shape)
    return converted_input(*data, state.value.type, state.name, path, diagnostics);
  diagnostics.file_error(
      "states/shape", path, std::nullopt,
      fmt::format("the file holds shape {}, but state '{}' has shape {}",
                  nnef::to_string(data->shape), state.name, nnef::to_string(state.value.shape)));
  return std::nullopt;
}

bool make_folder(const fs::path& folder, nnef::Diagnostics& diagnostics) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return true;
  diagnostics.file_error("states/write", folder.string(), std::nullopt,
                         "the folder cannot be made: " + error.message());
  return false;
}

std::optional<nnef::PendingFile> write_state(const fs::path& path, const nnef::TensorData& data,
                                             nnef::Diagnostics& diagnostics) {
  const auto header = nnef::tensor_header(data, path.string(), diagnostics);
  if (!header || !make_folder(path.parent_path(), diagnostics)) return std::nullopt;
  auto file = nnef::PendingFile::create(path.string(), diagnostics);
  const bool written = file && file->write(std::as_bytes(std::span(*header)), diagnostics) &&
                       file->write(data.bytes, diagnostics) && file->close(diagnostics);
  return written ? std::move(file) : std::nullopt;
}

}  // namespace

bool load_states(std::vector<NamedState>& states, const std::string& folder,
                 nnef::Diagnostics& diagnostics) {
  if (!check_any(states, folder, diagnostics)) return false;
  std::vector<nnef::TensorData> values;
  for (const NamedState& state : states) {
    const auto path = state_file(state, folder, diagnostics);
    auto value = path ? read_state(state, path->string(), diagnostics) : std::nullopt;
    if (!value) return false;
    values.push_back(std::move(*value));
  }
  for (size_t i = 0; i < values.size(); ++i) states[i].value = std::move(values[i]);
  return true;
}

bool save_states(const std::vector<NamedState>& states, const std::string& folder,
                 nnef::Diagnostics& diagnostics) {
  if (!check_any(states, folder, diagnostics)) return false;
  std::vector<nnef::PendingFile> files;
  for (const NamedState& state : states) {
    const auto path = state_file(state, folder, diagnostics);
    auto file = path ? write_state(*path, state.value, diagnostics) : std::nullopt;
    if (!file) return false;
    files.push_back(std::move(*file));
  }
  for (nnef::PendingFile& file : files) {
    if (!file.commit(diagnostics)) return false;
  }
  return true;
}

std::vector<NamedState> states_of(const Session& session) {
  std::vector<NamedState> states;
  for (const auto& state : session.states()) {
    states.push_back({state.tensor.name, state.label, tensor_data(session.state(states.size()))});
  }
  return states;
}

bool set_states(Session& session, const std::vector<NamedState>& states,
                nnef::Diagnostics& diagnostics) {
  for (size_t i = 0; i < states.size(); ++i) {
    const auto tensor =
        to_tensor(states[i].value, session.states()[i].tensor, states[i].name, diagnostics);
    if (!tensor || !session.set_state(i, *tensor, diagnostics)) return false;
  }
  return true;
}

}  // namespace nnefc
