// Facts about operations: the standard's list, and the arithmetic cost of an operation of a graph.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nnef/graph.h"

namespace nnef {

struct OperationInfo {
  std::string name;
  bool compound = false;          ///< has a body in NNEF text
  bool shape_rule = false;        ///< can stay whole in a graph
  std::vector<std::string> uses;  ///< of a compound: the operations that its body invokes, sorted
};

/// All operations of the standard, by name (NNEF 1.0.5).
std::vector<OperationInfo> standard_operations();

/// Multiply-accumulate operations of convolutions and matrix products; 0 for every other operation.
/// Needs shapes. Invalid when it does not fit in 64 bits.
Dim multiply_accumulates(const OpView& operation);

}  // namespace nnef
