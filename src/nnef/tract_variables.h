// Data of variables as tract's dialect has them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ast.h"
#include "model_files.h"
#include "nnef/tensor_file.h"

namespace nnef {

/// Reads each file once. Integers may be stored as quantised items, shapes may differ from those
/// declared as long as the number of items does not.
class TractVariables {
 public:
  /// `files` may be null when nothing is read. Tensors with an entry keep their quantised items.
  TractVariables(const ModelFiles* files, const std::vector<ast::QuantizationEntry>& quantization,
                 Diagnostics& diagnostics);

  /// Null after an error, which is reported.
  TensorDataPtr operator()(const std::string& tensor, const std::string& label, const Shape& shape,
                           const Location& where);

 private:
  TensorDataPtr read(const std::string& tensor, const std::string& label, const std::string& file,
                     const Location& where);

  TensorDataPtr find_in_collections(const std::string& label);

  const ModelFiles* files_;
  Diagnostics& diagnostics_;
  std::set<std::string> quantised_;
  std::map<std::string, TensorDataPtr> data_;  ///< by file; null after an error
  bool collections_read_ = false;
  std::map<std::string, TensorDataPtr> collected_;  ///< by label: of all .safetensors files
};

}  // namespace nnef
