// Window arithmetic, shared by every operation that slides a window: one place for defaults,
// automatic padding, and the extents of both directions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/rule.h"

namespace nnef {

/// Borders that windows may have; 'ignore' only where items beyond the border can be left out.
inline constexpr std::array<std::string_view, 4> kFilterBorders{"constant", "replicate", "reflect",
                                                                "reflect-even"};
inline constexpr std::array<std::string_view, 5> kPoolBorders{"constant", "ignore", "replicate",
                                                              "reflect", "reflect-even"};

/// A window with all defaults applied; item i of each list is of axis first + i.
struct Window {
  std::vector<Dim> size;
  std::vector<int64_t> stride;
  std::vector<int64_t> dilation;
  std::vector<std::pair<int64_t, int64_t>> padding;  ///< made explicit by slide and slide_back
  bool automatic = false;                            ///< padding was left to the extents
  size_t first = 0;                                  ///< 2 for windows over spatial axes only
  std::string_view size_from;                        ///< the parameter that `size` is from
};

/// A window of the given size with automatic padding, stride 1 and dilation 1 on all axes.
Window plain_window(std::vector<Dim> size, std::string_view size_from);
/// The window of an operation with the usual attributes (border, padding, stride, dilation). Ids
/// "border", "padding-rank", "stride-rank", "stride-positive", "dilation-rank",
/// "dilation-positive".
std::optional<Window> read_window(RuleContext& c, std::vector<Dim> size, std::string_view size_from,
                                  size_t first, std::span<const std::string_view> borders);
/// The attribute `size`, one item for each axis of `input` ("size-rank", "size-positive").
std::optional<std::vector<Dim>> read_size(RuleContext& c);

/// From the windowed axes of `input` to those of `result`, and the padding ("window-fit",
/// "window-overflow").
bool slide(RuleContext& c, Window& window, const Shape& input, Shape& result);
/// The reverse: with attribute `output_shape` the extents are those given, provided they scale down
/// to `input`
/// ("output_shape-extent"), else they are computed ("padding-extent").
bool slide_back(RuleContext& c, Window& window, const Shape& input, Shape& result);
/// Attribute `output_shape`: empty, or positive and of full rank ("output_shape-rank",
/// "output_shape-positive").
bool check_output_shape(RuleContext& c, size_t rank);

/// Records padding, stride and dilation for lowerings.
void resolve(RuleContext& c, const Window& window);

}  // namespace nnef
