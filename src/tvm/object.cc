#include "tvm/object.h"

#include <tvm/ffi/reflection/accessor.h>

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>

#include "runtime/tvm_library.h"

namespace nnef_tvm {

bool load_compiler(nnef::Diagnostics& diagnostics) {
  static std::mutex mutex;
  static bool loaded = false;
  std::lock_guard lock(mutex);
  // A Python process that imported tvm has it, with its symbols (LLVM's) to itself.
  if (!loaded) loaded = ffi::Function::GetGlobal("relax.BlockBuilderCreate").has_value();
  if (!loaded) {
    loaded =
        nnef_runtime::load_tvm_library("libtvm_compiler.so", NNEF_TVM_LIBRARY_DIR, diagnostics);
  }
  return loaded;
}

ffi::Function global(const char* name) {
  // Never destroyed: TVM's libraries may be torn down before the statics of this one.
  static auto& mutex = *new std::shared_mutex;
  static auto& cache = *new std::unordered_map<std::string_view, ffi::Function>;
  {
    std::shared_lock lock(mutex);
    if (auto found = cache.find(name); found != cache.end()) return found->second;
  }
  auto function = ffi::Function::GetGlobal(name);
  if (!function.has_value()) {
    TVM_FFI_THROW(RuntimeError) << "TVM has no function '" << name
                                << "'; this program was written for apache-tvm 0.27.0.post1";
  }
  std::unique_lock lock(mutex);
  return cache.emplace(name, *function).first->second;
}

namespace {

const TVMFFIFieldInfo* find_field(const TVMFFITypeInfo* type, std::string_view name) {
  for (int32_t i = 0; i < type->num_fields; ++i) {
    const TVMFFIByteArray& candidate = type->fields[i].name;
    if (std::string_view(candidate.data, candidate.size) == name) return &type->fields[i];
  }
  return nullptr;
}

}  // namespace

Any field(const ObjectRef& object, const char* name) {
  if (!object.defined()) TVM_FFI_THROW(RuntimeError) << "field '" << name << "' of a null object";
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(object.get()->type_index());
  const TVMFFIFieldInfo* found = find_field(type, name);
  for (int32_t depth = type->type_depth; found == nullptr && depth > 0; --depth) {
    found = find_field(type->type_ancestors[depth - 1], name);
  }
  if (found == nullptr) {
    TVM_FFI_THROW(RuntimeError) << type_key(object) << " has no field '" << name << "'";
  }
  return ffi::reflection::FieldGetter(found)(object);
}

bool holds_any(const ObjectRef& expr, std::span<const std::string_view> keys) {
  if (!expr.defined()) return false;
  const std::string own = type_key(expr);
  const auto is_key = [&](const std::string& name) {
    return std::find(keys.begin(), keys.end(), name) != keys.end();
  };
  if (is_key(own)) return true;
  // Of the registry, not of the expression: its fields say nothing of the latter.
  if (own == "ir.Op") return is_key(field<ffi::String>(expr, "name"));
  const auto child_holds = [&](const Any& value) {
    const auto child = value.as<ObjectRef>();
    return child.has_value() && holds_any(*child, keys);
  };
  if (const auto* array = expr.as<ffi::ArrayObj>()) {
    return std::any_of(array->begin(), array->end(), child_holds);
  }
  const TVMFFITypeInfo* type = TVMFFIGetTypeInfo(expr.get()->type_index());
  const auto any_field = [&](const TVMFFITypeInfo* info) {
    return std::any_of(info->fields, info->fields + info->num_fields,
                       [&](const TVMFFIFieldInfo& member) {
                         return child_holds(ffi::reflection::FieldGetter(&member)(expr));
                       });
  };
  return any_field(type) ||
         std::any_of(type->type_ancestors, type->type_ancestors + type->type_depth, any_field);
}

std::string type_key(const ObjectRef& object) {
  return object.defined() ? object.GetTypeKey() : std::string("null");
}

}  // namespace nnef_tvm
