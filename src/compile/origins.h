// Which operations of a model each kernel came from. Passes keep the names of variables, so names
// are what operations are followed by.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compile/pipeline.h"
#include "nnef_runtime/program.h"

namespace nnef_tvm {

class Origins {
 public:
  /// `sources` are by the names of variables. Bindings of "main" that are not there belong to the
  /// operation of the next one that is; where there is none, each is an operation of its own.
  Origins(const IRModule& module,
          const std::map<std::string, nnef_runtime::OperationSpec>& sources);

  /// The module with names by which its operations can be followed.
  const IRModule& module() const { return module_; }

  /// Counts the work of the operators of "main", before they become kernels.
  void count_work(const IRModule& module);

  /// What was fused; lower_operators() fills it in.
  std::vector<FusionGroup>& groups() { return groups_; }

  /// What the lowered "main" does.
  nnef_runtime::Program program(const IRModule& lowered) const;

 private:
  struct Step {
    uint32_t operation;             ///< a place in operations_
    std::vector<size_t> consumers;  ///< the steps that use its result
    bool weights_only = false;
  };

  const FusionGroup* group_of(const std::string& kernel, size_t& next) const;
  std::optional<size_t> follower(const std::set<size_t>& before,
                                 const std::function<bool(size_t)>& is_free) const;
  std::map<size_t, size_t> homes(const std::vector<std::set<size_t>>& kernels) const;

  IRModule module_;
  std::vector<nnef_runtime::OperationSpec> operations_;
  std::vector<Step> steps_;  ///< one for each binding of the module
  std::map<size_t, double> flops_;
  std::vector<FusionGroup> groups_;
};

}  // namespace nnef_tvm
