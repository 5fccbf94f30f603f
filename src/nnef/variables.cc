#include "variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "nnef/model.h"

namespace nnef {
namespace {

/// Which item types hold the values of a type of the graph.
struct Storage {
  DType dtype;
  std::vector<ItemCode> codes;
  std::string_view names;
};

const Storage* storage_of(DType dtype) {
  static const Storage kStorage[] = {
      {DType::scalar,
       {ItemCode::float_, ItemCode::quantized_uint, ItemCode::quantized_int},
       "float, quint or qint"},
      {DType::integer,
       {ItemCode::uint_, ItemCode::int_, ItemCode::quantized_uint, ItemCode::quantized_int},
       "uint or int"},
      {DType::logical, {ItemCode::bool_}, "bool"},
  };
  for (const Storage& storage : kStorage) {
    if (storage.dtype == dtype) return &storage;
  }
  return nullptr;
}

/// Integers that were written as quantised items stand for themselves: nothing quantises integers.
TensorDataPtr as_stored(DType dtype, const TensorDataPtr& data) {
  if (dtype != DType::integer || !is_quantized(data->type)) return data;
  auto plain = std::make_shared<TensorData>(*data);
  const bool is_signed = data->type.code == ItemCode::quantized_int;
  plain->type.code = is_signed ? ItemCode::int_ : ItemCode::uint_;
  return plain;
}

struct Variable {
  const Operation* operation;
  TensorRef tensor;
  std::string label;
  std::string file;
};

class VariableReader {
 public:
  VariableReader(Graph& graph, const ModelFiles& files, Diagnostics& diagnostics)
      : graph_(graph), files_(files), diagnostics_(diagnostics) {}

  void read() {
    collect();
    for (const auto& [key, variables] : by_label_) warn_of_case(variables);
    for (const Variable& variable : variables_) read(variable);
  }

 private:
  const std::string& name(const Variable& variable) const { return graph_[variable.tensor].name; }
  const Location& label_location(const Variable& variable) const {
    return OpView(graph_, *variable.operation).argument("label").where;
  }

  void collect() {
    for (const Operation& operation : graph_.operations) {
      if (operation.name != "variable") continue;
      const TensorRef* tensor = operation.outputs.at(0).value.get<TensorRef>();
      if (tensor == nullptr) continue;
      const std::string& label = OpView(graph_, operation).string("label");
      // A label that names no file was reported with the rules of the graph.
      if (auto file = label_file(label)) {
        variables_.push_back({&operation, *tensor, label, std::move(*file)});
      }
    }
    for (const Variable& variable : variables_) {
      by_label_[label_key(variable.file)].push_back(&variable);
    }
  }

  /// Labels that differ only in case are equal, and variables of equal labels share their data.
  void warn_of_case(const std::vector<const Variable*>& variables) {
    const Variable& first = *variables.front();
    for (const Variable* other : variables) {
      if (other->file == first.file) continue;
      diagnostics_
          .warning(
              "variable/label-case", label_location(*other),
              fmt::format(
                  "labels '{}' and '{}' differ only in case, which the standard takes as equal",
                  first.label, other->label))
          .note(fmt::format("'{}' is declared here", name(first)), first.operation->where);
    }
  }

  void read(const Variable& variable) {
    const std::string* file = existing_file(variable);
    if (file == nullptr) {
      diagnostics_.error("variable/missing", label_location(variable),
                         fmt::format("the data of variable '{}' is missing: there is no file '{}'",
                                     name(variable), files_.display_name(variable.file)));
      return;
    }
    auto [entry, fresh] = data_.try_emplace(*file);
    if (fresh) {
      entry->second = read_variable_file(files_, *file, name(variable), variable.operation->where,
                                         diagnostics_);
    }
    if (entry->second == nullptr) return;
    Tensor& tensor = graph_[variable.tensor];
    if (check(variable, *entry->second, files_.display_name(*file)))
      tensor.data = as_stored(tensor.dtype, entry->second);
  }

  /// The file as the label spells it, else as an equal label does.
  const std::string* existing_file(const Variable& variable) const {
    if (files_.contains(variable.file)) return &variable.file;
    for (const Variable* other : by_label_.at(label_key(variable.file))) {
      if (files_.contains(other->file)) return &other->file;
    }
    return nullptr;
  }

  bool check(const Variable& variable, const TensorData& data, const std::string& path) {
    const Tensor& tensor = graph_[variable.tensor];
    if (tensor.shape && *tensor.shape != data.shape) {
      diagnostics_
          .error("variable/shape", OpView(graph_, *variable.operation).argument("shape").where,
                 fmt::format("variable '{}' is declared with shape {}, but '{}' holds shape {}",
                             tensor.name, to_string(*tensor.shape), path, to_string(data.shape)))
          .help(fmt::format("if the file is right, write shape = {}", to_string(data.shape)));
      return false;
    }
    const Storage* storage = storage_of(tensor.dtype);
    if (storage != nullptr &&
        std::ranges::find(storage->codes, data.type.code) != storage->codes.end())
      return true;
    diagnostics_.error(
        "variable/item-type", variable.operation->where,
        fmt::format("variable '{}' is of type {}, but '{}' holds items of type {}, expected {}",
                    tensor.name, to_string(tensor.dtype), path, to_string(data.type),
                    storage == nullptr ? "no variable" : storage->names));
    return false;
  }

  Graph& graph_;
  const ModelFiles& files_;
  Diagnostics& diagnostics_;
  std::vector<Variable> variables_;
  std::map<std::string, std::vector<const Variable*>> by_label_;
  std::map<std::string, TensorDataPtr> data_;  ///< by file; null after an error
};

}  // namespace

TensorDataPtr read_variable_file(const ModelFiles& files, const std::string& file,
                                 const std::string& variable, const Location& where,
                                 Diagnostics& diagnostics) {
  Diagnostics found;
  TensorDataPtr data;
  if (auto content = files.read(file, found)) {
    data = read_tensor(content->bytes, std::move(content->owner), files.display_name(file), found);
  }
  for (Diagnostic diagnostic : found.items()) {
    diagnostic.note(fmt::format("it holds the data of variable '{}'", variable), where);
    Diagnostic& reported = diagnostic.severity == Severity::error ? diagnostics.error({}, {}, {})
                                                                  : diagnostics.warning({}, {}, {});
    reported = std::move(diagnostic);
  }
  return data;
}

std::optional<std::string> label_file(std::string_view label) {
  if (label.empty()) return std::nullopt;
  std::string file;
  for (bool last = false; !last;) {
    const size_t end = std::min(label.find_first_of("/\\"), label.size());
    const std::string_view part = label.substr(0, end);
    last = end == label.size();
    if (!last) label.remove_prefix(end + 1);
    const auto is_control = [](char c) { return (c >= '\0' && c < ' ') || c == '\x7f'; };
    if (part == ".." || std::ranges::any_of(part, is_control)) return std::nullopt;
    if (!last && (part.empty() || part == ".")) continue;
    file += part;
    if (!last) file += '/';
  }
  return file + kTensorSuffix;
}

void read_variables(Graph& graph, const ModelFiles& files, Diagnostics& diagnostics) {
  VariableReader(graph, files, diagnostics).read();
}

}  // namespace nnef
