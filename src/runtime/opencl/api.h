// OpenCL's functions, from a libOpenCL that is looked for when the first of them is needed: the
// plug-in loads where there is none, and can say so.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <string>

namespace nnef_opencl {

#define NNEF_OPENCL_FUNCTIONS(X) \
  X(clBuildProgram)              \
  X(clCreateBuffer)              \
  X(clCreateCommandQueue)        \
  X(clCreateContext)             \
  X(clCreateKernel)              \
  X(clCreateProgramWithBinary)   \
  X(clCreateProgramWithSource)   \
  X(clEnqueueCopyBuffer)         \
  X(clEnqueueMarkerWithWaitList) \
  X(clEnqueueNDRangeKernel)      \
  X(clEnqueueReadBuffer)         \
  X(clEnqueueWriteBuffer)        \
  X(clFinish)                    \
  X(clFlush)                     \
  X(clGetDeviceIDs)              \
  X(clGetDeviceInfo)             \
  X(clGetEventProfilingInfo)     \
  X(clGetPlatformIDs)            \
  X(clGetPlatformInfo)           \
  X(clGetProgramBuildInfo)       \
  X(clGetProgramInfo)            \
  X(clReleaseEvent)              \
  X(clReleaseKernel)             \
  X(clReleaseMemObject)          \
  X(clReleaseProgram)            \
  X(clSetKernelArg)              \
  X(clWaitForEvents)

struct Api {
#define NNEF_OPENCL_MEMBER(name) decltype(&::name) name = nullptr;
  NNEF_OPENCL_FUNCTIONS(NNEF_OPENCL_MEMBER)
#undef NNEF_OPENCL_MEMBER
  std::string problem;  ///< why there is no OpenCL; empty when there is
};

/// The functions of this process's libOpenCL; none of them when `problem` is set.
const Api& api_or_problem();
/// The same. Throws tvm::ffi::Error when there is no OpenCL.
const Api& api();

/// "CL_OUT_OF_RESOURCES (-5)"
std::string error_name(cl_int status);
/// Throws tvm::ffi::Error, naming the function, unless the status is CL_SUCCESS.
void check(cl_int status, const char* function);

}  // namespace nnef_opencl
