#include "runtime/opencl/program.h"

#include <tvm/ffi/error.h>

#include "runtime/plugin/file_cache.h"

namespace nnef_opencl {

namespace {

constexpr const char* kOptions = "";
constexpr size_t kMaxLogBytes = 4000;

/// Everything that a driver's binary depends on.
std::string cache_key(const Properties& properties, const std::string& source) {
  std::string key;
  for (const std::string& part :
       {properties.name, properties.vendor, properties.version, properties.driver,
        properties.platform, properties.platform_version, std::string(kOptions)}) {
    key += part + "\n";
  }
  return key + source;
}

const nnef_plugin::FileCache& cache() {
  static const nnef_plugin::FileCache cache("opencl");
  return cache;
}

}  // namespace

Program::Program(Device& device, const std::string& source) : device_(device) {
  const std::string key = cache_key(device.properties(), source);
  if (const auto binary = cache().find(key); binary && build_from_binary(*binary)) return;
  build_from_source(source);
  if (const std::string made = binary(); !made.empty()) cache().store(key, made);
}

Program::~Program() {
  for (const auto& [name, kernel] : kernels_) api().clReleaseKernel(kernel);
  if (program_ != nullptr) api().clReleaseProgram(program_);
}

bool Program::build_from_binary(const std::string& binary) {
  const cl_device_id id = device_.id();
  const size_t bytes = binary.size();
  const auto* data = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int loaded = CL_SUCCESS;
  cl_int status = CL_SUCCESS;
  program_ =
      api().clCreateProgramWithBinary(device_.context(), 1, &id, &bytes, &data, &loaded, &status);
  if (status == CL_SUCCESS && loaded == CL_SUCCESS &&
      api().clBuildProgram(program_, 1, &id, kOptions, nullptr, nullptr) == CL_SUCCESS) {
    return true;
  }
  // Of another build of the driver: the source it is.
  if (status == CL_SUCCESS) api().clReleaseProgram(program_);
  program_ = nullptr;
  return false;
}

void Program::build_from_source(const std::string& source) {
  const char* text = source.c_str();
  const size_t bytes = source.size();
  const cl_device_id id = device_.id();
  cl_int status = CL_SUCCESS;
  program_ = api().clCreateProgramWithSource(device_.context(), 1, &text, &bytes, &status);
  check(status, "clCreateProgramWithSource");
  status = api().clBuildProgram(program_, 1, &id, kOptions, nullptr, nullptr);
  if (status != CL_SUCCESS) {
    const std::string log = build_log();
    api().clReleaseProgram(program_);
    program_ = nullptr;
    TVM_FFI_THROW(RuntimeError) << "clBuildProgram failed on " << device_.properties().name << ": "
                                << error_name(status) << "; the log: " << log;
  }
}

std::string Program::build_log() const {
  size_t bytes = 0;
  api().clGetProgramBuildInfo(program_, device_.id(), CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string log(bytes, '\0');
  api().clGetProgramBuildInfo(program_, device_.id(), CL_PROGRAM_BUILD_LOG, bytes, log.data(),
                              nullptr);
  log = log.c_str();
  if (log.size() > kMaxLogBytes) log.resize(kMaxLogBytes);
  return log;
}

/// Empty when the driver has none.
std::string Program::binary() const {
  size_t bytes = 0;
  if (api().clGetProgramInfo(program_, CL_PROGRAM_BINARY_SIZES, sizeof(bytes), &bytes, nullptr) !=
      CL_SUCCESS) {
    return "";
  }
  std::string binary(bytes, '\0');
  auto* data = reinterpret_cast<unsigned char*>(binary.data());
  if (bytes == 0 || api().clGetProgramInfo(program_, CL_PROGRAM_BINARIES, sizeof(data), &data,
                                           nullptr) != CL_SUCCESS) {
    return "";
  }
  return binary;
}

cl_kernel Program::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = kernels_.find(name);
  if (found != kernels_.end()) return found->second;
  cl_int status = CL_SUCCESS;
  cl_kernel kernel = api().clCreateKernel(program_, name.c_str(), &status);
  if (status != CL_SUCCESS) {
    TVM_FFI_THROW(RuntimeError) << "clCreateKernel failed for '" << name
                                << "': " << error_name(status);
  }
  kernels_.emplace(name, kernel);
  return kernel;
}

}  // namespace nnef_opencl
