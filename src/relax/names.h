// Names of Relax variables: those of the NNEF tensors, made legal in TVMScript and unique.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace nnef_tvm {

class NameSupply {
 public:
  NameSupply();
  /// `name` with other characters than letters, digits and '_' replaced, prefixed when it does not
  /// begin with a letter (with "input_" as TVM's frontends do), and numbered when it is taken.
  std::string unique(std::string_view name);
  /// `name` as it is, which no later variable gets.
  std::string reserve(std::string_view name);

 private:
  std::set<std::string, std::less<>> taken_;
};

}  // namespace nnef_tvm
