// One Relax call on its way to a kernel: its arguments as tensors of a tensor expression, its
// attributes, its result.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compile/kernels/kernels.h"
#include "tvm/te.h"

namespace nnef_tvm {

class KernelCall {
 public:
  KernelCall(ObjectRef builder, Expr call);

  // Arguments.
  size_t arity() const { return args_.size(); }
  Expr arg(size_t i) const { return args_[i]; }
  /// Whether the argument is a tensor (not a shape, a tuple or a compile-time number).
  bool is_tensor(size_t i) const;
  /// Makes the tensor a parameter of the kernel. Each call makes one more parameter.
  te::Tensor input(size_t i);
  te::Tensor input(const Expr& tensor);
  /// The items of a tuple argument.
  std::vector<Expr> items(size_t i);
  /// The value of a constant tensor with one item.
  std::optional<PrimExpr> constant_item(size_t i) const;
  /// A compile-time number, or a symbolic one.
  PrimExpr prim(size_t i);
  /// The numbers of a tuple or shape argument.
  std::vector<PrimExpr> prims(size_t i);

  // Attributes.
  bool has(const char* attribute) const;  ///< whether it is set
  int64_t integer(const char* attribute) const;
  double real(const char* attribute) const;
  bool flag(const char* attribute) const;
  std::string text(const char* attribute) const;
  std::vector<int64_t> integers(const char* attribute) const;
  ObjectRef object(const char* attribute) const;
  /// Axes counted from the front; an attribute that is not set means all of them.
  std::vector<size_t> axes(const char* attribute, size_t rank) const;
  size_t axis(const char* attribute, size_t rank) const;

  // The result.
  te::Shape shape(size_t result = 0) const;
  DLDataType dtype(size_t result = 0) const;
  size_t results() const { return types_.size(); }

  /// The operator without its namespace: "conv2d".
  std::string name() const;
  /// The call unchanged: no kernel for it.
  const Expr& unchanged() const { return call_; }
  /// A call of the kernel that computes `results` from the inputs, in place of this call.
  Expr finish(const std::string& name, const std::vector<te::Tensor>& results);
  Expr finish(const te::Tensor& result) { return finish(name(), {result}); }
  /// The same for one item of the tuple that this call returns, bound to a variable.
  Expr finish_item(const std::string& name, const te::Tensor& value, size_t result);

 private:
  Expr finish_as(const std::string& name, const std::vector<te::Tensor>& results,
                 const Array<Type>& types);

  ObjectRef builder_;
  Expr call_;
  Array<Expr> args_;
  ObjectRef attrs_;
  Array<Type> types_;  ///< of the results
  std::vector<te::Tensor> inputs_;
  Array<Expr> input_exprs_;
  std::vector<PrimExpr> numbers_;  ///< symbolic numbers that the kernel may use
};

/// Whether types are known well enough for a kernel: the rank, extents and item types of all
/// tensors.
bool has_known_types(const Expr& call);

/// `index` counted from the front.
size_t from_front(int64_t index, size_t rank);

}  // namespace nnef_tvm
