// Facts about operations: the standard's list, and the arithmetic cost of an operation of a graph.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "nnef/graph.h"

namespace nnef {

struct OperationInfo {
  std::string name;
  bool compound = false;          ///< has a body in NNEF text
  bool shape_rule = false;        ///< can stay whole in a graph
  bool evaluator = false;         ///< the reference evaluator runs it, itself or through its body
  std::vector<std::string> uses;  ///< of a compound: the operations that its body invokes, sorted
};

/// All operations of the standard, by name (NNEF 1.0.5).
std::vector<OperationInfo> standard_operations();

/// The operations of the list that have support: their own, which `has_own` tells, or by bodies of
/// such operations only.
std::set<std::string> supported(const std::vector<OperationInfo>& operations,
                                const std::function<bool(std::string_view)>& has_own);

/// Multiply-accumulate operations of convolutions and matrix products; 0 for every other operation.
/// Needs shapes. Invalid when it does not fit in 64 bits.
Dim multiply_accumulates(const OpView& operation);

}  // namespace nnef
