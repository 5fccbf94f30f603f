// Relax functions as lists of bindings, and the calls bound in them.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

/// A variable and what it stands for.
struct Binding {
  Var var;
  Expr value;
};

/// The variables bound to expressions by the function's body, in order; without casts of types.
std::vector<Binding> bindings_of(const Expr& function);
/// The function with other values for the variables that bindings_of() lists.
Expr with_values(const Expr& function, const std::vector<Expr>& values);
/// What the function returns.
Expr result_of(const Expr& function);

/// The variables in an expression, each once.
Array<Var> used_vars(const Expr& expr);

/// "relax.add" of a call of an operator; "" for anything else.
std::string operator_name(const ObjectRef& expr);
Array<Expr> args_of(const Expr& call);
/// The same operator on other arguments whose result is of the same type.
Expr with_args(const Expr& call, const Array<Expr>& args);
/// The same, of a type that is still to be inferred.
Expr untyped(const Expr& call, const Array<Expr>& args);
/// The function with other names for variables that it binds.
Expr with_names(const Expr& function, const std::unordered_map<const void*, std::string>& names);
/// The function with the attributes of another.
Expr with_attrs_of(const Expr& function, const Expr& other);

/// The extents of a tensor expression whose type is known; nullopt when one is symbolic.
std::optional<std::vector<int64_t>> known_shape(const Expr& expr);
std::optional<std::vector<int64_t>> known_shape(const Type& type);

}  // namespace nnef_tvm
