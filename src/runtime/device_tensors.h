// Tensors in the memory of devices. Need libtvm_runtime and the device's plug-in; throw
// tvm::ffi::Error.
#pragma once

#include <tvm/ffi/container/tensor.h>

#include "nnef_runtime/devices.h"

namespace nnef_runtime {

/// The device as DLPack names it.
DLDevice dl_device(const DeviceInfo& device);

/// A new tensor with the items of one in the CPU's memory.
::tvm::ffi::Tensor copy_to_device(const ::tvm::ffi::Tensor& host, DLDevice device);
/// The same into a tensor of the same shape and type.
void copy_to_device(const ::tvm::ffi::Tensor& host, const ::tvm::ffi::Tensor& on_device);
/// A new tensor in the CPU's memory; waits until the items are there.
::tvm::ffi::Tensor copy_to_host(const ::tvm::ffi::Tensor& on_device);

}  // namespace nnef_runtime
