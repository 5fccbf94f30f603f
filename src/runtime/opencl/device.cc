#include "runtime/opencl/device.h"

#include <tvm/ffi/error.h>

#include <algorithm>
#include <sstream>

#include "runtime/plugin/devices.h"

namespace nnef_opencl {

namespace {

std::string platform_text(cl_platform_id platform, cl_platform_info what) {
  size_t bytes = 0;
  if (api().clGetPlatformInfo(platform, what, 0, nullptr, &bytes) != CL_SUCCESS) return "";
  std::string text(bytes, '\0');
  if (api().clGetPlatformInfo(platform, what, bytes, text.data(), nullptr) != CL_SUCCESS) return "";
  return text.c_str();
}

std::string device_text(cl_device_id device, cl_device_info what) {
  size_t bytes = 0;
  if (api().clGetDeviceInfo(device, what, 0, nullptr, &bytes) != CL_SUCCESS) return "";
  std::string text(bytes, '\0');
  if (api().clGetDeviceInfo(device, what, bytes, text.data(), nullptr) != CL_SUCCESS) return "";
  return text.c_str();
}

template <typename Value>
Value device_value(cl_device_id device, cl_device_info what) {
  Value value{};
  check(api().clGetDeviceInfo(device, what, sizeof(value), &value, nullptr), "clGetDeviceInfo");
  return value;
}

std::vector<size_t> max_item_sizes(cl_device_id device) {
  std::vector<size_t> sizes(device_value<cl_uint>(device, CL_DEVICE_MAX_WORK_ITEM_DIMENSIONS));
  check(api().clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizes.size() * sizeof(size_t),
                              sizes.data(), nullptr),
        "clGetDeviceInfo");
  return sizes;
}

Properties read_properties(cl_platform_id platform, cl_device_id device) {
  Properties read;
  read.name = device_text(device, CL_DEVICE_NAME);
  read.vendor = device_text(device, CL_DEVICE_VENDOR);
  read.version = device_text(device, CL_DEVICE_VERSION);
  read.driver = device_text(device, CL_DRIVER_VERSION);
  read.platform = platform_text(platform, CL_PLATFORM_NAME);
  read.platform_version = platform_text(platform, CL_PLATFORM_VERSION);
  read.extensions = device_text(device, CL_DEVICE_EXTENSIONS);
  read.type = device_value<cl_device_type>(device, CL_DEVICE_TYPE);
  read.max_group = device_value<size_t>(device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  read.local_bytes = device_value<cl_ulong>(device, CL_DEVICE_LOCAL_MEM_SIZE);
  read.local_is_fast =
      device_value<cl_device_local_mem_type>(device, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
  read.global_bytes = device_value<cl_ulong>(device, CL_DEVICE_GLOBAL_MEM_SIZE);
  read.compute_units = device_value<cl_uint>(device, CL_DEVICE_MAX_COMPUTE_UNITS);
  read.vector_floats = device_value<cl_uint>(device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  read.max_items = max_item_sizes(device);
  return read;
}

std::vector<cl_platform_id> platforms() {
  cl_uint count = 0;
  const cl_int status = api().clGetPlatformIDs(0, nullptr, &count);
  if (status != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> found(count);
  check(api().clGetPlatformIDs(count, found.data(), nullptr), "clGetPlatformIDs");
  return found;
}

void add_devices(cl_platform_id platform, std::vector<Device*>& found) {
  cl_uint count = 0;
  const cl_int status = api().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count);
  if (status != CL_SUCCESS || count == 0) return;
  std::vector<cl_device_id> ids(count);
  check(api().clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr),
        "clGetDeviceIDs");
  for (cl_device_id id : ids) {
    if (device_value<cl_bool>(id, CL_DEVICE_AVAILABLE) == CL_FALSE ||
        device_value<cl_bool>(id, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) {
      continue;
    }
    found.push_back(new Device(platform, id));
  }
}

int rank(const Device* device) {
  const cl_device_type type = device->properties().type;
  if ((type & CL_DEVICE_TYPE_GPU) != 0) return 0;
  return (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 1 : 2;
}

struct Found {
  std::vector<Device*> devices;
  std::string problem;
};

Found find_devices() {
  Found found;
  found.problem = api_or_problem().problem;
  if (!found.problem.empty()) return found;
  const std::vector<cl_platform_id> all = platforms();
  for (cl_platform_id platform : all) add_devices(platform, found.devices);
  std::stable_sort(found.devices.begin(), found.devices.end(),
                   [](const Device* a, const Device* b) { return rank(a) < rank(b); });
  if (all.empty()) {
    found.problem = "libOpenCL is there, but no driver (platform)";
  } else if (found.devices.empty()) {
    found.problem = "no driver has a usable device";
  }
  return found;
}

const Found& found_devices() {
  // Never destroyed, like the functions in api().
  static const Found& found = *new Found(find_devices());
  return found;
}

}  // namespace

bool Properties::has_extension(const std::string& extension) const {
  std::istringstream words(extensions);
  for (std::string word; words >> word;) {
    if (word == extension) return true;
  }
  return false;
}

Device::Device(cl_platform_id platform, cl_device_id id)
    : platform_(platform), id_(id), properties_(read_properties(platform, id)) {}

void Device::start() {
  std::call_once(started_, [this] {
    const cl_context_properties properties[] = {
        CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform_), 0};
    cl_int status = CL_SUCCESS;
    context_ = api().clCreateContext(properties, 1, &id_, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    queue_ = api().clCreateCommandQueue(context_, id_, CL_QUEUE_PROFILING_ENABLE, &status);
    check(status, "clCreateCommandQueue");
  });
}

cl_context Device::context() {
  start();
  return context_;
}

cl_command_queue Device::queue() {
  start();
  return queue_;
}

const std::vector<Device*>& devices() { return found_devices().devices; }
const std::string& devices_problem() { return found_devices().problem; }

Device& device(int index) {
  return nnef_plugin::device_at(devices(), index, "OpenCL", devices_problem());
}

}  // namespace nnef_opencl
