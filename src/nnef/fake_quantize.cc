// The entries of graph.quant as operations of the graph (NNEF 1.0.5, "Incorporating Quantization
// Info").
#include <fmt/format.h>

#include <map>
#include <set>
#include <utility>

#include "expander.h"
#include "nnef/quantization.h"
#include "quant_graph.h"

namespace nnef {
namespace {

class FakeQuantizer {
 public:
  FakeQuantizer(Graph& graph, const std::function<bool(std::string_view)>& keep_compound,
                Diagnostics& diagnostics)
      : graph_(graph), keep_(keep_compound), diagnostics_(diagnostics) {
    for (const Tensor& tensor : graph.tensors) names_.reserve(tensor.name);
    for (const TensorRef input : graph.inputs) inputs_.insert(input.index);
    for (const TensorRef output : graph.outputs) outputs_.insert(output.index);
    const auto labels = updated_labels(graph);
    for (const Operation& operation : graph.operations) {
      if (operation.name != "variable") continue;
      const OpView variable(graph, operation);
      if (labels.contains(label_key(variable.string("label"))))
        states_.insert(variable.result("output").index);
    }
  }

  bool run() {
    const size_t errors = diagnostics_.error_count();
    for (Operation& operation : std::exchange(graph_.operations, {})) {
      read_quantised(operation);
      std::vector<TensorRef> results;
      each_tensor(operation.outputs, [&](TensorRef& ref) { results.push_back(ref); });
      graph_.operations.push_back(std::move(operation));
      for (const TensorRef ref : results) {
        if (is_open(ref)) quantise(ref);
      }
    }
    for (TensorRef& output : graph_.outputs) replace(output);
    return diagnostics_.error_count() == errors;
  }

 private:
  void replace(TensorRef& ref) const {
    const auto found = quantised_.find(ref.index);
    if (found != quantised_.end()) ref = found->second;
  }

  /// What an update assigns to stays the variable itself.
  void read_quantised(Operation& operation) const {
    for (Argument& argument : operation.inputs) {
      if (operation.name == "update" && argument.name == "variable") continue;
      each_tensor(argument.value, [&](TensorRef& ref) { replace(ref); });
    }
  }

  /// Whether the tensor has an entry, and values that need not be on its grid.
  bool is_open(TensorRef ref) const {
    const Tensor& tensor = graph_[ref];
    if (!tensor.quantization) return false;
    const bool stored_quantised = tensor.data != nullptr && is_quantized(tensor.data->type);
    return !stored_quantised || states_.contains(ref.index);
  }

  void quantise(TensorRef ref) {
    const Quantization entry = *graph_[ref].quantization;
    if (!Declarations::standard().is_standard(entry.name)) return report_custom(ref, entry);
    const std::string name = graph_[ref].name;
    const std::string result = choose_name(ref);
    const std::string raw = graph_[ref].name;
    // Within the graph of the operation both names must differ; outside they need not.
    const QuantNames names{raw, result == raw ? raw + "_quantized" : result, name + "_"};
    auto operations = quantization_graph(graph_[ref], names, diagnostics_);
    if (operations && keep_ && !keep_(entry.name))
      operations = expanded(*operations, entry, keep_, diagnostics_);
    if (operations) splice(std::move(*operations), ref, result);
  }

  /// What the outside knows by its name keeps it: inputs and states as they are, others quantised.
  /// Returns the name of the quantised tensor.
  std::string choose_name(TensorRef ref) {
    Tensor& tensor = graph_[ref];
    if (!inputs_.contains(ref.index) && !states_.contains(ref.index))
      return std::exchange(tensor.name, names_.unique(tensor.name + "_unquantized"));
    if (outputs_.contains(ref.index)) return tensor.name;
    return names_.unique(tensor.name + "_quantized");
  }

  void splice(Graph operations, TensorRef raw, const std::string& name) {
    const bool keeps_entry = graph_[raw].data != nullptr && is_quantized(graph_[raw].data->type);
    if (!keeps_entry) graph_[raw].quantization.reset();
    std::map<uint32_t, TensorRef> places{{operations.inputs.front().index, raw}};
    const TensorRef result = operations.outputs.front();
    for (size_t i = 0; i < operations.tensors.size(); ++i) {
      const auto index = static_cast<uint32_t>(i);
      if (places.contains(index)) continue;
      Tensor tensor = std::move(operations.tensors[i]);
      const bool is_result = index == result.index;
      if (is_result) tensor.item = graph_[raw].item;
      tensor.name = is_result ? name : names_.unique(tensor.name);
      places[index] = {static_cast<uint32_t>(graph_.tensors.size())};
      graph_.tensors.push_back(std::move(tensor));
    }
    for (Operation& operation : operations.operations) {
      if (operation.name == "external") continue;
      const auto move = [&](TensorRef& ref) { ref = places.at(ref.index); };
      each_tensor(operation.inputs, move);
      each_tensor(operation.outputs, move);
      graph_.operations.push_back(std::move(operation));
    }
    quantised_[raw.index] = places.at(result.index);
  }

  void report_custom(TensorRef ref, const Quantization& entry) {
    diagnostics_
        .error("quant/custom-operation", entry.where,
               fmt::format("'{}' cannot be applied to tensor '{}': only quantization operations of "
                           "the standard can",
                           entry.name, graph_[ref].name))
        .help("write the operation into the graph, or ignore the entries (nnefc: --quant ignore)");
  }

  Graph& graph_;
  const std::function<bool(std::string_view)>& keep_;
  Diagnostics& diagnostics_;
  TensorNames names_;
  std::set<uint32_t> inputs_;
  std::set<uint32_t> outputs_;
  std::set<uint32_t> states_;                ///< variables that are updated
  std::map<uint32_t, TensorRef> quantised_;  ///< by the tensor that is not
};

}  // namespace

bool fake_quantize(Graph& graph, const std::function<bool(std::string_view)>& keep_compound,
                   Diagnostics& diagnostics) {
  return FakeQuantizer(graph, keep_compound, diagnostics).run();
}

}  // namespace nnef
