#include "tvm/ir.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <tvm/ffi/dtype.h>

namespace nnef_tvm {
namespace {

constexpr size_t alignment = 64;

/// Host memory for a tensor of its own.
struct HostAllocator {
  void AllocData(DLTensor* tensor) {
    const size_t bytes = ffi::GetDataSize(*tensor);
    tensor->data = std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    if (tensor->data == nullptr) throw std::bad_alloc();
  }
  void FreeData(DLTensor* tensor) { std::free(tensor->data); }
};

/// A view of memory kept alive by `owner`.
struct ViewAllocator {
  const void* data;
  std::shared_ptr<const void> owner;

  void AllocData(DLTensor* tensor) { tensor->data = const_cast<void*>(data); }
  void FreeData(DLTensor*) { owner.reset(); }
};

template <typename T>
void store(ffi::Tensor& tensor, std::span<const double> values) {
  auto* items = static_cast<T*>(tensor.data_ptr());
  for (size_t i = 0; i < values.size(); ++i) items[i] = static_cast<T>(values[i]);
}

}  // namespace

Type prim_type(DLDataType dtype) { return call<Type>("ir.PrimType", dtype); }

Type tensor_type(std::span<const int64_t> shape, DLDataType dtype) {
  return call<Type>("relax.TensorType", shape_expr(shape), prim_type(dtype), -1, nullptr, nullptr);
}

Type tensor_type(const Extents& shape, DLDataType dtype) {
  return call<Type>("relax.TensorType", shape_expr(shape), prim_type(dtype), -1, nullptr, nullptr);
}

Type tuple_type(Array<Type> fields) { return call<Type>("ir.TupleType", fields, nullptr); }

PrimExpr int_imm(int64_t value, DLDataType dtype) {
  return call<PrimExpr>("ir.IntImm", dtype, value, nullptr);
}

/// Rounded here: TVM refuses what rounds to the largest float32 from above.
PrimExpr float_imm(double value, DLDataType dtype) {
  if (dtype == float32) value = static_cast<float>(value);
  return call<PrimExpr>("ir.FloatImm", dtype, value, nullptr);
}

PrimExpr prim_const(double value, DLDataType dtype) {
  return dtype.code == kDLFloat ? float_imm(value, dtype)
                                : int_imm(static_cast<int64_t>(value), dtype);
}

namespace {
Array<Expr> int_imms(std::span<const int64_t> values) {
  Array<Expr> items;
  for (int64_t value : values) items.push_back(int_imm(value));
  return items;
}
}  // namespace

Expr shape_expr(std::span<const int64_t> extents) {
  return call<Expr>("relax.ShapeExpr", int_imms(extents), nullptr);
}

Expr shape_expr(const Extents& extents) {
  return call<Expr>("relax.ShapeExpr", Array<Expr>(extents.begin(), extents.end()), nullptr);
}

Var var(const std::string& name, Type type) { return call<Var>("ir.Var", name, type, nullptr); }

GlobalVar global_var(const std::string& name) { return call<GlobalVar>("ir.GlobalVar", name); }

Expr tuple(Array<Expr> fields) { return call<Expr>("ir.Tuple", fields, nullptr); }

Expr tuple_get_item(Expr tuple, int64_t index) {
  return call<Expr>("ir.TupleGetItem", tuple, index, nullptr);
}

Expr call_function(const GlobalVar& function, const Array<Expr>& args, const Type& result) {
  return call<Expr>("ir.Call", result, function, args, nullptr, Array<Type>(), nullptr);
}

Expr prim_tuple(std::span<const int64_t> values) { return tuple(int_imms(values)); }

Expr prim_tuple(const Extents& values) { return tuple(Array<Expr>(values.begin(), values.end())); }

Expr constant(ffi::Tensor value) {
  return call<Expr>("relax.MakeTensorConst", value, nullptr, nullptr);
}

Expr constant(double value, DLDataType dtype) {
  return constant(std::span(&value, 1), std::span<const int64_t>(), dtype);
}

Expr integer_constant(int64_t value, DLDataType dtype) {
  ffi::Tensor tensor = empty_tensor({}, dtype);
  if (dtype == int64) {
    *static_cast<int64_t*>(tensor.data_ptr()) = value;
  } else {
    *static_cast<int32_t*>(tensor.data_ptr()) = static_cast<int32_t>(value);
  }
  return constant(tensor);
}

Expr constant(std::span<const double> values, std::span<const int64_t> shape, DLDataType dtype) {
  ffi::Tensor tensor = empty_tensor(shape, dtype);
  if (dtype == float32) {
    store<float>(tensor, values);
  } else if (dtype == float64) {
    store<double>(tensor, values);
  } else if (dtype == int32) {
    store<int32_t>(tensor, values);
  } else if (dtype == int64) {
    store<int64_t>(tensor, values);
  } else if (dtype == boolean) {
    store<bool>(tensor, values);
  } else {
    TVM_FFI_THROW(TypeError) << "no constants of type " << ffi::DLDataTypeToString(dtype);
  }
  return constant(tensor);
}

ObjectRef dict_attrs(Map<String, Any> entries) {
  return call<ObjectRef>("ffi.MakeObjectFromPackedArgs", "ir.DictAttrs", "__dict__", entries);
}

Function relax_function(Array<Var> params, Expr body, ObjectRef attrs) {
  return call<Function>("relax.Function", params, body, nullptr, true, attrs, nullptr);
}

Expr seq_expr(Array<ObjectRef> blocks, Expr body) {
  return call<Expr>("relax.SeqExpr", blocks, body, nullptr);
}

ffi::Tensor empty_tensor(std::span<const int64_t> shape, DLDataType dtype) {
  return ffi::Tensor::FromNDAlloc(HostAllocator{}, ffi::ShapeView(shape.data(), shape.size()),
                                  dtype, DLDevice{kDLCPU, 0});
}

ffi::Tensor view_tensor(const void* data, std::span<const int64_t> shape, DLDataType dtype,
                        std::shared_ptr<const void> owner) {
  return ffi::Tensor::FromNDAlloc(ViewAllocator{data, std::move(owner)},
                                  ffi::ShapeView(shape.data(), shape.size()), dtype,
                                  DLDevice{kDLCPU, 0});
}

Type type_of(const Expr& expr) { return field<Type>(expr, "ty"); }

Extents extents_of(const Expr& expr) {
  const auto shape = field<ObjectRef>(type_of(expr), "shape");
  const auto values = field<Array<PrimExpr>>(shape, "values");
  return {values.begin(), values.end()};
}

std::vector<int64_t> shape_of(const Expr& expr) {
  const auto shape = field<ObjectRef>(type_of(expr), "shape");
  std::vector<int64_t> extents;
  for (const Expr& extent : field<Array<Expr>>(shape, "values")) {
    extents.push_back(field<int64_t>(extent, "value"));
  }
  return extents;
}

DLDataType dtype_of(const Expr& expr) {
  return field<DLDataType>(field<ObjectRef>(type_of(expr), "dtype"), "dtype");
}

std::string script(const ObjectRef& object, bool metadata) {
  Map<String, Any> config;
  config.Set("show_meta", metadata);
  return call<std::string>("node.TVMScriptPrinterScript", object,
                           call<ObjectRef>("node.PrinterConfig", config));
}

}  // namespace nnef_tvm
