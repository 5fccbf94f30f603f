// How each operation of the standard is drawn: operands and attributes at random, mostly valid.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "draft.h"

namespace generator {

/// How results depend on rounding.
enum class Precision : uint8_t {
  exact,    ///< items of the operands, or decided by comparing them
  rounded,  ///< by as much as floating point rounds
  stepped,  ///< by a whole step, when what is rounded inside lies near a step
};

struct Recipe {
  std::string_view operation;
  /// Adds one invocation to the draft; what it draws may still break a shape rule.
  void (*draw)(Draft& draft, const std::string& operation);
  Precision precision = Precision::rounded;
};

std::span<const Recipe> elementwise_recipes();
std::span<const Recipe> movement_recipes();
std::span<const Recipe> reduce_recipes();
std::span<const Recipe> window_recipes();
std::span<const Recipe> resample_recipes();
std::span<const Recipe> linear_recipes();

/// All of them, in the order of the families.
const std::vector<Recipe>& recipes();
const Recipe* find_recipe(std::string_view operation);

/// Distinct axes below `rank`, in any order; none now and then.
Extents draw_axes(Draft& draft, size_t rank);

}  // namespace generator
