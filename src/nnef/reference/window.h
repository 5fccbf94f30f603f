// Windows and borders (NNEF 1.0.5, "Sliding-Window Operations").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reference/evaluation.h"

namespace nnef::reference {

/// Where the item at position `i` of the extended input is taken from; nothing where it is the
/// constant, or is ignored.
std::optional<int64_t> border_index(int64_t i, int64_t extent, const std::string& border);

/// A window over some axes of an input, with its defaults applied.
struct Window {
  Index size;
  Index stride;
  Index dilation;
  Index before;  ///< padding that precedes
  std::string border;
  Index input;           ///< extents of the axes that the window covers
  bool reverse = false;  ///< from the down-scaled to the up-scaled shape
};

/// The window of an operation from `input` to `result`; it covers the axes from `first` on.
Window read_window(const Evaluation& e, std::string_view result, Index size, size_t first,
                   bool reverse);

/// An item of the window and the item of the input that it meets.
struct Tap {
  int64_t item = 0;  ///< row-major, in the window
  int64_t at = 0;    ///< row-major, in the axes that the window covers; kConstant on the border
};
inline constexpr int64_t kConstant = -1;

/// All meetings of the window that belongs to an item of the result, in the window's order.
std::vector<Tap> taps(const Window& window, const Index& position);

}  // namespace nnef::reference
