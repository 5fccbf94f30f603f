#include "tvm/target.h"

#include <tvm/ffi/extra/json.h>

namespace nnef_tvm {

Target make_target(const Map<String, Any>& description) {
  return call<Target>("target.Target", description);
}

Target target_from_json(const std::string& text) {
  return make_target(ffi::json::Parse(text).cast<Map<String, Any>>());
}

Target with_host(const Target& target, const Target& host) {
  return call<Target>("target.WithHost", target, host);
}

Target with_attr(const Target& target, const std::string& name, int64_t value) {
  auto description = ffi::json::Parse(target_json(target)).cast<Map<String, Any>>();
  description.Set(name, value);
  return make_target(description);
}

std::string target_json(const Target& target) {
  return ffi::json::Stringify(call("target.TargetExport", target));
}

std::string target_kind(const Target& target) {
  return field<String>(field<ObjectRef>(target, "kind"), "name");
}

Any target_attr(const Target& target, const std::string& name) {
  auto attrs = field<Map<String, Any>>(target, "attrs");
  auto found = attrs.find(name);
  return found == attrs.end() ? Any(nullptr) : (*found).second;
}

std::string host_cpu_name() { return call<String>("tvm.codegen.llvm.GetHostCPUName"); }

Map<String, bool> host_cpu_features() {
  Map<String, bool> features;
  for (const auto& [name, value] :
       call<Map<String, ObjectRef>>("tvm.codegen.llvm.GetHostCPUFeatures")) {
    features.Set(name, field<int64_t>(value, "value") != 0);
  }
  return features;
}

std::string host_triple() { return call<String>("tvm.codegen.llvm.GetDefaultTargetTriple"); }

bool is_valid_cpu(const std::string& cpu, const std::string& triple) {
  return call<bool>("target.llvm_is_valid_cpu", cpu, triple);
}

std::vector<std::string> cpu_names(const Target& target) {
  std::vector<std::string> names;
  for (const String& name : call<Array<String>>("target.llvm_get_cpu_archlist", target)) {
    names.push_back(name);
  }
  return names;
}

bool has_feature(const Target& target, const std::string& feature) {
  return call<bool>("target.llvm_cpu_has_feature", feature, target);
}

std::vector<std::string> features_of(const Target& target) {
  std::vector<std::string> names;
  for (const auto& [name, value] : call<Map<String, Any>>("target.llvm_get_cpu_features", target)) {
    names.push_back(name);
  }
  return names;
}

TargetScope::TargetScope(Target target) : target_(std::move(target)) {
  call<void>("target.TargetEnterScope", target_);
}

TargetScope::~TargetScope() { call<void>("target.TargetExitScope", target_); }

}  // namespace nnef_tvm
