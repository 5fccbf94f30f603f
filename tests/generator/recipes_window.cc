#include <algorithm>
#include <array>
#include <optional>

#include "recipes.h"

namespace generator {
namespace {

constexpr std::array<const char*, 5> kBorders{"constant", "ignore", "replicate", "reflect",
                                              "reflect-even"};

enum class Direction : uint8_t { forward, backward };

/// A window over some axes, each attribute left out now and then.
class Window {
 public:
  Window(Draft& d, Extents input, Extents size, Direction direction)
      : input_(std::move(input)), size_(std::move(size)) {
    const bool strided = d.choices.flip(), dilated = d.choices.flip();
    automatic_ = !d.choices.flip();
    for (size_t i = 0; i < size_.size(); ++i) {
      // Axes without a window have strides too, but rarely.
      const bool plain = size_[i] == 1 && !d.choices.rarely(4);
      stride_.push_back(strided && !plain ? d.choices.integer(1, 3) : 1);
      dilation_.push_back(dilated ? d.choices.integer(1, 2) : 1);
      padding_.push_back(direction == Direction::forward ? padding(d, i, plain)
                                                         : cropping(d, i, plain));
    }
    if (strided) attributes_.push_back(attribute("stride", stride_));
    if (dilated) attributes_.push_back(attribute("dilation", dilation_));
    if (!automatic_) attributes_.push_back(attribute("padding", padding_));
  }

  /// One of `borders`; reflections reach only as far as the input does.
  void draw_border(Draft& d, std::span<const uint32_t> borders) {
    const uint32_t border = d.choices.pick(borders);
    if (border != 0 || d.choices.rarely(4))
      attributes_.push_back(quoted("border", kBorders[border]));
  }

  /// Extents of the result of a forward window.
  Extents slid() const {
    Extents result;
    for (size_t i = 0; i < size_.size(); ++i) {
      const auto [before, after] = padding_[i];
      result.push_back(automatic_ ? (input_[i] + stride_[i] - 1) / stride_[i]
                                  : (input_[i] + before + after - span(i)) / stride_[i] + 1);
    }
    return result;
  }

  /// Extents that a backward window may have been slid over, by as much as rounding allows.
  Extents slid_over(Draft& d) const {
    Extents result;
    for (size_t i = 0; i < size_.size(); ++i) {
      const auto [before, after] = padding_[i];
      const int64_t slack = d.choices.integer(0, stride_[i] - 1);
      result.push_back(automatic_
                           ? input_[i] * stride_[i] - slack
                           : (input_[i] - 1) * stride_[i] + span(i) - before - after + slack);
    }
    return result;
  }

  const std::vector<std::string>& attributes() const { return attributes_; }

 private:
  int64_t span(size_t i) const { return (size_[i] - 1) * dilation_[i] + 1; }

  std::pair<int64_t, int64_t> padding(Draft& d, size_t i, bool plain) const {
    if (plain || automatic_) return {0, 0};
    const int64_t before = d.choices.integer(-1, 2), after = d.choices.integer(-1, 2);
    const int64_t missing = std::max<int64_t>(span(i) - (input_[i] + before + after), 0);
    return {before + missing / 2, after + missing - missing / 2};
  }

  std::pair<int64_t, int64_t> cropping(Draft& d, size_t i, bool plain) const {
    if (plain || automatic_) return {0, 0};
    const int64_t full = (input_[i] - 1) * stride_[i] + span(i);
    const int64_t before = std::min(d.choices.integer(-1, 2), full - 1);
    return {before, std::min(d.choices.integer(-1, 2), full - 1 - std::max<int64_t>(before, 0))};
  }

  Extents input_, size_, stride_, dilation_;
  Pairs padding_;
  bool automatic_ = true;
  std::vector<std::string> attributes_;
};

constexpr std::array<uint32_t, 6> kFilterBorders{0, 0, 0, 2, 3, 4};
constexpr std::array<uint32_t, 7> kPoolBorders{0, 0, 1, 1, 2, 3, 4};
constexpr std::array<uint32_t, 4> kSampleBorders{0, 2, 3, 4};

Extents spatial(const Extents& shape) { return {shape.begin() + 2, shape.end()}; }

Operand image(Draft& d) {
  return d.operand(
      DType::scalar, [](const Extents& shape) { return shape.size() >= 3 && shape.size() <= 5; },
      [&] {
        const size_t rank = d.choices.rarely(4) ? 3 + 2 * d.choices.below(2) : 4;
        Extents shape = d.shape(rank);
        shape[0] = std::min<int64_t>(shape[0], 2);
        return shape;
      });
}

Extents kernel(Draft& d, size_t axes) {
  Extents size;
  for (size_t i = 0; i < axes; ++i) size.push_back(d.choices.integer(1, 3));
  return size;
}

Operand filter(Draft& d, int64_t first, int64_t second, const Extents& size) {
  Extents shape{first, second};
  shape.insert(shape.end(), size.begin(), size.end());
  return d.shaped(DType::scalar, shape);
}

/// In all the ways in which a bias is written.
void draw_bias(Draft& d, std::vector<Operand>& operands, int64_t channels) {
  const size_t rank = operands[0].shape.size();
  Extents full(rank, 1);
  full[1] = channels;
  switch (d.choices.below(6)) {
    case 0:
      return;
    case 1:
      operands.push_back(d.literal(DType::scalar));
      return;
    case 2:
      operands.push_back(d.shaped(DType::scalar, full));
      return;
    case 3:
      operands.push_back(d.shaped(DType::scalar, {channels}));
      return;
    default:
      operands.push_back(d.shaped(DType::scalar, {1, channels}));
  }
}

/// A divisor of `channels` as the attribute, 0 for as many groups as channels.
struct Groups {
  int64_t count;
  int64_t written;
};

Groups draw_groups(Draft& d, int64_t channels) {
  Extents divisors;
  for (int64_t g = 1; g <= channels; ++g) {
    if (channels % g == 0) divisors.push_back(g);
  }
  if (d.choices.rarely(4)) return {channels, 0};
  const int64_t groups = d.choices.pick(divisors);
  return {groups, groups};
}

void add_groups(std::vector<std::string>& attributes, Groups groups) {
  if (groups.written != 1) attributes.push_back(attribute("groups", groups.written));
}

void conv(Draft& d, const std::string& operation) {
  const Operand x = image(d);
  const Groups groups = draw_groups(d, x.shape[1]);
  const int64_t out = groups.count * d.choices.integer(1, 3);
  const Extents size = kernel(d, x.shape.size() - 2);
  std::vector<Operand> operands{x, filter(d, out, x.shape[1] / groups.count, size)};
  draw_bias(d, operands, out);
  Window window(d, spatial(x.shape), size, Direction::forward);
  window.draw_border(d, kFilterBorders);
  auto attributes = window.attributes();
  add_groups(attributes, groups);
  d.call(operation, operands, attributes);
}

void add_output_shape(Draft& d, std::vector<std::string>& attributes, const Window& window,
                      const Extents& leading) {
  Extents shape = leading;
  const Extents rest = window.slid_over(d);
  shape.insert(shape.end(), rest.begin(), rest.end());
  attributes.push_back(attribute("output_shape", shape));
}

void deconv(Draft& d, const std::string& operation) {
  const Operand x = image(d);
  Groups groups = draw_groups(d, x.shape[1]);
  const int64_t each = groups.written == 0 ? 1 : d.choices.integer(1, 3);
  const int64_t out = groups.count * each;
  const Extents size = kernel(d, x.shape.size() - 2);
  std::vector<Operand> operands{x, filter(d, x.shape[1], each, size)};
  draw_bias(d, operands, out);
  Window window(d, spatial(x.shape), size, Direction::backward);
  window.draw_border(d, kFilterBorders);
  auto attributes = window.attributes();
  add_groups(attributes, groups);
  if (d.choices.rarely(3)) add_output_shape(d, attributes, window, {x.shape[0], out});
  d.call(operation, operands, attributes);
}

void separable_conv(Draft& d, const std::string& operation) {
  const Operand x = image(d);
  const int64_t planes = x.shape[1] * d.choices.integer(1, 2);
  const Groups groups = draw_groups(d, planes);
  const int64_t out = groups.count * d.choices.integer(1, 2);
  const Extents size = kernel(d, x.shape.size() - 2);
  const Extents point(size.size(), 1);
  std::vector<Operand> operands{x, filter(d, planes, 1, size),
                                filter(d, out, planes / groups.count, point)};
  draw_bias(d, operands, out);
  Window window(d, spatial(x.shape), size, Direction::forward);
  window.draw_border(d, kFilterBorders);
  auto attributes = window.attributes();
  add_groups(attributes, groups);
  d.call(operation, operands, attributes);
}

void separable_deconv(Draft& d, const std::string& operation) {
  const Operand x = image(d);
  const Groups groups = draw_groups(d, x.shape[1]);
  const int64_t planes = groups.count * d.choices.integer(1, 2);
  const Extents size = kernel(d, x.shape.size() - 2);
  const Extents point(size.size(), 1);
  std::vector<Operand> operands{x, filter(d, planes, 1, size),
                                filter(d, x.shape[1], planes / groups.count, point)};
  draw_bias(d, operands, planes);
  Window window(d, spatial(x.shape), size, Direction::backward);
  window.draw_border(d, kFilterBorders);
  auto attributes = window.attributes();
  add_groups(attributes, groups);
  if (d.choices.rarely(3)) add_output_shape(d, attributes, window, {x.shape[0], planes});
  d.call(operation, operands, attributes);
}

/// Windows over all axes, mostly of extent 1 on the first two.
Extents pool_size(Draft& d, size_t rank) {
  Extents size;
  for (size_t axis = 0; axis < rank; ++axis) {
    const bool outer = rank > 2 && axis < 2 && !d.choices.rarely(6);
    size.push_back(outer ? 1 : d.choices.integer(1, 3));
  }
  return size;
}

Operand pooled(Draft& d) { return d.tensor(DType::scalar, 1); }

std::vector<std::string> pool_attributes(Draft& d, const Operand& x,
                                         std::optional<std::string> flag) {
  const Extents size = pool_size(d, x.shape.size());
  Window window(d, x.shape, size, Direction::forward);
  window.draw_border(d, kPoolBorders);
  std::vector<std::string> attributes{attribute("size", size)};
  attributes.insert(attributes.end(), window.attributes().begin(), window.attributes().end());
  if (flag && d.choices.flip()) attributes.push_back(attribute(*flag, d.choices.flip()));
  return attributes;
}

void pool(Draft& d, const std::string& operation) {
  const Operand x = pooled(d);
  d.call(operation, {x}, pool_attributes(d, x, std::nullopt));
}

void pool_with_index(Draft& d, const std::string& operation) {
  const Operand x = pooled(d);
  d.call(operation, {x}, pool_attributes(d, x, std::nullopt), 2);
}

void box(Draft& d, const std::string& operation) {
  const Operand x = pooled(d);
  d.call(operation, {x}, pool_attributes(d, x, "normalize"));
}

Range positions(const Extents& size) { return {0, static_cast<double>(volume(size) - 1)}; }

/// A border that is ignored has no items to point at.
void sample(Draft& d, const std::string& operation) {
  const Operand x = pooled(d);
  const Extents size = pool_size(d, x.shape.size());
  Window window(d, x.shape, size, Direction::forward);
  window.draw_border(d, kSampleBorders);
  const Operand index = d.fresh(DType::integer, window.slid(), positions(size));
  std::vector<std::string> attributes{attribute("size", size)};
  attributes.insert(attributes.end(), window.attributes().begin(), window.attributes().end());
  d.call(operation, {x, index}, attributes);
}

std::vector<std::string> unpool_attributes(Draft& d, const Operand& x, const Extents& size,
                                           std::span<const uint32_t> borders) {
  Window window(d, x.shape, size, Direction::backward);
  window.draw_border(d, borders);
  std::vector<std::string> attributes{attribute("size", size)};
  attributes.insert(attributes.end(), window.attributes().begin(), window.attributes().end());
  if (d.choices.rarely(3)) add_output_shape(d, attributes, window, {});
  return attributes;
}

void debox(Draft& d, const std::string& operation) {
  const Operand x = pooled(d);
  auto attributes = unpool_attributes(d, x, pool_size(d, x.shape.size()), kPoolBorders);
  if (d.choices.flip()) attributes.push_back(attribute("normalize", d.choices.flip()));
  d.call(operation, {x}, attributes);
}

void desample(Draft& d, const std::string& operation) {
  constexpr std::array<uint32_t, 1> constant{0};
  const Operand x = pooled(d);
  const Extents size = pool_size(d, x.shape.size());
  const Operand index = d.fresh(DType::integer, x.shape, positions(size));
  d.call(operation, {x, index}, unpool_attributes(d, x, size, constant));
}

constexpr std::array kRecipes{
    Recipe{"conv", conv},
    Recipe{"deconv", deconv},
    Recipe{"separable_conv", separable_conv},
    Recipe{"separable_deconv", separable_deconv},
    Recipe{"box", box},
    Recipe{"debox", debox},
    Recipe{"argmax_pool", pool, Precision::exact},
    Recipe{"sample", sample, Precision::exact},
    Recipe{"desample", desample},
    Recipe{"max_pool_with_index", pool_with_index, Precision::exact},
    Recipe{"max_pool", pool, Precision::exact},
    Recipe{"avg_pool", pool},
    Recipe{"rms_pool", pool},
};

}  // namespace

std::span<const Recipe> window_recipes() { return kRecipes; }

}  // namespace generator
