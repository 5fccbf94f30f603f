// Item types of all tensors: one walk over the operations. The rule for mixed types stands in
// docs/semantics.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "stages.h"

namespace nnef {
namespace {

/// Operations whose results keep the item type of one operand, whatever the others are.
struct KeptOperand {
  std::string_view operation;
  std::string_view operand;
};
constexpr std::array kKeptOperands{
    KeptOperand{"gather", "input"},
    KeptOperand{"sample", "input"},
    KeptOperand{"desample", "input"},
    KeptOperand{"update", "variable"},
};

/// Operations whose integer results are positions, of the default type.
constexpr std::array<std::string_view, 4> kPositions{"argmax_reduce", "argmin_reduce",
                                                     "argmax_pool", "max_pool_with_index"};

bool is_integer(const ItemType& type) {
  return type.code == ItemCode::int_ || type.code == ItemCode::uint_;
}

/// The smallest type of at least `bits` bits that items are computed in.
uint32_t whole_width(uint32_t bits) {
  constexpr std::array<uint32_t, 3> narrow{8, 16, 32};
  const auto* found = std::ranges::find_if(narrow, [&](uint32_t width) { return bits <= width; });
  return found != narrow.end() ? *found : 64;
}

/// The narrowest type that holds all items of both; int64 for uint64 with a signed type.
ItemType promote(const ItemType& a, const ItemType& b) {
  if (a.code == b.code) return a.bits >= b.bits ? a : b;
  if (!is_integer(a) || !is_integer(b)) return a;
  const ItemType& is_signed = a.code == ItemCode::int_ ? a : b;
  const ItemType& is_unsigned = a.code == ItemCode::int_ ? b : a;
  const uint32_t bits = std::max(is_signed.bits, whole_width(is_unsigned.bits + 1));
  return {ItemCode::int_, 0, bits};
}

/// The type in which the stored items of a variable are computed with.
ItemType computed_type(DType dtype, const ItemType& stored) {
  ItemType type{stored.code, 0, whole_width(stored.bits)};
  if (dtype == DType::integer) {
    if (stored.code == ItemCode::quantized_int) type.code = ItemCode::int_;
    if (stored.code == ItemCode::quantized_uint) type.code = ItemCode::uint_;
    return is_integer(type) ? type : default_item(dtype);
  }
  return type.code == default_item(dtype).code ? type : default_item(dtype);
}

bool is_kind(DType dtype, const ItemType& type) {
  if (type.vendor != 0 || (type.bits != whole_width(type.bits))) return false;
  if (dtype == DType::integer) return is_integer(type);
  if (dtype == DType::logical) return type == default_item(DType::logical);
  return type.code == ItemCode::float_ && type.bits >= 16;
}

class ItemInference {
 public:
  ItemInference(Graph& graph, const InputTypes& inputs, Diagnostics& diagnostics)
      : graph_(graph), inputs_(inputs), diagnostics_(diagnostics) {}

  void run() {
    for (const auto& [name, type] : inputs_) check_input(name, type);
    for (const Operation& operation : graph_.operations) run(operation);
  }

  void run(const Operation& operation) {
    each_tensor(operation.outputs, [&](TensorRef ref) { set(operation, graph_[ref]); });
  }

 private:
  void check_input(const std::string& name, const ItemType& type) {
    const auto input = std::ranges::find_if(
        graph_.inputs, [&](TensorRef ref) { return graph_[ref].name == name; });
    if (input == graph_.inputs.end()) {
      report_unknown_input(graph_, "an item type", name, diagnostics_);
      return;
    }
    const Tensor& tensor = graph_[*input];
    if (is_kind(tensor.dtype, type)) return;
    constexpr std::array<std::string_view, 3> kinds{
        "float16, float32 and float64", "int and uint of 8, 16, 32 and 64 bits", "bool8"};
    diagnostics_
        .error("infer/input-type", tensor.where,
               fmt::format("the item type {} given for input '{}' cannot hold its type {}",
                           to_string(type), name, to_string(tensor.dtype)))
        .help(fmt::format("its item types are {}", kinds.at(static_cast<size_t>(tensor.dtype))));
  }

  void set(const Operation& operation, Tensor& tensor) {
    const ItemType usual = default_item(tensor.dtype);
    const ItemType before = std::exchange(tensor.item, usual);
    if (operation.name == "external") {
      const auto given = inputs_.find(tensor.name);
      tensor.item = given != inputs_.end()          ? given->second
                    : is_kind(tensor.dtype, before) ? before
                                                    : usual;
    } else if (const auto item = operation.resolved.find("item");
               item != operation.resolved.end()) {
      const auto type = parse_item_type(*item->second.get<std::string>());
      tensor.item = type && is_kind(tensor.dtype, *type) ? *type : usual;
    } else if (operation.name == "variable") {
      if (tensor.data != nullptr) tensor.item = computed_type(tensor.dtype, tensor.data->type);
    } else if (std::ranges::find(kPositions, operation.name) == kPositions.end() ||
               tensor.dtype != DType::integer) {
      tensor.item = of_operands(operation, tensor.dtype).value_or(usual);
    }
  }

  /// Promotes the operands of a primitive type.
  std::optional<ItemType> of_operands(const Operation& operation, DType dtype) const {
    const auto kept = std::ranges::find(kKeptOperands, operation.name, &KeptOperand::operation);
    std::optional<ItemType> type;
    const auto add = [&](const ItemType& other) { type = type ? promote(*type, other) : other; };
    for (const Argument& input : operation.inputs) {
      if (kept != kKeptOperands.end() && input.name != kept->operand) continue;
      each_tensor(input.value, [&](TensorRef ref) {
        if (graph_[ref].dtype == dtype) add(graph_[ref].item);
      });
    }
    if (dtype == DType::integer && !fit(operation, type.value_or(default_item(dtype)))) {
      add({ItemCode::int_, 0, 64});
    }
    return type;
  }

  /// Whether all integer literals among the operands (and items of a constant) are values of a
  /// type.
  static bool fit(const Operation& operation, const ItemType& type) {
    if (type.bits == 64) return true;
    const int64_t low = type.code == ItemCode::int_ ? -(int64_t{1} << (type.bits - 1)) : 0;
    const int64_t high = low + (int64_t{1} << type.bits) - 1;
    bool all = true;
    const auto check = [&](const Value& value) {
      const auto* literal = value.get<int64_t>();
      all = all && (literal == nullptr || (*literal >= low && *literal <= high));
    };
    each_item(operation.inputs, check);
    if (operation.name != "constant") return all;
    for (const Argument& attribute : operation.attributes) {
      if (attribute.name == "value") each_item(attribute.value, check);
    }
    return all;
  }

  Graph& graph_;
  const InputTypes& inputs_;
  Diagnostics& diagnostics_;
};

}  // namespace

void infer_items(Graph& graph, const Operation& operation) {
  Diagnostics none;
  ItemInference(graph, {}, none).run(operation);
}

void infer_items(Graph& graph, const InputTypes& input_types, Diagnostics& diagnostics) {
  ItemInference(graph, input_types, diagnostics).run();
}

}  // namespace nnef
