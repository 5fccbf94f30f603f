// Changes of resolution by whole factors, and regions of interest.
#include <fmt/format.h>

#include <array>

#include "ops/helpers.h"

namespace nnef {
namespace {

constexpr std::array<std::string_view, 3> kMethods{"symmetric", "asymmetric", "aligned"};
constexpr std::array<std::string_view, 4> kBorders{"constant", "replicate", "reflect",
                                                   "reflect-even"};

/// Applies `scale` to each spatial extent and its factor.
bool scaled(RuleContext& c, Dim (*scale)(const Dim&, const Dim&)) {
  if (!check_image(c)) return false;
  Shape shape = c.shape("input");
  const std::vector<int64_t> factor = c.integers("factor");
  if (!check_length(c, "factor", factor.size(), shape.size() - 2, "spatial axis") ||
      !check_positive(c, "factor", factor)) {
    return false;
  }
  for (size_t i = 0; i < factor.size(); ++i) {
    const Dim extent = scale(shape[i + 2], factor[i]);
    if (!c.require_at_least(extent, 1)) {
      return c.fail("factor-extent", "factor",
                    fmt::format("'factor' {} is greater than the extent {} of axis {}", factor[i],
                                to_string(shape[i + 2]), i + 2));
    }
    shape[i + 2] = extent;
  }
  c.set("output", shape);
  return true;
}

/// Item 0 of every cell, an incomplete last cell included.
bool nearest_downsample(RuleContext& c) { return scaled(c, ceil_div); }

/// Complete cells only.
bool area_downsample(RuleContext& c) { return scaled(c, floor_div); }

bool upsample(RuleContext& c) {
  return scaled(c, [](const Dim& extent, const Dim& factor) { return extent * factor; });
}

bool multilinear_upsample(RuleContext& c) {
  return check_choice(c, "method", kMethods) && check_choice(c, "border", kBorders) && upsample(c);
}

/// Regions are (rois, 2 coordinates for each spatial axis); batch_index is (rois) or (rois, 1).
bool check_regions(RuleContext& c, size_t spatial_rank) {
  const Shape& rois = c.shape("rois");
  const Dim coordinates = Dim(2) * static_cast<int64_t>(spatial_rank);
  if (rois.size() != 2 || !(rois[1] == coordinates)) {
    return c.fail("rois-shape", "rois",
                  fmt::format("'rois' has shape {}, expected [regions,{}]", to_string(rois),
                              to_string(coordinates)));
  }
  const Shape& index = c.shape("batch_index");
  if (index == Shape{rois[0]} || index == Shape{rois[0], 1}) return true;
  return c.fail(
      "batch_index-shape", "batch_index",
      fmt::format("'batch_index' has shape {}, expected [{}] or [{},1], one for each region",
                  to_string(index), to_string(rois[0]), to_string(rois[0])));
}

bool roi_pool(RuleContext& c) {
  if (!check_image(c)) return false;
  const Shape& input = c.shape("input");
  const std::vector<int64_t> size = c.integers("output_size");
  if (!check_length(c, "output_size", size.size(), input.size() - 2, "spatial axis") ||
      !check_positive(c, "output_size", size) || !check_regions(c, size.size())) {
    return false;
  }
  Shape shape{c.shape("rois")[0], input[1]};
  shape.insert(shape.end(), size.begin(), size.end());
  c.set("output", shape);
  return true;
}

bool roi_resample(RuleContext& c) { return check_choice(c, "method", kMethods) && roi_pool(c); }

bool roi_align(RuleContext& c) {
  if (!check_choice(c, "resize_method", kMethods) || !roi_pool(c)) return false;
  const std::vector<int64_t> rate = c.integers("sampling_rate");
  return check_length(c, "sampling_rate", rate.size(), c.shape("input").size() - 2,
                      "spatial axis") &&
         check_positive(c, "sampling_rate", rate);
}

constexpr std::array kRules{
    ShapeRuleRow{"nearest_downsample", nearest_downsample},
    ShapeRuleRow{"area_downsample", area_downsample},
    ShapeRuleRow{"nearest_upsample", upsample},
    ShapeRuleRow{"multilinear_upsample", multilinear_upsample},
    ShapeRuleRow{"avg_roi_pool", roi_pool},
    ShapeRuleRow{"max_roi_pool", roi_pool},
    ShapeRuleRow{"roi_resample", roi_resample},
    ShapeRuleRow{"avg_roi_align", roi_align},
    ShapeRuleRow{"max_roi_align", roi_align},
};

}  // namespace

std::span<const ShapeRuleRow> resample_rules() { return kRules; }

}  // namespace nnef
