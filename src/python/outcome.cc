#include "python/outcome.h"

#include <tvm/ffi/dtype.h>

namespace nnef_tvm::python {
namespace {

Map<String, Any> describe(const nnef::Diagnostic& diagnostic) {
  Map<String, Any> entry{
      {"severity", diagnostic.severity == nnef::Severity::error ? "error" : "warning"},
      {"id", diagnostic.id},
      {"message", diagnostic.message},
      {"file", diagnostic.path},
      {"line", nullptr},
      {"column", nullptr},
      {"offset", nullptr},
      {"hint", diagnostic.hint},
      {"text", nnef::format(diagnostic)}};
  if (diagnostic.where) {
    const nnef::Source& source = *diagnostic.where.source;
    const auto [line, column] = source.line_column(diagnostic.where.begin);
    entry.Set("file", source.name());
    entry.Set("line", static_cast<int64_t>(line));
    entry.Set("column", static_cast<int64_t>(column));
  }
  if (diagnostic.offset) entry.Set("offset", static_cast<int64_t>(*diagnostic.offset));
  Array<Any> notes;
  for (const nnef::Note& note : diagnostic.notes) notes.push_back(note.text);
  entry.Set("notes", notes);
  return entry;
}

Map<String, Any> describe(const nnef_runtime::TensorSpec& tensor) {
  return {{"name", tensor.name},
          {"dtype", ffi::DLDataTypeToString(tensor.dtype)},
          {"shape", Array<int64_t>(tensor.shape.begin(), tensor.shape.end())}};
}

}  // namespace

Outcome outcome(Any value, const nnef::Diagnostics& diagnostics) {
  Array<Any> entries;
  for (const nnef::Diagnostic& diagnostic : diagnostics.items()) {
    entries.push_back(describe(diagnostic));
  }
  return {diagnostics.has_errors() ? Any(nullptr) : std::move(value), entries};
}

Array<Any> describe(const std::vector<nnef_runtime::TensorSpec>& tensors) {
  Array<Any> entries;
  for (const auto& tensor : tensors) entries.push_back(describe(tensor));
  return entries;
}

Array<Any> describe(const std::vector<nnef_runtime::StateSpec>& states) {
  Array<Any> entries;
  for (const auto& state : states) {
    Map<String, Any> entry = describe(state.tensor);
    entry.Set("label", state.label);
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace nnef_tvm::python
