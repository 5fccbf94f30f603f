#include "compile/kernels/window.h"

#include <algorithm>
#include <cctype>

namespace nnef_tvm {
namespace {

constexpr LegalisationRow kRows[] = {
    {"relax.nn.conv1d", conv},
    {"relax.nn.conv2d", conv},
    {"relax.nn.conv3d", conv},
    {"relax.nn.conv1d_transpose", conv_transpose},
    {"relax.nn.conv2d_transpose", conv_transpose},
    {"relax.nn.conv3d_transpose", conv_transpose},
    {"relax.nn.max_pool1d", max_pool},
    {"relax.nn.max_pool2d", max_pool},
    {"relax.nn.max_pool3d", max_pool},
    {"relax.nn.avg_pool1d", avg_pool},
    {"relax.nn.avg_pool2d", avg_pool},
    {"relax.nn.avg_pool3d", avg_pool},
    {"relax.nn.adaptive_avg_pool1d", adaptive_avg_pool},
    {"relax.nn.adaptive_avg_pool2d", adaptive_avg_pool},
    {"relax.nn.adaptive_avg_pool3d", adaptive_avg_pool},
};

}  // namespace

Layout::Layout(std::string_view names) : names_(names) {
  for (char name : {'D', 'H', 'W'}) {
    if (const size_t found = axis(name); found != std::string::npos) spatial_.push_back(found);
  }
}

bool Layout::is_plain() const {
  return std::all_of(names_.begin(), names_.end(), [](unsigned char c) { return std::isupper(c); });
}

std::string Layout::suffix() const {
  std::string suffix = names_;
  for (char& c : suffix) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return suffix;
}

std::vector<WindowAxis> window_axes(const KernelCall& kernel) {
  const std::vector<int64_t> strides = kernel.integers("strides");
  const std::vector<int64_t> dilation = kernel.integers("dilation");
  const std::vector<int64_t> padding = kernel.integers("padding");
  std::vector<WindowAxis> axes;
  for (size_t i = 0; i < strides.size(); ++i) {
    axes.push_back({strides[i], dilation[i], padding[i], padding[i + strides.size()]});
  }
  return axes;
}

te::Tensor pad_stage(const te::Tensor& x, const std::vector<Padding>& paddings,
                     const PrimExpr& value) {
  te::Shape shape = x.shape();
  std::vector<Padding> padded;
  for (const Padding& padding : paddings) {
    if (is_known(padding.before, 0) && is_known(padding.after, 0)) continue;
    padded.push_back(padding);
    shape[padding.axis] = shape[padding.axis] + padding.before + padding.after;
  }
  if (padded.empty()) return x;
  return te::compute(shape, "pad", [&](const te::Indices& indices) {
    te::Indices source = indices;
    std::vector<PrimExpr> inside;
    for (const Padding& padding : padded) {
      const PrimExpr index = indices[padding.axis];
      if (!is_known(padding.before, 0)) inside.push_back(ge(index, padding.before));
      if (!is_known(padding.after, 0)) {
        inside.push_back(lt(index, padding.before + x.extent(padding.axis)));
      }
      source[padding.axis] = index - padding.before;
    }
    return if_then_else(all_of(inside), x(source), value);
  });
}

PrimExpr missing_padding(const WindowAxis& window, const PrimExpr& extent, const PrimExpr& size,
                         const PrimExpr& result_extent) {
  const PrimExpr reach = (result_extent - 1) * window.stride + (size - 1) * window.dilation + 1;
  return max(reach - (extent + window.before + window.after), 0);
}

std::span<const LegalisationRow> window_kernels() { return kRows; }

}  // namespace nnef_tvm
