#include "shrink.h"

#include <algorithm>

namespace generator {
namespace {

/// Shorter is simpler, then smaller, choice by choice.
bool simpler(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

class Shrinker {
 public:
  Shrinker(Worker& worker, Recorded failing, std::string kind, size_t budget)
      : worker_(worker), best_(std::move(failing)), kind_(std::move(kind)), budget_(budget) {}

  Recorded run() {
    for (bool changed = true; changed && budget_ > 0;) {
      changed = false;
      for (size_t length = std::min<size_t>(32, best_.choices.size()); length > 0; length /= 2) {
        changed = pass(length, erased) || changed;
        changed = pass(length, zeroed) || changed;
      }
      changed = pass(1, halved) || changed;
      changed = pass(1, decremented) || changed;
    }
    return best_;
  }

 private:
  using Sequence = std::vector<uint32_t>;
  using Edit = Sequence (*)(Sequence, size_t, size_t);

  static Sequence erased(Sequence sequence, size_t at, size_t length) {
    const auto begin = sequence.begin() + static_cast<ptrdiff_t>(at);
    sequence.erase(begin, begin + static_cast<ptrdiff_t>(length));
    return sequence;
  }
  static Sequence zeroed(Sequence sequence, size_t at, size_t length) {
    std::fill_n(sequence.begin() + static_cast<ptrdiff_t>(at), length, 0);
    return sequence;
  }
  static Sequence halved(Sequence sequence, size_t at, size_t) {
    sequence[at] /= 2;
    return sequence;
  }
  static Sequence decremented(Sequence sequence, size_t at, size_t) {
    sequence[at] -= sequence[at] > 0 ? 1 : 0;
    return sequence;
  }

  /// Tries an edit at every place, from the end, where later operations stand.
  bool pass(size_t length, Edit edit) {
    bool changed = false;
    for (size_t at = best_.choices.size(); at-- > 0 && budget_ > 0;) {
      if (at + length > best_.choices.size()) continue;
      changed = attempt(edit(best_.choices, at, length)) || changed;
    }
    return changed;
  }

  bool attempt(Sequence sequence) {
    if (!simpler(sequence, best_.choices)) return false;
    --budget_;
    Report report = worker_.judge_recorded({best_.focus, std::move(sequence)});
    const bool same = !report.verdict.passed && report.verdict.kind == kind_;
    // A shorter sequence may draw more choices than it lost.
    if (!same || !simpler(report.choices, best_.choices)) return false;
    best_.choices = std::move(report.choices);
    return true;
  }

  Worker& worker_;
  Recorded best_;
  std::string kind_;
  size_t budget_;
};

}  // namespace

Recorded shrink(Worker& worker, Recorded failing, const std::string& kind, size_t budget) {
  return Shrinker(worker, std::move(failing), kind, budget).run();
}

}  // namespace generator
