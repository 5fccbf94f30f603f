// What a tract_core_scan says, for both of its forms: calls one after the other (tract_scan.cc),
// and a loop (tract_loop.cc).
#pragma once

#include <string>
#include <vector>

#include "expander.h"

namespace nnef {

/// An item of one of scan's lists: a name, a tensor or word, and numbers.
struct ScanItem {
  std::string name;
  Value second;
  Value third;
  int64_t step = 1;
};

struct Expander::Scan {
  const ast::Fragment* body;
  std::vector<ScanItem> scanned;
  std::vector<ScanItem> full;
  std::vector<ScanItem> states;
  std::vector<ScanItem> outputs;
};

/// The result of the body of that name; null when it has none.
const Value* find_result(const Value& results, const ast::Fragment& body, const std::string& name);

}  // namespace nnef
