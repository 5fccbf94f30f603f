#include "nnef/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "model_files.h"
#include "quant_graph.h"
#include "stages.h"
#include "tract_variables.h"
#include "variables.h"

namespace nnef {
namespace {

/// Weights stand in .dat files; a text beyond this is not a graph.
constexpr uint64_t kMaxTextBytes = uint64_t{256} << 20;

SourcePtr read_text(const ModelFiles& files, const std::string& name, Diagnostics& diagnostics) {
  const auto content = files.read(name, diagnostics);
  if (!content) return nullptr;
  const std::string display_name = files.display_name(name);
  if (content->bytes.size() > kMaxTextBytes) {
    diagnostics.file_error("model/text-size", display_name, std::nullopt,
                           fmt::format("the text has {} bytes, expected at most {}",
                                       content->bytes.size(), kMaxTextBytes));
    return nullptr;
  }
  std::string text(reinterpret_cast<const char*>(content->bytes.data()), content->bytes.size());
  return std::make_shared<Source>(display_name, std::move(text));
}

/// Entries of graph.quant may name fragments of the document, whose bodies the flat graph has no
/// use for: they are kept for the writer then, as they were written.
void keep_definitions(Graph& graph, const ast::Document& document,
                      const Declarations& declarations) {
  const bool needed = std::ranges::any_of(graph.tensors, [&](const Tensor& tensor) {
    if (!tensor.quantization || declarations.is_standard(tensor.quantization->name)) return false;
    return declarations.find(tensor.quantization->name)->has_body;
  });
  if (!needed) return;
  for (const ast::Fragment& fragment : document.fragments) {
    const Location& where = fragment.where;
    const auto text = where.source->text().substr(where.begin, where.end - where.begin);
    if (fragment.has_body) graph.custom.push_back({fragment.name, std::string(text)});
  }
  graph.extensions.clear();
  for (const ast::Identifier& extension : document.extensions)
    graph.extensions.push_back(extension.name);
}

/// All stages but the reading of data. The graph may be there in spite of errors: of shapes, or of
/// quantisation.
std::optional<Graph> build(SourcePtr text, SourcePtr quant, const ModelFiles* files,
                           const LoadOptions& options, Diagnostics& diagnostics) {
  const size_t errors_before = diagnostics.error_count();
  const ast::Document document = parse(std::move(text), diagnostics, options.dialect);
  const bool parsed = diagnostics.error_count() == errors_before;
  std::vector<ast::QuantizationEntry> quantization;
  if (quant != nullptr)
    quantization = parse_quantization(std::move(quant), diagnostics, document.dialect);
  if (!parsed) return std::nullopt;

  const size_t errors_parsed = diagnostics.error_count();
  const bool tract = document.dialect == Dialect::tract;
  Declarations declarations = Declarations::of(document.dialect);
  declarations.add_registered();
  declarations.add(document, diagnostics);
  check(document, declarations, diagnostics);
  if (diagnostics.error_count() != errors_parsed) return std::nullopt;
  const auto keep_all = [](std::string_view) { return true; };
  ExpansionInputs inputs{options.input_shapes, {}};
  TractVariables variables(files, quantization, diagnostics);
  if (tract && files != nullptr) inputs.read_variable = std::ref(variables);
  auto graph =
      expand(document, declarations, options.keep_compound ? options.keep_compound : keep_all,
             diagnostics, inputs);
  if (!graph) return std::nullopt;
  attach_quantization(*graph, quantization, declarations, diagnostics);
  if (!tract) {
    keep_definitions(*graph, document, declarations);
    infer(*graph, options.input_shapes, diagnostics);
    if (files != nullptr && options.read_data) read_variables(*graph, *files, diagnostics);
  }
  check_quantization(*graph, diagnostics);
  return graph;
}

}  // namespace

std::optional<Graph> load_text(SourcePtr text, SourcePtr quant, const LoadOptions& options,
                               Diagnostics& diagnostics) {
  const size_t errors_before = diagnostics.error_count();
  auto graph = build(std::move(text), std::move(quant), nullptr, options, diagnostics);
  if (graph) infer_items(*graph, options.input_types, diagnostics);
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return graph;
}

std::optional<Graph> load_model(const std::string& path, const LoadOptions& options,
                                Diagnostics& diagnostics) {
  const size_t errors_before = diagnostics.error_count();
  const auto files = ModelFiles::open(path, diagnostics);
  if (files == nullptr) return std::nullopt;
  SourcePtr text = read_text(*files, files->graph_name(), diagnostics);
  SourcePtr quant;
  if (files->contains(files->quantization_name()))
    quant = read_text(*files, files->quantization_name(), diagnostics);
  if (text == nullptr) return std::nullopt;
  auto graph = build(std::move(text), std::move(quant), files.get(), options, diagnostics);
  if (graph) infer_items(*graph, options.input_types, diagnostics);
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return graph;
}

}  // namespace nnef
