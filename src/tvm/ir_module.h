// Modules of functions: looking into them and changing them; functions' attributes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

struct NamedFunction {
  GlobalVar var;
  std::string name;
  Expr function;  ///< relax.Function, tirx.PrimFunc, ...
};

/// All functions, sorted by name.
std::vector<NamedFunction> functions_of(const IRModule& module);
IRModule make_module(const std::vector<NamedFunction>& functions);

bool is_relax_function(const Expr& function);
bool is_prim_func(const Expr& function);

/// A copy of the module with the function's body replaced (or added).
IRModule with_function(const IRModule& module, const GlobalVar& var, const Expr& function);
IRModule with_module_attr(const IRModule& module, const std::string& key, const Any& value);
/// What stands for a function of other code, by its symbol.
Expr extern_function(const std::string& symbol);
/// The function of that name; undefined when there is none.
Expr find_function(const IRModule& module, const std::string& name);
GlobalVar find_global_var(const IRModule& module, const std::string& name);
/// A Relax function with further parameters at the end and another body.
Expr with_params_and_body(const Expr& function, const Array<Var>& more_params, const Expr& body);

std::optional<Any> function_attr(const Expr& function, const std::string& key);
Expr with_function_attr(const Expr& function, const std::string& key, const Any& value);
Expr without_function_attr(const Expr& function, const std::string& key);

/// Equal for expressions of equal structure, whatever their variables are called, in every process.
uint64_t structural_hash(const Expr& expr);

/// The names of the operators that a Relax function calls, one for each call, in order.
std::vector<std::string> called_operators(const Expr& function);

/// A copy of an expression in which every object of type `key` ("ir.GenericConst") is replaced.
Expr replace_objects(const Expr& root, const char* key,
                     const std::function<ObjectRef(const ObjectRef&)>& replacement);

}  // namespace nnef_tvm
