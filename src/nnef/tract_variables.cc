#include "tract_variables.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "nnef/model.h"
#include "safetensors.h"
#include "variables.h"

namespace nnef {

TractVariables::TractVariables(const ModelFiles* files,
                               const std::vector<ast::QuantizationEntry>& quantization,
                               Diagnostics& diagnostics)
    : files_(files), diagnostics_(diagnostics) {
  for (const ast::QuantizationEntry& entry : quantization) quantised_.insert(entry.tensor);
}

TensorDataPtr TractVariables::find_in_collections(const std::string& label) {
  if (!collections_read_) {
    collections_read_ = true;
    for (const std::string& name : files_->with_suffix(kTensorsSuffix)) {
      auto content = files_->read(name, diagnostics_);
      if (!content) continue;
      collected_.merge(
          read_safetensors(std::move(*content), files_->display_name(name), diagnostics_));
    }
  }
  const auto found = collected_.find(label);
  return found == collected_.end() ? nullptr : found->second;
}

TensorDataPtr TractVariables::read(const std::string& tensor, const std::string& label,
                                   const std::string& file, const Location& where) {
  const auto [entry, fresh] = data_.try_emplace(file);
  if (!fresh) return entry->second;
  if (!files_->contains(file)) {
    entry->second = find_in_collections(label);
    if (entry->second != nullptr) return entry->second;
    diagnostics_.error("variable/missing", where,
                       fmt::format("the data of variable '{}' is missing: there is no file '{}'",
                                   tensor, files_->display_name(file)));
    return nullptr;
  }
  return entry->second = read_variable_file(*files_, file, tensor, where, diagnostics_);
}

TensorDataPtr TractVariables::operator()(const std::string& tensor, const std::string& label,
                                         const Shape& shape, const Location& where) {
  std::string_view relative = label;
  while (relative.starts_with('/')) relative.remove_prefix(1);
  const auto file = label_file(relative);
  if (!file) {
    diagnostics_
        .error("variable/label-path", where,
               fmt::format("label '{}' names a file outside of the model", label))
        .help("a label is a relative path without '..', such as conv1/filter");
    return nullptr;
  }
  const TensorDataPtr data = read(tensor, std::string(relative), *file, where);
  if (data == nullptr) return nullptr;
  const bool plain = is_quantized(data->type) && !quantised_.contains(tensor);
  if (data->shape == shape && !plain) return data;
  if (!(volume(data->shape) == volume(shape))) {
    diagnostics_
        .error(
            "variable/shape", where,
            fmt::format("variable '{}' is declared with shape {}, but '{}' holds shape {}", tensor,
                        to_string(shape), files_->display_name(*file), to_string(data->shape)))
        .help(fmt::format("if the file is right, write shape = {}", to_string(data->shape)));
    return nullptr;
  }
  auto result = std::make_shared<TensorData>(*data);
  result->shape = shape;
  if (plain) {
    const bool is_signed = data->type.code == ItemCode::quantized_int;
    result->type.code = is_signed ? ItemCode::int_ : ItemCode::uint_;
  }
  return result;
}

}  // namespace nnef
