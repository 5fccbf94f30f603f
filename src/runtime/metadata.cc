#include "runtime/metadata.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tvm/ffi/dtype.h>

#include <nlohmann/json.hpp>
#include <span>

#include "runtime/artefact_format.h"

namespace nnef_runtime {

namespace {

using json = nlohmann::ordered_json;
namespace ffi = ::tvm::ffi;

json shape_to_json(const TensorSpec& tensor) {
  if (tensor.extents.empty()) return tensor.shape;
  json shape = json::array();
  for (const nnef::Dim& extent : tensor.extents)
    shape.push_back(extent.known() ? json(extent.value()) : json(nnef::to_string(extent)));
  return shape;
}

json to_json(const TensorSpec& tensor) {
  return {{"name", tensor.name},
          {"dtype", std::string(ffi::DLDataTypeToString(tensor.dtype))},
          {"shape", shape_to_json(tensor)}};
}

json to_json(const ShapeCondition& condition) {
  return {{"left", nnef::to_string(condition.left)},
          {"equal", condition.equal},
          {"right", nnef::to_string(condition.right)},
          {"reason", condition.reason}};
}

/// The bounds of the symbols of inputs, by name; a most of null is no bound.
json symbols_to_json(const std::vector<TensorSpec>& inputs) {
  json symbols = json::object();
  for (const TensorSpec& input : inputs) {
    for (const nnef::Dim& extent : input.extents) {
      nnef::each_symbol(extent, [&](const nnef::DimAtom& symbol) {
        const bool bounded = symbol.most != nnef::Dim::kUnbounded;
        symbols[symbol.text] = {symbol.least, bounded ? json(symbol.most) : json(nullptr)};
      });
    }
  }
  return symbols;
}

json to_json(const ParameterSpec& parameter) {
  json object = to_json(parameter.tensor);
  object["offset"] = parameter.offset;
  object["bytes"] = parameter.bytes;
  return object;
}

json to_json(const StoredState& state) {
  json object = to_json(state.initial);
  object["label"] = state.label;
  return object;
}

json to_json(const OperationSpec& operation) {
  return {{"name", operation.name}, {"tensor", operation.tensor}, {"source", operation.source}};
}

json to_json(const KernelSpec& kernel) {
  return {{"name", kernel.name},
          {"flops", kernel.flops},
          {"bytes", kernel.bytes},
          {"operations", kernel.operations}};
}

template <typename Item>
json to_json(const std::vector<Item>& items) {
  json list = json::array();
  for (const Item& item : items) list.push_back(to_json(item));
  return list;
}

/// Reads fields of a JSON object; the first one that is missing or of another kind becomes the
/// problem.
class Reader {
 public:
  Reader(const json& object, std::string where, std::string& problem)
      : object_(object), where_(std::move(where)), problem_(problem) {
    if (!object.is_object()) fail("is not an object");
  }

  bool failed() const { return !problem_.empty(); }

  void fail(const std::string& what) {
    if (problem_.empty()) problem_ = where_ + " " + what;
  }

  const json* find(const char* key) {
    if (failed()) return nullptr;
    auto found = object_.find(key);
    if (found == object_.end()) {
      fail(fmt::format("has no '{}'", key));
      return nullptr;
    }
    return &*found;
  }

  std::string text(const char* key) {
    const json* value = find(key);
    if (value != nullptr && !value->is_string()) fail(fmt::format("'{}' is not a string", key));
    return failed() ? "" : value->get<std::string>();
  }

  uint64_t number(const char* key) {
    const json* value = find(key);
    if (value != nullptr && !value->is_number_unsigned()) {
      fail(fmt::format("'{}' is not a whole number", key));
    }
    return failed() ? 0 : value->get<uint64_t>();
  }

  /// A list that may be absent.
  std::vector<json> optional_list(const char* key) {
    return !failed() && object_.contains(key) ? list(key) : std::vector<json>();
  }

  double real(const char* key) {
    const json* value = find(key);
    if (value != nullptr && !value->is_number()) fail(fmt::format("'{}' is not a number", key));
    return failed() ? 0 : value->get<double>();
  }

  std::vector<json> list(const char* key) {
    const json* value = find(key);
    if (value != nullptr && !value->is_array()) fail(fmt::format("'{}' is not an array", key));
    return failed() ? std::vector<json>() : value->get<std::vector<json>>();
  }

 private:
  const json& object_;
  std::string where_;
  std::string& problem_;
};

/// Symbols with the bounds that symbols_to_json() wrote.
nnef::DimLookup read_symbols(const json& object) {
  std::map<std::string, nnef::Dim> symbols;
  const auto found = object.is_object() ? object.find("symbols") : object.end();
  if (found != object.end() && found->is_object()) {
    for (const auto& [name, bounds] : found->items()) {
      if (!bounds.is_array() || bounds.size() != 2 || !bounds[0].is_number_integer()) continue;
      const int64_t most =
          bounds[1].is_number_integer() ? bounds[1].get<int64_t>() : nnef::Dim::kUnbounded;
      symbols[name] = nnef::Dim::symbol(name, bounds[0].get<int64_t>(), most);
    }
  }
  return [symbols = std::move(symbols)](const std::string& name) {
    const auto symbol = symbols.find(name);
    return symbol != symbols.end() ? symbol->second : nnef::Dim::symbol(name);
  };
}

TensorSpec read_tensor(const json& object, const nnef::DimLookup& symbols, const std::string& where,
                       std::string& problem) {
  Reader reader(object, where, problem);
  TensorSpec tensor;
  tensor.name = reader.text("name");
  std::string dtype = reader.text("dtype");
  try {
    if (!reader.failed()) tensor.dtype = ffi::StringToDLDataType(dtype);
  } catch (const ffi::Error&) {
    reader.fail(fmt::format("has the unknown 'dtype' \"{}\"", dtype));
  }
  for (const json& extent : reader.list("shape")) {
    const nnef::Dim read = extent.is_number_integer() ? nnef::Dim(extent.get<int64_t>())
                           : extent.is_string()
                               ? nnef::parse_dim(extent.get<std::string>(), symbols)
                               : nnef::Dim();
    if (!read.valid()) {
      reader.fail("'shape' has an item that is not a whole number");
      break;
    }
    tensor.shape.push_back(read.known() ? read.value() : -1);
    tensor.extents.push_back(read);
  }
  if (nnef::known(tensor.extents)) tensor.extents.clear();
  return tensor;
}

ShapeCondition read_condition(const json& object, const nnef::DimLookup& symbols,
                              const std::string& where, std::string& problem) {
  Reader reader(object, where, problem);
  ShapeCondition condition{nnef::parse_dim(reader.text("left"), symbols),
                           reader.find("equal") != nullptr && object["equal"] == true,
                           nnef::parse_dim(reader.text("right"), symbols), reader.text("reason")};
  if (!condition.left.valid() || !condition.right.valid()) reader.fail("has no extents");
  return condition;
}

ParameterSpec read_parameter(const json& object, const std::string& where, std::string& problem) {
  ParameterSpec parameter;
  parameter.tensor = read_tensor(object, {}, where, problem);
  Reader reader(object, where, problem);
  parameter.offset = reader.number("offset");
  parameter.bytes = reader.number("bytes");
  return parameter;
}

StoredState read_state(const json& object, const std::string& where, std::string& problem) {
  StoredState state;
  state.initial = read_parameter(object, where, problem);
  state.label = Reader(object, where, problem).text("label");
  return state;
}

/// What a target does not say is none.
CompiledFor read_compiled_for(const json& target) {
  CompiledFor compiled;
  if (!target.is_object()) return compiled;
  const auto number = [&](const char* key) {
    const auto found = target.find(key);
    return found != target.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
  };
  const auto kind = target.find("kind");
  if (kind != target.end() && kind->is_string()) compiled.kind = kind->get<std::string>();
  compiled.max_threads = number("max_num_threads");
  compiled.shared_bytes = number("max_shared_memory_per_block");
  return compiled;
}

KernelSpec read_kernel(const json& object, size_t operations, const std::string& where,
                       std::string& problem) {
  Reader reader(object, where, problem);
  KernelSpec kernel{reader.text("name"), reader.real("flops"), reader.number("bytes"), {}};
  for (const json& place : reader.list("operations")) {
    if (!place.is_number_unsigned() || place.get<uint64_t>() >= operations) {
      reader.fail("'operations' has an item that is not the place of an operation");
      break;
    }
    kernel.operations.push_back(place.get<uint32_t>());
  }
  return kernel;
}

Program read_program(Reader& reader, std::string& problem) {
  Program program;
  for (const json& item : reader.optional_list("operations")) {
    Reader operation(item, fmt::format("operations[{}]", program.operations.size()), problem);
    program.operations.push_back(
        {operation.text("name"), operation.text("tensor"), operation.text("source")});
  }
  for (const json& item : reader.optional_list("kernels")) {
    program.kernels.push_back(read_kernel(item, program.operations.size(),
                                          fmt::format("kernels[{}]", program.kernels.size()),
                                          problem));
  }
  return program;
}

}  // namespace

std::string metadata_to_json(const ArtefactMetadata& metadata) {
  json object = {{"format", kArtefactFormat},
                 {"producer", kProducer},
                 {"tvm", kTvmVersion},
                 {"target", json::parse(metadata.target_json, nullptr, /*allow_exceptions=*/false)},
                 {"cpu_features", metadata.cpu_features},
                 {"functions", {"main"}},
                 {"inputs", to_json(metadata.inputs)},
                 {"outputs", to_json(metadata.outputs)},
                 {"symbols", symbols_to_json(metadata.inputs)},
                 {"conditions", to_json(metadata.conditions)},
                 {"states", to_json(metadata.states)},
                 {"parameters", to_json(metadata.parameters)},
                 {"operations", to_json(metadata.program.operations)},
                 {"kernels", to_json(metadata.program.kernels)}};
  // Names are bytes of the model's files, not necessarily UTF-8.
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<ArtefactMetadata> metadata_from_json(const std::string& text, std::string& problem) {
  json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  problem.clear();
  ArtefactMetadata metadata;
  Reader reader(object, "the metadata", problem);
  if (const json* target = reader.find("target")) {
    metadata.target_json = target->dump();
    metadata.compiled_for = read_compiled_for(*target);
  }
  for (const json& feature : reader.list("cpu_features")) {
    if (!feature.is_string()) {
      reader.fail("'cpu_features' has an item that is not a string");
      break;
    }
    metadata.cpu_features.push_back(feature.get<std::string>());
  }
  const nnef::DimLookup symbols = read_symbols(object);
  auto tensors = [&](const char* key, std::vector<TensorSpec>& specs) {
    for (const json& item : reader.list(key)) {
      specs.push_back(
          read_tensor(item, symbols, fmt::format("{}[{}]", key, specs.size()), problem));
    }
  };
  tensors("inputs", metadata.inputs);
  tensors("outputs", metadata.outputs);
  for (const json& item : reader.optional_list("conditions")) {
    metadata.conditions.push_back(read_condition(
        item, symbols, fmt::format("conditions[{}]", metadata.conditions.size()), problem));
  }
  for (const json& item : reader.list("states")) {
    metadata.states.push_back(
        read_state(item, fmt::format("states[{}]", metadata.states.size()), problem));
  }
  for (const json& item : reader.list("parameters")) {
    metadata.parameters.push_back(
        read_parameter(item, fmt::format("parameters[{}]", metadata.parameters.size()), problem));
  }
  metadata.program = read_program(reader, problem);
  if (reader.failed()) return std::nullopt;
  return metadata;
}

std::optional<uint64_t> tensor_bytes(const TensorSpec& tensor) {
  constexpr uint64_t kLimit = uint64_t{1} << 60;
  uint64_t items = 1;
  for (int64_t extent : tensor.shape) {
    if (extent < 0) return std::nullopt;
    if (extent != 0 && items > kLimit / static_cast<uint64_t>(extent)) return std::nullopt;
    items *= static_cast<uint64_t>(extent);
  }
  uint64_t bits = uint64_t{tensor.dtype.bits} * tensor.dtype.lanes;
  if (bits == 0 || items > kLimit / bits) return std::nullopt;
  return (items * bits + 7) / 8;
}

std::string to_string(DLDataType dtype, const int64_t* shape, size_t rank) {
  return fmt::format("{}[{}]", std::string(ffi::DLDataTypeToString(dtype)),
                     fmt::join(std::span(shape, rank), ","));
}

}  // namespace nnef_runtime
