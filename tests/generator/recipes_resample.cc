#include <algorithm>
#include <array>

#include "recipes.h"

namespace generator {
namespace {

constexpr std::array<const char*, 3> kMethods{"symmetric", "asymmetric", "aligned"};
constexpr std::array<const char*, 4> kBorders{"replicate", "constant", "reflect", "reflect-even"};

size_t image_rank(Draft& d) { return d.choices.rarely(4) ? 3 + 2 * d.choices.below(2) : 4; }

/// Batch, channels and one to three spatial axes.
Operand image(Draft& d, Range range = any_number) {
  return d.operand(
      DType::scalar, [](const Extents& shape) { return shape.size() >= 3 && shape.size() <= 5; },
      [&] {
        Extents shape = d.shape(image_rank(d));
        return shape;
      },
      range);
}

void downsample(Draft& d, const std::string& operation) {
  const Operand x = image(d);
  Extents factor;
  for (size_t i = 2; i < x.shape.size(); ++i) {
    factor.push_back(d.choices.integer(1, std::min<int64_t>(x.shape[i], 3)));
  }
  d.call(operation, {x}, {attribute("factor", factor)});
}

std::string drawn_factor(Draft& d, const Operand& x) {
  Extents factor;
  for (size_t i = 2; i < x.shape.size(); ++i) factor.push_back(d.choices.integer(1, 3));
  return attribute("factor", factor);
}

void nearest_upsample(Draft& d, const std::string& operation) {
  const Operand x = image(d);
  d.call(operation, {x}, {drawn_factor(d, x)});
}

void multilinear_upsample(Draft& d, const std::string& operation) {
  const Operand x = image(d);
  std::vector<std::string> attributes{drawn_factor(d, x)};
  if (d.choices.flip()) attributes.push_back(quoted("method", d.choices.pick(kMethods)));
  if (d.choices.flip()) attributes.push_back(quoted("border", d.choices.pick(kBorders)));
  d.call(operation, {x}, attributes);
}

/// Regions inside of the map for the most part, some of them empty, upside down or beyond it.
void regions(Draft& d, const std::string& operation, const char* method, bool aligned) {
  const Operand x = image(d);
  const size_t axes = x.shape.size() - 2;
  const int64_t count = d.choices.integer(1, 4);
  const Operand rois = d.fresh(DType::scalar, {count, static_cast<int64_t>(2 * axes)}, {-1, 7});
  const Extents one = d.choices.flip() ? Extents{count, 1} : Extents{count};
  const double last = static_cast<double>(x.shape[0]) - (d.choices.rarely(4) ? 0 : 1);
  const Operand batch = d.fresh(DType::integer, one, {0, last});
  Extents size, rate;
  for (size_t i = 0; i < axes; ++i) size.push_back(d.choices.integer(1, 3));
  for (size_t i = 0; i < axes; ++i) rate.push_back(d.choices.integer(1, 2));
  std::vector<std::string> attributes{attribute("output_size", size)};
  if (aligned) attributes.push_back(attribute("sampling_rate", rate));
  if (method != nullptr && d.choices.flip()) {
    attributes.push_back(quoted(method, d.choices.pick(kMethods)));
  }
  d.call(operation, {x, rois, batch}, attributes);
}

void roi_pool(Draft& d, const std::string& operation) { regions(d, operation, nullptr, false); }
void roi_resample(Draft& d, const std::string& operation) {
  regions(d, operation, "method", false);
}
void roi_align(Draft& d, const std::string& operation) {
  regions(d, operation, "resize_method", true);
}

constexpr std::array kRecipes{
    Recipe{"nearest_downsample", downsample, Precision::exact},
    Recipe{"area_downsample", downsample},
    Recipe{"nearest_upsample", nearest_upsample, Precision::exact},
    Recipe{"multilinear_upsample", multilinear_upsample},
    Recipe{"avg_roi_pool", roi_pool},
    Recipe{"max_roi_pool", roi_pool, Precision::exact},
    Recipe{"roi_resample", roi_resample},
    Recipe{"avg_roi_align", roi_align},
    Recipe{"max_roi_align", roi_align},
};

}  // namespace

std::span<const Recipe> resample_recipes() { return kRecipes; }

}  // namespace generator
