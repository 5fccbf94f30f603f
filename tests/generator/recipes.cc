#include "recipes.h"

#include <algorithm>
#include <numeric>

namespace generator {

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> all = [] {
    std::vector<Recipe> rows;
    for (const auto family : {elementwise_recipes(), movement_recipes(), reduce_recipes(),
                              window_recipes(), resample_recipes(), linear_recipes()}) {
      rows.insert(rows.end(), family.begin(), family.end());
    }
    return rows;
  }();
  return all;
}

const Recipe* find_recipe(std::string_view operation) {
  const auto found = std::ranges::find(recipes(), operation, &Recipe::operation);
  return found == recipes().end() ? nullptr : &*found;
}

Extents draw_axes(Draft& draft, size_t rank) {
  Extents left(rank);
  std::iota(left.begin(), left.end(), 0);
  Extents axes;
  if (rank == 0 || draft.choices.rarely(16)) return axes;
  const int64_t count = draft.choices.integer(1, static_cast<int64_t>(std::min<size_t>(rank, 3)));
  for (int64_t i = 0; i < count; ++i) {
    const auto at = left.begin() + draft.choices.below(static_cast<uint32_t>(left.size()));
    axes.push_back(*at);
    left.erase(at);
  }
  return axes;
}

}  // namespace generator
