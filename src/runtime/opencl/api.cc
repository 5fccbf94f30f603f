#include "runtime/opencl/api.h"

#include <dlfcn.h>
#include <tvm/ffi/error.h>

#include <algorithm>
#include <array>
#include <utility>

namespace nnef_opencl {

namespace {

constexpr std::array<const char*, 2> kLibraries = {"libOpenCL.so.1", "libOpenCL.so"};

struct NamedStatus {
  cl_int status;
  const char* name;
};

#define NNEF_OPENCL_STATUS(name) \
  { name, #name }
constexpr NamedStatus kStatuses[] = {
    NNEF_OPENCL_STATUS(CL_DEVICE_NOT_FOUND),
    NNEF_OPENCL_STATUS(CL_DEVICE_NOT_AVAILABLE),
    NNEF_OPENCL_STATUS(CL_COMPILER_NOT_AVAILABLE),
    NNEF_OPENCL_STATUS(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NNEF_OPENCL_STATUS(CL_OUT_OF_RESOURCES),
    NNEF_OPENCL_STATUS(CL_OUT_OF_HOST_MEMORY),
    NNEF_OPENCL_STATUS(CL_PROFILING_INFO_NOT_AVAILABLE),
    NNEF_OPENCL_STATUS(CL_MEM_COPY_OVERLAP),
    NNEF_OPENCL_STATUS(CL_BUILD_PROGRAM_FAILURE),
    NNEF_OPENCL_STATUS(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    NNEF_OPENCL_STATUS(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NNEF_OPENCL_STATUS(CL_COMPILE_PROGRAM_FAILURE),
    NNEF_OPENCL_STATUS(CL_LINKER_NOT_AVAILABLE),
    NNEF_OPENCL_STATUS(CL_LINK_PROGRAM_FAILURE),
    NNEF_OPENCL_STATUS(CL_INVALID_VALUE),
    NNEF_OPENCL_STATUS(CL_INVALID_DEVICE_TYPE),
    NNEF_OPENCL_STATUS(CL_INVALID_PLATFORM),
    NNEF_OPENCL_STATUS(CL_INVALID_DEVICE),
    NNEF_OPENCL_STATUS(CL_INVALID_CONTEXT),
    NNEF_OPENCL_STATUS(CL_INVALID_QUEUE_PROPERTIES),
    NNEF_OPENCL_STATUS(CL_INVALID_COMMAND_QUEUE),
    NNEF_OPENCL_STATUS(CL_INVALID_HOST_PTR),
    NNEF_OPENCL_STATUS(CL_INVALID_MEM_OBJECT),
    NNEF_OPENCL_STATUS(CL_INVALID_BINARY),
    NNEF_OPENCL_STATUS(CL_INVALID_BUILD_OPTIONS),
    NNEF_OPENCL_STATUS(CL_INVALID_PROGRAM),
    NNEF_OPENCL_STATUS(CL_INVALID_PROGRAM_EXECUTABLE),
    NNEF_OPENCL_STATUS(CL_INVALID_KERNEL_NAME),
    NNEF_OPENCL_STATUS(CL_INVALID_KERNEL_DEFINITION),
    NNEF_OPENCL_STATUS(CL_INVALID_KERNEL),
    NNEF_OPENCL_STATUS(CL_INVALID_ARG_INDEX),
    NNEF_OPENCL_STATUS(CL_INVALID_ARG_VALUE),
    NNEF_OPENCL_STATUS(CL_INVALID_ARG_SIZE),
    NNEF_OPENCL_STATUS(CL_INVALID_KERNEL_ARGS),
    NNEF_OPENCL_STATUS(CL_INVALID_WORK_DIMENSION),
    NNEF_OPENCL_STATUS(CL_INVALID_WORK_GROUP_SIZE),
    NNEF_OPENCL_STATUS(CL_INVALID_WORK_ITEM_SIZE),
    NNEF_OPENCL_STATUS(CL_INVALID_GLOBAL_OFFSET),
    NNEF_OPENCL_STATUS(CL_INVALID_EVENT_WAIT_LIST),
    NNEF_OPENCL_STATUS(CL_INVALID_EVENT),
    NNEF_OPENCL_STATUS(CL_INVALID_OPERATION),
    NNEF_OPENCL_STATUS(CL_INVALID_BUFFER_SIZE),
    NNEF_OPENCL_STATUS(CL_INVALID_GLOBAL_WORK_SIZE),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};
#undef NNEF_OPENCL_STATUS

void* open_library(std::string& problem) {
  for (const char* name : kLibraries) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (problem.empty()) problem = dlerror();
  }
  return nullptr;
}

Api load() {
  Api api;
  void* library = open_library(api.problem);
  if (library == nullptr) return api;
  api.problem.clear();
#define NNEF_OPENCL_LOAD(name)                                                 \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, #name));      \
  if (api.name == nullptr && api.problem.empty()) {                            \
    api.problem = "libOpenCL has no " #name ": OpenCL 1.2 or later is needed"; \
  }
  NNEF_OPENCL_FUNCTIONS(NNEF_OPENCL_LOAD)
#undef NNEF_OPENCL_LOAD
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
  if (!loaded.problem.empty()) TVM_FFI_THROW(RuntimeError) << "no OpenCL: " << loaded.problem;
  return loaded;
}

std::string error_name(cl_int status) {
  const auto found = std::find_if(std::begin(kStatuses), std::end(kStatuses),
                                  [&](const NamedStatus& row) { return row.status == status; });
  const std::string name = found == std::end(kStatuses) ? "unknown error" : found->name;
  return name + " (" + std::to_string(status) + ")";
}

void check(cl_int status, const char* function) {
  if (status != CL_SUCCESS) {
    TVM_FFI_THROW(RuntimeError) << function << " failed: " << error_name(status);
  }
}

}  // namespace nnef_opencl
