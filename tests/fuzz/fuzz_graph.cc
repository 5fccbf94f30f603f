// Any text must be parsed, checked, expanded and inferred without a fault; what is accepted must be
// written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "nnef/model.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto load = [](std::string text, nnef::Diagnostics& diagnostics) {
    nnef::LoadOptions options;
    options.keep_compound = [](std::string_view) { return false; };
    return nnef::load_text(std::make_shared<nnef::Source>("graph.nnef", std::move(text)), nullptr,
                           options, diagnostics);
  };
  nnef::Diagnostics diagnostics;
  const auto graph = load(std::string(reinterpret_cast<const char*>(data), size), diagnostics);
  nnef::format(diagnostics);
  if (graph.has_value() == diagnostics.has_errors()) std::abort();
  if (!graph) return 0;
  nnef::Diagnostics again;
  if (!load(nnef::write_graph(*graph), again)) std::abort();
  return 0;
}
