#include "runtime/vulkan/api.h"

#include <dlfcn.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

namespace nnef_vulkan {

namespace {

constexpr std::array<const char*, 2> kLibraries = {"libvulkan.so.1", "libvulkan.so"};
constexpr const char* kValidation = "VK_LAYER_KHRONOS_validation";

struct NamedResult {
  VkResult result;
  const char* name;
};

#define NNEF_VULKAN_RESULT(name) \
  { name, #name }
constexpr NamedResult kResults[] = {
    NNEF_VULKAN_RESULT(VK_NOT_READY),
    NNEF_VULKAN_RESULT(VK_TIMEOUT),
    NNEF_VULKAN_RESULT(VK_INCOMPLETE),
    NNEF_VULKAN_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY),
    NNEF_VULKAN_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY),
    NNEF_VULKAN_RESULT(VK_ERROR_INITIALIZATION_FAILED),
    NNEF_VULKAN_RESULT(VK_ERROR_DEVICE_LOST),
    NNEF_VULKAN_RESULT(VK_ERROR_MEMORY_MAP_FAILED),
    NNEF_VULKAN_RESULT(VK_ERROR_LAYER_NOT_PRESENT),
    NNEF_VULKAN_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT),
    NNEF_VULKAN_RESULT(VK_ERROR_FEATURE_NOT_PRESENT),
    NNEF_VULKAN_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER),
    NNEF_VULKAN_RESULT(VK_ERROR_TOO_MANY_OBJECTS),
    NNEF_VULKAN_RESULT(VK_ERROR_FRAGMENTED_POOL),
    NNEF_VULKAN_RESULT(VK_ERROR_OUT_OF_POOL_MEMORY),
    NNEF_VULKAN_RESULT(VK_ERROR_UNKNOWN),
};
#undef NNEF_VULKAN_RESULT

PFN_vkGetInstanceProcAddr open_library(std::string& problem) {
  for (const char* name : kLibraries) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
    }
    if (problem.empty()) problem = dlerror();
  }
  return nullptr;
}

bool has_layer(const Api& api, const char* wanted) {
  uint32_t count = 0;
  api.vkEnumerateInstanceLayerProperties(&count, nullptr);
  std::vector<VkLayerProperties> layers(count);
  api.vkEnumerateInstanceLayerProperties(&count, layers.data());
  return std::any_of(layers.begin(), layers.end(), [&](const VkLayerProperties& layer) {
    return std::string(layer.layerName) == wanted;
  });
}

std::string create_instance(Api& api) {
  uint32_t version = VK_API_VERSION_1_0;
  if (api.vkEnumerateInstanceVersion != nullptr) api.vkEnumerateInstanceVersion(&version);
  if (version < VK_API_VERSION_1_1) return "libvulkan is of Vulkan 1.0; 1.1 is needed";
  VkApplicationInfo application{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  application.pApplicationName = "tvm-nnef";
  application.apiVersion = VK_API_VERSION_1_1;
  VkInstanceCreateInfo info{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  info.pApplicationInfo = &application;
  if (std::getenv("NNEF_VULKAN_VALIDATION") != nullptr) {
    if (!has_layer(api, kValidation)) return std::string("there is no layer ") + kValidation;
    info.enabledLayerCount = 1;
    info.ppEnabledLayerNames = &kValidation;
  }
  const VkResult result = api.vkCreateInstance(&info, nullptr, &api.instance);
  return result == VK_SUCCESS ? "" : "vkCreateInstance failed: " + error_name(result);
}

Api load() {
  Api api;
  const PFN_vkGetInstanceProcAddr find = open_library(api.problem);
  if (find == nullptr) return api;
  api.problem.clear();
#define NNEF_VULKAN_LOAD(name) api.name = reinterpret_cast<PFN_##name>(find(api.instance, #name));
  NNEF_VULKAN_GLOBAL_FUNCTIONS(NNEF_VULKAN_LOAD)
  api.problem = create_instance(api);
  if (!api.problem.empty()) return api;
  NNEF_VULKAN_FUNCTIONS(NNEF_VULKAN_LOAD)
#undef NNEF_VULKAN_LOAD
  return api;
}

}  // namespace

const Api& api_or_problem() {
  // Never destroyed: drivers run threads and handlers of their own until the process ends.
  static const Api& loaded = *new Api(load());
  return loaded;
}

const Api& api() {
  const Api& loaded = api_or_problem();
  if (!loaded.problem.empty()) TVM_FFI_THROW(RuntimeError) << "no Vulkan: " << loaded.problem;
  return loaded;
}

std::string error_name(VkResult result) {
  const auto found = std::find_if(std::begin(kResults), std::end(kResults),
                                  [&](const NamedResult& row) { return row.result == result; });
  const std::string name = found == std::end(kResults) ? "unknown error" : found->name;
  return name + " (" + std::to_string(static_cast<int>(result)) + ")";
}

void check(VkResult result, const char* function) {
  if (result != VK_SUCCESS) {
    TVM_FFI_THROW(RuntimeError) << function << " failed: " << error_name(result);
  }
}

}  // namespace nnef_vulkan
