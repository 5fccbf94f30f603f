// TVM's IR nodes: types, constants, variables, tuples, functions; and how to look into and print
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

// Item types.
inline constexpr DLDataType float32{kDLFloat, 32, 1};
inline constexpr DLDataType float64{kDLFloat, 64, 1};
inline constexpr DLDataType int8{kDLInt, 8, 1};
inline constexpr DLDataType int32{kDLInt, 32, 1};
inline constexpr DLDataType int64{kDLInt, 64, 1};
inline constexpr DLDataType boolean{kDLBool, 8, 1};

// Types.
Type prim_type(DLDataType dtype);
Type tensor_type(std::span<const int64_t> shape, DLDataType dtype);
/// Extents that may have symbols.
using Extents = std::vector<PrimExpr>;
Type tensor_type(const Extents& shape, DLDataType dtype);
Type tuple_type(Array<Type> fields);

// Compile-time numbers: arguments of Relax operators, extents.
PrimExpr int_imm(int64_t value, DLDataType dtype = int64);
PrimExpr float_imm(double value, DLDataType dtype = float32);
/// IntImm or FloatImm, whichever `dtype` asks for.
PrimExpr prim_const(double value, DLDataType dtype);

// Expressions.
Expr shape_expr(std::span<const int64_t> extents);
Expr shape_expr(const Extents& extents);
Var var(const std::string& name, Type type);
GlobalVar global_var(const std::string& name);
Expr tuple(Array<Expr> fields);
Expr tuple_get_item(Expr tuple, int64_t index);
/// A call of another function of the module.
Expr call_function(const GlobalVar& function, const Array<Expr>& args, const Type& result);
/// A tuple of compile-time integers, as the operators on slices take them.
Expr prim_tuple(std::span<const int64_t> values);
Expr prim_tuple(const Extents& values);
/// Shares the tensor's memory.
Expr constant(ffi::Tensor value);
/// Of rank 0.
Expr constant(double value, DLDataType dtype);
/// Of rank 0 and type int32 or int64, exact.
Expr integer_constant(int64_t value, DLDataType dtype);
/// An array of the given shape, from values in row-major order.
Expr constant(std::span<const double> values, std::span<const int64_t> shape, DLDataType dtype);

// Functions and modules.
ObjectRef dict_attrs(Map<String, Any> entries);
Function relax_function(Array<Var> params, Expr body, ObjectRef attrs);
Expr seq_expr(Array<ObjectRef> blocks, Expr body);

/// An uninitialised tensor in host memory.
ffi::Tensor empty_tensor(std::span<const int64_t> shape, DLDataType dtype);
/// A tensor over memory that someone else owns; `owner` is released with the tensor.
ffi::Tensor view_tensor(const void* data, std::span<const int64_t> shape, DLDataType dtype,
                        std::shared_ptr<const void> owner);

/// The type of an expression that a BlockBuilder normalised.
Type type_of(const Expr& expr);
/// The static extents of a tensor expression that a BlockBuilder normalised.
std::vector<int64_t> shape_of(const Expr& expr);
/// The extents of one whose shape is known, but for the values of symbols.
Extents extents_of(const Expr& expr);
DLDataType dtype_of(const Expr& expr);

/// TVMScript of a module or function. With `metadata`, constants are written out, so that the text
/// parses back.
std::string script(const ObjectRef& object, bool metadata = false);

}  // namespace nnef_tvm
