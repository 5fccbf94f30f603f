// Targets: construction, the current one, and what LLVM knows of CPUs.
#pragma once

#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

/// From a description such as {"kind": "llvm", "mcpu": "skylake"}.
Target make_target(const Map<String, Any>& description);
/// The reverse of target_json().
Target target_from_json(const std::string& text);
Target with_host(const Target& target, const Target& host);
/// The target with another value of an attribute.
Target with_attr(const Target& target, const std::string& name, int64_t value);
/// The description that makes the target again, as JSON.
std::string target_json(const Target& target);
/// "llvm"
std::string target_kind(const Target& target);
/// An attribute of the target's description ("mcpu", "mattr", "num-cores"); null when it is not
/// set.
Any target_attr(const Target& target, const std::string& name);

/// The processor that this runs on, by LLVM's name, and which of LLVM's features it has.
std::string host_cpu_name();
Map<String, bool> host_cpu_features();
std::string host_triple();

bool is_valid_cpu(const std::string& cpu, const std::string& triple);
/// The names of all CPUs that can be targeted.
std::vector<std::string> cpu_names(const Target& target);
/// Whether code for the target may use a feature, by LLVM's name ("avx512f").
bool has_feature(const Target& target, const std::string& feature);
/// Every feature that code for the target may use, by LLVM's names.
std::vector<std::string> features_of(const Target& target);

/// Makes a target the current one of this thread for its life.
class TargetScope {
 public:
  explicit TargetScope(Target target);
  ~TargetScope();
  TargetScope(const TargetScope&) = delete;
  TargetScope& operator=(const TargetScope&) = delete;

 private:
  Target target_;
};

}  // namespace nnef_tvm
