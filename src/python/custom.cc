#include "python/custom.h"

#include <fmt/format.h>
#include <tvm/ffi/dtype.h>

#include <map>

#include "nnef/custom.h"
#include "relax/lowering.h"
#include "runtime/error_text.h"

namespace nnef_tvm::python {
namespace {

using nnef::RuleContext;

/// A literal, or a list of them; `tensor` converts what is a tensor.
template <typename Convert>
Any converted(const nnef::Value& value, const Convert& tensor) {
  const auto list = [&](const std::vector<nnef::Value>& items) {
    Array<Any> result;
    for (const nnef::Value& item : items) result.push_back(converted(item, tensor));
    return Any(result);
  };
  if (const auto* array = value.get<nnef::Array>()) return list(array->items);
  if (const auto* tuple = value.get<nnef::Tuple>()) return list(tuple->items);
  if (const auto* logical = value.get<bool>()) return *logical;
  if (const auto* integer = value.get<int64_t>()) return *integer;
  if (const auto* scalar = value.get<double>()) return *scalar;
  if (const auto* text = value.get<std::string>()) return String(*text);
  if (value.get<nnef::TensorRef>() != nullptr) return tensor(value);
  return nullptr;
}

template <typename Convert>
Map<String, Any> converted(const std::vector<nnef::Argument>& arguments, const Convert& tensor) {
  Map<String, Any> result;
  for (const auto& argument : arguments)
    result.Set(argument.name, converted(argument.value, tensor));
  return result;
}

/// Numbers, and texts of extents that have symbols.
Array<Any> extents(const nnef::Shape& shape) {
  Array<Any> items;
  for (const nnef::Dim& dim : shape) {
    items.push_back(dim.known() ? Any(dim.value()) : Any(nnef::to_string(dim)));
  }
  return items;
}

/// What Python sees of an operation, but for its results.
template <typename Convert>
Map<String, Any> describe(const nnef::OpView& operation, const Convert& tensor) {
  return {{"name", String(std::string(operation.name()))},
          {"inputs", converted(operation.operation().inputs, tensor)},
          {"attributes", converted(operation.operation().attributes, tensor)}};
}

Map<String, Any> describe(const LoweringContext& operation) {
  Map<String, Any> entry =
      describe(operation, [&](const nnef::Value& value) { return Any(operation.item(value)); });
  Array<Any> outputs;
  nnef::each_tensor(operation.operation().outputs, [&](nnef::TensorRef ref) {
    const nnef::Tensor& tensor = operation.graph()[ref];
    outputs.push_back(
        Map<String, Any>{{"name", tensor.name},
                         {"dtype", ffi::DLDataTypeToString(operation.computed(tensor.dtype))},
                         {"shape", extents(*tensor.shape)}});
  });
  entry.Set("outputs", outputs);
  return entry;
}

std::vector<Expr> expressions(const Any& result) {
  std::vector<Expr> list;
  if (const auto many = result.as<Array<Any>>()) {
    for (const Any& item : *many) list.push_back(item.cast<Expr>());
  } else {
    list.push_back(result.cast<Expr>());
  }
  return list;
}

/// By operation.
std::map<std::string, ffi::Function, std::less<>>& shape_functions() {
  static auto& functions = *new std::map<std::string, ffi::Function, std::less<>>;
  return functions;
}

/// `shapes` is the extents of the only result, or {result: extents}, with a list of extents for an
/// array of tensors.
bool set_shapes(RuleContext& c, const Any& shapes) {
  const auto& outputs = c.operation().outputs;
  const auto named = shapes.as<Map<String, Any>>();
  for (const nnef::Argument& result : outputs) {
    if (!named && outputs.size() == 1) {
      c.set(result.name, extents_from(shapes.cast<Array<Any>>()));
      continue;
    }
    const auto found = named ? named->find(result.name) : Map<String, Any>::iterator();
    if (!named || found == named->end()) {
      return c.fail("shape", "",
                    fmt::format("the shape function says nothing of '{}'", result.name));
    }
    if (!result.value.get<nnef::Array>()) {
      c.set(result.name, extents_from((*found).second.cast<Array<Any>>()));
      continue;
    }
    const auto items = (*found).second.cast<Array<Any>>();
    for (size_t i = 0; i < items.size(); ++i)
      c.set_item(result.name, i, extents_from(items[static_cast<int64_t>(i)].cast<Array<Any>>()));
  }
  return true;
}

/// The rule of all operations that Python registers.
bool shape_rule(RuleContext& c) {
  const auto shape = [&](const nnef::Value& value) { return Any(extents(c.shape_of(value))); };
  try {
    const ffi::Function& function = shape_functions().at(std::string(c.name()));
    return set_shapes(c, function(describe(c, shape)));
  } catch (const ffi::Error& error) {
    return c.fail("shape", "", nnef_runtime::first_line(error));
  }
}

}  // namespace

nnef::Shape extents_from(const Array<Any>& items) {
  nnef::Shape shape;
  for (const Any& item : items) {
    const auto text = item.as<String>();
    shape.push_back(text ? nnef::parse_dim(std::string(*text)) : nnef::Dim(item.cast<int64_t>()));
  }
  return shape;
}

CustomLowering lowering_of(const ffi::Function& convert, const Raised& raised) {
  return [convert, raised](const LoweringContext& operation) -> std::vector<Expr> {
    try {
      std::vector<Expr> results =
          expressions(convert(describe(operation), operation.builder().handle()));
      size_t wanted = 0;
      nnef::each_tensor(operation.operation().outputs, [&](nnef::TensorRef) { ++wanted; });
      if (results.size() != wanted) {
        TVM_FFI_THROW(ValueError) << "the conversion of '" << std::string(operation.name())
                                  << "' gave " << results.size() << " expressions, expected "
                                  << wanted;
      }
      return results;
    } catch (const ffi::Error& error) {
      *raised = error;
      throw;
    }
  };
}

Outcome register_operation(const String& declaration, const ffi::Function& shapes) {
  return attempt([&](nnef::Diagnostics& diagnostics) -> Any {
    std::string name;
    if (!nnef::register_operation({declaration, shape_rule, nullptr, /*replace=*/true}, diagnostics,
                                  &name)) {
      return nullptr;
    }
    shape_functions()[name] = shapes;
    return String(name);
  });
}

}  // namespace nnef_tvm::python
