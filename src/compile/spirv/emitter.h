// Kernels of TIR as SPIR-V.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "compile/spirv/builder.h"
#include "tvm/object.h"

namespace nnef_tvm::spirv {

/// A value in the function's code.
struct Value {
  Id id = 0;
  DLDataType type{};
};

/// Items in memory.
struct Memory {
  Id variable = 0;
  spv::StorageClass storage{};
  DLDataType item{};      ///< as code sees it; those of local memory may be vectors
  DLDataType stored{};    ///< as memory holds it: booleans are bytes in buffers
  bool is_block = false;  ///< a buffer: the items are the first member of a structure
};

/// One kernel: handles become storage buffers of set 0, in order; what is passed by value becomes
/// push constants, in slots of 8 bytes. Where the grid's x may be more than devices take, groups
/// are numbered x + z * (number of groups in x). Throws tvm::ffi::Error for what it has no code.
class Emitter {
 public:
  Words kernel(const std::string& name, const Expr& function);

 private:
  struct ExprRow;
  struct StmtRow;
  static const std::map<std::string_view, Value (Emitter::*)(const ObjectRef&)>& expressions();
  static const std::map<std::string_view, Value (Emitter::*)(const ObjectRef&)>& calls();
  static const std::map<std::string_view, void (Emitter::*)(const ObjectRef&)>& statements();

  // Parameters.
  void declare_parameters(const Array<Var>& parameters);
  void declare_buffer(const Var& parameter, DLDataType item, uint32_t binding);
  void declare_push_constants(const std::vector<Var>& scalars);

  // Statements.
  void statement(const ObjectRef& node);
  void sequence(const ObjectRef& node);
  void declare(const ObjectRef& node);
  void allocate(const ObjectRef& node);
  void attribute(const ObjectRef& node);
  void thread_extent(const std::string& tag, const Var& variable, const PrimExpr& extent);
  Value group_index(const PrimExpr& extent, size_t axis);
  void loop(const ObjectRef& node);
  void branch(const ObjectRef& node);
  void bind(const ObjectRef& node);
  void store(const ObjectRef& node);
  void evaluate(const ObjectRef& node);

  // Expressions.
  Value expression(const ObjectRef& node);
  Value variable(const ObjectRef& node);
  Value integer(const ObjectRef& node);
  Value real(const ObjectRef& node);
  Value binary(const ObjectRef& node);
  Value comparison(const ObjectRef& node);
  Value extreme(const ObjectRef& node);
  Value negation(const ObjectRef& node);
  Value complement(const ObjectRef& node);
  Value selection(const ObjectRef& node);
  Value conversion(const ObjectRef& node);
  Value let(const ObjectRef& node);
  Value ramp(const ObjectRef& node);
  Value broadcast(const ObjectRef& node);
  Value shuffle(const ObjectRef& node);
  Value load(const ObjectRef& node);
  Value call(const ObjectRef& node);

  // Calls, by the name of what is called.
  Value conditional(const ObjectRef& node);
  Value reinterpretation(const ObjectRef& node);
  Value first_argument(const ObjectRef& node);
  Value named_function(const ObjectRef& node);
  Value remainder(const Value& a, const Value& b);
  Value barrier(const ObjectRef& node);

  // Helpers.
  Value op(spv::Op op, DLDataType type, const std::vector<Value>& operands);
  Value select(const Value& condition, const Value& a, const Value& b);
  Value converted(const Value& value, DLDataType type);
  Value resized(const Value& value, DLDataType type);
  Value number(double value, DLDataType type);
  Value lane(const Value& vector, uint32_t index);
  Value joined(const std::vector<Value>& lanes);
  Id pointer(const Memory& memory, const Value& index);
  Value load_item(const Memory& memory, const Value& index);
  void store_item(const Memory& memory, const Value& index, const Value& item);
  const Memory& memory_of(const ObjectRef& buffer);
  Id builtin(spv::BuiltIn builtin);
  Value builtin_component(spv::BuiltIn builtin, uint32_t axis);

  Builder builder_;
  Words interface_;
  std::map<const ffi::Object*, Value> values_;
  std::map<const ffi::Object*, Memory> memory_;
  std::map<spv::BuiltIn, Id> builtins_;
  std::array<uint32_t, 3> local_size_{1, 1, 1};
  /// Whether arithmetic is done as written: functions of bits and steps need each rounding.
  bool exact_ = false;
};

}  // namespace nnef_tvm::spirv
