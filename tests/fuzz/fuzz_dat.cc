// Tensor files: whatever the bytes are, reading them ends in a tensor that can be written again, or
// in a diagnostic.
#include <cstdint>
#include <cstdlib>

#include "nnef/tensor_file.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  nnef::Diagnostics diagnostics;
  const auto data =
      nnef::read_tensor(std::as_bytes(std::span(bytes, size)), nullptr, "input.dat", diagnostics);
  require((data != nullptr) != diagnostics.has_errors());
  require(!nnef::format(diagnostics).empty() || diagnostics.items().empty());
  if (data == nullptr) return 0;

  const auto values = nnef::to_doubles(*data);
  const bool quantized = data->type.code == nnef::ItemCode::quantized_uint ||
                         data->type.code == nnef::ItemCode::quantized_int;
  require(values.has_value() != quantized);
  const auto header = nnef::tensor_header(*data, "input.dat", diagnostics);
  require(header.has_value());
  std::string file = *header;
  file.append(reinterpret_cast<const char*>(data->bytes.data()), data->bytes.size());
  const auto again =
      nnef::read_tensor(std::as_bytes(std::span(file)), nullptr, "again.dat", diagnostics);
  require(again != nullptr && again->type == data->type && again->shape == data->shape);
  return 0;
}
