// Any quantization file must be read, for a graph that has a tensor of each type, without a fault.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "nnef/model.h"

namespace {

constexpr const char* kGraph = R"(version 1.0;
graph net(x, i) -> (y, b)
{
    x = external(shape = [1,3,4,4]);
    i = external<integer>(shape = [1,3]);
    b = gt(x, 0.5);
    y = relu(x);
})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto graph = std::make_shared<nnef::Source>("graph.nnef", kGraph);
  auto quant = std::make_shared<nnef::Source>(
      "graph.quant", std::string(reinterpret_cast<const char*>(data), size));
  nnef::Diagnostics diagnostics;
  nnef::load_text(std::move(graph), std::move(quant), {}, diagnostics);
  nnef::format(diagnostics);
  return 0;
}
