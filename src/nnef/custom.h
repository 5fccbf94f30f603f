// Operations that a program or a plug-in adds to the built-in ones, for documents that use them
// without giving them a body.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ast.h"
#include "nnef/diagnostic.h"
#include "ops/rule.h"
#include "reference/evaluation.h"

namespace nnef {

struct CustomOperation {
  /// "fragment f(x: tensor<scalar>, a: scalar = 1.0) -> (y: tensor<scalar>);"
  std::string declaration;
  ShapeRule rule = nullptr;
  reference::Evaluator evaluator =
      nullptr;           ///< null: the reference evaluator refuses the operation
  bool replace = false;  ///< takes the place of one of the same name that was registered before
};

/// Adds an operation for all models that are loaded later. False, with diagnostics, when its
/// declaration is faulty or its name, which `declared` becomes, is taken. Not to be called while
/// models are loaded.
bool register_operation(const CustomOperation& operation, Diagnostics& diagnostics,
                        std::string* declared = nullptr);

/// What was registered; null for other names.
const CustomOperation* find_custom(std::string_view name);
std::vector<const ast::Fragment*> custom_fragments();

}  // namespace nnef
