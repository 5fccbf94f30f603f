#include "compile/kernels/kernel_call.h"

#include <cstring>
#include <utility>

namespace nnef_tvm {
namespace {

bool is(const ObjectRef& object, std::string_view key) {
  return object.defined() && object.GetTypeKey() == key;
}

bool is_tensor_type(const Type& type) { return is(type, "relax.TensorType"); }

bool is_known_tensor(const Type& type) {
  return is(field<ObjectRef>(type, "shape"), "relax.expr.ShapeExpr") &&
         field<ObjectRef>(type, "dtype").defined() &&
         field<DLDataType>(field<ObjectRef>(type, "dtype"), "dtype").bits != 0;
}

bool is_known(const Type& type) {
  if (is_tensor_type(type)) return is_known_tensor(type);
  if (!is(type, "ir.TupleType")) return true;
  for (const Type& item : field<Array<Type>>(type, "fields")) {
    if (!is_known(item)) return false;
  }
  return true;
}

te::Shape shape_of_type(const Type& type) {
  te::Shape shape;
  for (const PrimExpr& extent : field<Array<PrimExpr>>(field<ObjectRef>(type, "shape"), "values")) {
    shape.push_back(extent);
  }
  return shape;
}

DLDataType dtype_of_type(const Type& type) {
  return field<DLDataType>(field<ObjectRef>(type, "dtype"), "dtype");
}

Array<Type> item_types(const Type& type) {
  return is(type, "ir.TupleType") ? field<Array<Type>>(type, "fields") : Array<Type>{type};
}

int64_t to_integer(const Any& value) {
  const auto object = value.as<ObjectRef>();
  return object && is(*object, "ir.IntImm") ? field<int64_t>(*object, "value")
                                            : value.cast<int64_t>();
}

template <typename T>
T first_item(const ffi::Tensor& tensor) {
  T item;
  std::memcpy(&item, static_cast<const char*>(tensor.data_ptr()) + tensor.byte_offset(), sizeof(T));
  return item;
}

std::optional<PrimExpr> item_of(const ffi::Tensor& tensor) {
  const DLDataType type = tensor.dtype();
  if (type == float32) return float_imm(first_item<float>(tensor), type);
  if (type == DLDataType{kDLFloat, 64, 1}) return float_imm(first_item<double>(tensor), type);
  if (type == int32) return int_imm(first_item<int32_t>(tensor), type);
  if (type == int64) return int_imm(first_item<int64_t>(tensor), type);
  if (type == int8) return int_imm(first_item<int8_t>(tensor), type);
  if (type == boolean) return int_imm(first_item<uint8_t>(tensor) != 0, type);
  return std::nullopt;
}

}  // namespace

bool has_known_types(const Expr& call) {
  for (const Expr& arg : field<Array<Expr>>(call, "args")) {
    if (!is_known(type_of(arg))) return false;
  }
  return is_known(type_of(call));
}

size_t from_front(int64_t index, size_t rank) {
  return static_cast<size_t>(index < 0 ? index + static_cast<int64_t>(rank) : index);
}

KernelCall::KernelCall(ObjectRef builder, Expr call)
    : builder_(std::move(builder)),
      call_(std::move(call)),
      args_(field<Array<Expr>>(call_, "args")),
      attrs_(field<ObjectRef>(call_, "attrs")),
      types_(item_types(type_of(call_))) {}

bool KernelCall::is_tensor(size_t i) const { return is_tensor_type(type_of(args_[i])); }

te::Tensor KernelCall::input(size_t i) { return input(args_[i]); }

te::Tensor KernelCall::input(const Expr& tensor) {
  const Type type = type_of(tensor);
  const std::string name = "p" + std::to_string(inputs_.size());
  inputs_.push_back(te::placeholder(shape_of_type(type), dtype_of_type(type), name));
  input_exprs_.push_back(tensor);
  return inputs_.back();
}

std::vector<Expr> KernelCall::items(size_t i) {
  Expr tuple = args_[i];
  while (is(tuple, "ir.Var") || is(tuple, "relax.expr.DataflowVar")) {
    const auto bound = te::binding_of(builder_, tuple);
    if (!bound.has_value()) break;
    if (!is(*bound, "ir.Tuple") && !is(*bound, "ir.Var") && !is(*bound, "relax.expr.DataflowVar")) {
      break;
    }
    tuple = *bound;
  }
  if (is(tuple, "ir.Tuple")) {
    const auto fields = field<Array<Expr>>(tuple, "fields");
    return {fields.begin(), fields.end()};
  }
  std::vector<Expr> result;
  const size_t count = field<Array<Type>>(type_of(tuple), "fields").size();
  for (size_t k = 0; k < count; ++k) {
    result.push_back(te::emit(builder_, tuple_get_item(tuple, static_cast<int64_t>(k))));
  }
  return result;
}

std::optional<PrimExpr> KernelCall::constant_item(size_t i) const {
  if (!is(args_[i], "ir.GenericConst")) return std::nullopt;
  const auto tensor = field(args_[i], "value").as<ffi::Tensor>();
  if (!tensor || tensor->numel() != 1 || tensor->device().device_type != kDLCPU) {
    return std::nullopt;
  }
  return item_of(*tensor);
}

PrimExpr KernelCall::prim(size_t i) {
  numbers_.push_back(as<PrimExpr>(args_[i]));
  return numbers_.back();
}

std::vector<PrimExpr> KernelCall::prims(size_t i) {
  std::vector<PrimExpr> numbers;
  const char* list = is(args_[i], "relax.expr.ShapeExpr") ? "values" : "fields";
  for (const PrimExpr& number : field<Array<PrimExpr>>(args_[i], list)) numbers.push_back(number);
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
  return numbers;
}

bool KernelCall::has(const char* attribute) const { return field(attrs_, attribute) != nullptr; }

int64_t KernelCall::integer(const char* attribute) const {
  return to_integer(field(attrs_, attribute));
}

double KernelCall::real(const char* attribute) const {
  const Any value = field(attrs_, attribute);
  const auto object = value.as<ObjectRef>();
  return object && is(*object, "ir.FloatImm") ? field<double>(*object, "value")
                                              : value.cast<double>();
}

bool KernelCall::flag(const char* attribute) const { return integer(attribute) != 0; }

std::string KernelCall::text(const char* attribute) const {
  return field<String>(attrs_, attribute);
}

std::vector<int64_t> KernelCall::integers(const char* attribute) const {
  std::vector<int64_t> values;
  for (const Any& value : field<Array<Any>>(attrs_, attribute)) values.push_back(to_integer(value));
  return values;
}

ObjectRef KernelCall::object(const char* attribute) const {
  return field<ObjectRef>(attrs_, attribute);
}

std::vector<size_t> KernelCall::axes(const char* attribute, size_t rank) const {
  std::vector<size_t> axes;
  if (has(attribute)) {
    for (int64_t axis : integers(attribute)) axes.push_back(from_front(axis, rank));
  } else {
    for (size_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
  }
  return axes;
}

size_t KernelCall::axis(const char* attribute, size_t rank) const {
  return from_front(integer(attribute), rank);
}

te::Shape KernelCall::shape(size_t result) const { return shape_of_type(types_[result]); }

DLDataType KernelCall::dtype(size_t result) const { return dtype_of_type(types_[result]); }

std::string KernelCall::name() const {
  const std::string full = field<String>(field<ObjectRef>(call_, "op"), "name");
  return full.substr(full.rfind('.') + 1);
}

Expr KernelCall::finish(const std::string& name, const std::vector<te::Tensor>& results) {
  return finish_as(name, results, types_);
}

Expr KernelCall::finish_item(const std::string& name, const te::Tensor& value, size_t result) {
  const Expr item = te::emit(builder_, finish_as(name, {value}, {types_[result]}));
  inputs_.clear();
  input_exprs_ = {};
  return item;
}

Expr KernelCall::finish_as(const std::string& name, const std::vector<te::Tensor>& results,
                           const Array<Type>& types) {
  const Array<ObjectRef> variables = te::unbound_variables(inputs_, results, numbers_);
  Array<ObjectRef> parameters;
  Array<Expr> args = input_exprs_;
  for (const te::Tensor& input : inputs_) parameters.push_back(input.handle());
  for (const ObjectRef& variable : variables) {
    parameters.push_back(variable);
    args.push_back(as<Expr>(variable));
  }
  for (const te::Tensor& result : results) parameters.push_back(result.handle());
  return te::call_kernel(builder_, te::prim_func(parameters), name, args, types);
}

}  // namespace nnef_tvm
