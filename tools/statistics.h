// Of measured times.
#pragma once

#include <algorithm>
#include <vector>

namespace nnefc {

/// Of at least one value.
inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace nnefc
