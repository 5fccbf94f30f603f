// The random choices that a case is made of, recorded so that the same case can be made again, and
// a simpler one from a shorter or smaller sequence.
#pragma once

#include <cstdint>
#include <iterator>
#include <random>
#include <vector>

namespace generator {

/// Wherever there is a choice, 0 stands for the simplest alternative.
class Choices {
 public:
  explicit Choices(uint64_t seed) : engine_(seed), random_(true) {}
  /// Repeats a sequence; beyond its end every choice is 0.
  explicit Choices(std::vector<uint32_t> sequence) : sequence_(std::move(sequence)) {}

  /// 0 to `count` - 1.
  uint32_t below(uint32_t count);
  /// `low` to `high`; the one nearest to 0 or 1 is the simplest.
  int64_t integer(int64_t low, int64_t high);
  /// True once in `period` times; false is the simplest.
  bool rarely(uint32_t period) { return below(period) == period - 1; }
  bool flip() { return rarely(2); }
  template <typename List>
  const auto& pick(const List& from) {
    return *(std::begin(from) + below(static_cast<uint32_t>(std::size(from))));
  }

  /// What was chosen so far.
  const std::vector<uint32_t>& recorded() const { return recorded_; }

 private:
  std::mt19937_64 engine_;
  bool random_ = false;
  std::vector<uint32_t> sequence_;
  std::vector<uint32_t> recorded_;
};

}  // namespace generator
