#include "choices.h"

#include <algorithm>

namespace generator {

uint32_t Choices::below(uint32_t count) {
  uint32_t choice = 0;
  const size_t place = recorded_.size();
  if (random_) {
    choice = static_cast<uint32_t>(engine_() % count);
  } else if (place < sequence_.size()) {
    choice = std::min(sequence_[place], count - 1);
  }
  recorded_.push_back(choice);
  return choice;
}

int64_t Choices::integer(int64_t low, int64_t high) {
  const int64_t start = std::clamp<int64_t>(low > 0 ? 1 : 0, low, high);
  const auto step = static_cast<int64_t>(below(static_cast<uint32_t>(high - low + 1)));
  // Upwards from the simplest, then downwards from it.
  return start + step <= high ? start + step : start - (step - (high - start));
}

}  // namespace generator
