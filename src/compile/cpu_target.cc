#include "compile/cpu_target.h"

#include <fmt/format.h>
#include <tvm/ffi/extra/json.h>

#include "nnef_runtime/devices.h"
#include "runtime/cpu_features.h"
#include "runtime/error_text.h"
#include "runtime/threads.h"
#include "tvm/target.h"

namespace nnef_tvm {

namespace {

constexpr const char* kUsable =
    "usable: llvm (this machine's CPU), a device that 'nnefc devices' lists, or TVM's JSON such as "
    "{\"kind\": \"llvm\", \"mcpu\": \"haswell\"}";

/// What LLVM must be told beyond the processor's name: virtual machines hide features, and LLVM's
/// names stand for the features of the whole family.
Array<String> feature_differences(const std::string& cpu) {
  Target named = make_target({{"kind", "llvm"}, {"mcpu", cpu}});
  Array<String> differences;
  for (const auto& [feature, present] : host_cpu_features()) {
    if (!present && has_feature(named, feature))
      differences.push_back(fmt::format("-{}", std::string(feature)));
  }
  for (std::string_view feature : nnef_runtime::known_cpu_features()) {
    if (nnef_runtime::has_cpu_feature(feature) && !has_feature(named, std::string(feature))) {
      differences.push_back(fmt::format("+{}", feature));
    }
  }
  return differences;
}

/// A machine stays the same, and asking LLVM about it takes milliseconds.
Map<String, Any> host_description() {
  static const std::string cpu = host_cpu_name();
  static const Array<String> differences = feature_differences(cpu);
  return {{"kind", "llvm"},
          {"mcpu", cpu},
          {"mattr", differences},
          {"num-cores", nnef_runtime::physical_cores()}};
}

std::string architecture(const std::string& triple) { return triple.substr(0, triple.find('-')); }

bool check_description(const Map<String, Any>& description, nnef::Diagnostics& diagnostics) {
  auto text = [&](const char* name) -> std::string {
    auto found = description.find(name);
    if (found == description.end()) return "";
    auto value = (*found).second.as<String>();
    return value.has_value() ? std::string(*value) : "";
  };
  const std::string kind = text("kind");
  if (!nnef_runtime::device_kind(kind).empty()) return true;
  if (kind != "llvm") {
    diagnostics
        .error("compile/target", {}, fmt::format("cannot compile for a target of kind '{}'", kind))
        .help(kUsable);
    return false;
  }
  std::string triple = text("mtriple");
  if (!triple.empty() && architecture(triple) != architecture(host_triple())) {
    diagnostics.error("compile/target", {},
                      fmt::format("cannot compile for '{}' on '{}': only for the architecture of "
                                  "this machine",
                                  triple, host_triple()));
    return false;
  }
  std::string cpu = text("mcpu");
  if (!cpu.empty() && !is_valid_cpu(cpu, triple.empty() ? host_triple() : triple)) {
    auto& report =
        diagnostics.error("compile/target", {}, fmt::format("LLVM knows no CPU '{}'", cpu));
    std::string nearest = nnef::nearest_name(cpu, cpu_names(host_target()));
    report.help(nearest.empty() ? kUsable : fmt::format("did you mean '{}'?", nearest));
    return false;
  }
  return true;
}

std::optional<Map<String, Any>> parse_description(const std::string& text,
                                                  nnef::Diagnostics& diagnostics) {
  String problem;
  auto parsed = ffi::json::Parse(text, &problem).as<ffi::json::Object>();
  if (!parsed.has_value()) {
    diagnostics
        .error("compile/target", {},
               fmt::format("the target is not a JSON object{}{}", problem.empty() ? "" : ": ",
                           std::string(problem)))
        .help(kUsable);
    return std::nullopt;
  }
  Map<String, Any> description;
  for (const auto& [key, value] : *parsed) description.Set(key.cast<String>(), value);
  return description;
}

}  // namespace

Target host_target() { return make_target(host_description()); }

Target host_target_for_one_run() {
  Map<String, Any> description = host_description();
  description.Set("opt-level", 1);
  return make_target(description);
}

std::optional<Target> choose_target(const std::string& text, nnef::Diagnostics& diagnostics) {
  if (text == "llvm") return host_target();
  if (text.find_first_not_of(" \t\n") == std::string::npos || text.find('{') == std::string::npos) {
    diagnostics.error("compile/target", {}, fmt::format("cannot compile for the target '{}'", text))
        .help(kUsable);
    return std::nullopt;
  }
  auto description = parse_description(text, diagnostics);
  if (!description || !check_description(*description, diagnostics)) return std::nullopt;
  try {
    return make_target(*description);
  } catch (const ffi::Error& error) {
    diagnostics
        .error("compile/target", {},
               fmt::format("TVM refuses the target: {}", nnef_runtime::first_line(error)))
        .help(kUsable);
    return std::nullopt;
  }
}

std::vector<std::string> required_features(const Target& target) {
  std::vector<std::string> required;
  for (std::string_view feature : nnef_runtime::known_cpu_features()) {
    if (has_feature(target, std::string(feature))) required.emplace_back(feature);
  }
  return required;
}

}  // namespace nnef_tvm
