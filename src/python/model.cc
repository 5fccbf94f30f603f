#include "python/model.h"

#include <fmt/format.h>

#include "nnef/quantization.h"

namespace nnef_tvm::python {
namespace {

template <typename T>
std::optional<T> option(const Map<String, Any>& options, const char* name) {
  const auto found = options.find(name);
  if (found == options.end() || (*found).second == nullptr) return std::nullopt;
  return (*found).second.cast<T>();
}

std::optional<nnef::ItemType> item_type(const std::string& text, nnef::Diagnostics& diagnostics) {
  const auto type = nnef::parse_item_type(text == "bool" ? "bool8" : text);
  if (!type) {
    diagnostics.error("python/item-type", {}, fmt::format("'{}' is no item type", text))
        .help(
            "item types are float16 to float64, int8 to int64, uint8 to uint64, and bool of "
            "logicals");
  }
  return type;
}

/// Whether items of the type can be those of a tensor of the primitive type.
bool suits(const nnef::ItemType& type, nnef::DType primitive) {
  if (primitive == nnef::DType::logical) return type.code == nnef::ItemCode::bool_;
  if (primitive == nnef::DType::scalar) return type.code == nnef::ItemCode::float_;
  return type.code == nnef::ItemCode::int_ || type.code == nnef::ItemCode::uint_;
}

bool set_types(const std::string& path, const Map<String, Any>& options, nnef::LoadOptions& load,
               nnef::Diagnostics& diagnostics) {
  if (const auto all = option<String>(options, "type")) {
    const auto type = item_type(*all, diagnostics);
    if (!type) return false;
    nnef::LoadOptions headers = load;
    headers.read_data = false;
    nnef::Diagnostics again;  // what it has to say comes once more
    const auto graph = nnef::load_model(path, headers, again);
    for (size_t i = 0; graph && i < graph->inputs.size(); ++i) {
      const nnef::Tensor& input = (*graph)[graph->inputs[i]];
      if (suits(*type, input.dtype)) load.input_types[input.name] = *type;
    }
  }
  const auto types = option<Map<String, String>>(options, "types");
  if (!types) return true;
  for (const auto& [name, text] : *types) {
    const auto type = item_type(text, diagnostics);
    if (!type) return false;
    load.input_types[name] = *type;
  }
  return true;
}

}  // namespace

std::optional<Model> load(const std::string& path, const Map<String, Any>& options,
                          nnef::Diagnostics& diagnostics) {
  Model model;
  model.raised = std::make_shared<std::optional<ffi::Error>>();
  nnef::LoadOptions load;
  using Conversions = Map<String, ffi::Function>;
  for (const auto& [name, convert] :
       option<Conversions>(options, "lowerings").value_or(Conversions())) {
    model.lowerings[name] = lowering_of(convert, model.raised);
  }
  using Shapes = Map<String, Array<Any>>;
  for (const auto& [name, extents] : option<Shapes>(options, "shapes").value_or(Shapes())) {
    load.input_shapes[name] = extents_from(extents);
  }
  if (const auto dialect = option<String>(options, "dialect")) {
    load.dialect = *dialect == "tract" ? nnef::Dialect::tract : nnef::Dialect::khronos;
  }
  load.keep_compound = [&](std::string_view operation) {
    return model.lowerings.contains(operation) || has_lowering(operation);
  };
  if (!set_types(path, options, load, diagnostics)) return std::nullopt;
  auto graph = nnef::load_model(path, load, diagnostics);
  if (!graph) return std::nullopt;
  if (option<String>(options, "quant").value_or("fake") == "fake" &&
      !nnef::fake_quantize(*graph, load.keep_compound, diagnostics)) {
    return std::nullopt;
  }
  model.graph = std::move(*graph);
  return model;
}

}  // namespace nnef_tvm::python
