#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "nnef_runtime/session.h"
#include "runtime/artefact_format.h"

namespace nnef_runtime {

namespace {

namespace ffi = ::tvm::ffi;

constexpr DLDevice kCpu{kDLCPU, 0};

struct AlignedMemory {
  void AllocData(DLTensor* tensor) {
    uint64_t bytes = ffi::GetDataSize(*tensor);
    if (bytes > std::numeric_limits<uint64_t>::max() - kWeightAlignment) throw std::bad_alloc();
    // Never empty, so that even a tensor without items has an address.
    uint64_t rounded = (bytes / kWeightAlignment + 1) * kWeightAlignment;
    tensor->data = std::aligned_alloc(kWeightAlignment, rounded);
    if (tensor->data == nullptr) throw std::bad_alloc();
  }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

struct SharedMemory {
  std::shared_ptr<const void> owner;
  void* data;
  void AllocData(DLTensor* tensor) { tensor->data = data; }
  void FreeData(DLTensor*) { owner.reset(); }
};

}  // namespace

ffi::Tensor allocate(DLDataType dtype, const std::vector<int64_t>& shape) {
  return ffi::Tensor::FromNDAlloc(AlignedMemory(), ffi::ShapeView(shape.data(), shape.size()),
                                  dtype, kCpu);
}

ffi::Tensor view(const void* data, DLDataType dtype, const std::vector<int64_t>& shape,
                 std::shared_ptr<const void> owner) {
  if (reinterpret_cast<uintptr_t>(data) % kWeightAlignment == 0) {
    return ffi::Tensor::FromNDAlloc(SharedMemory{std::move(owner), const_cast<void*>(data)},
                                    ffi::ShapeView(shape.data(), shape.size()), dtype, kCpu);
  }
  ffi::Tensor copy = allocate(dtype, shape);
  std::memcpy(copy.data_ptr(), data, ffi::GetDataSize(*copy.GetDLTensorPtr()));
  return copy;
}

}  // namespace nnef_runtime
