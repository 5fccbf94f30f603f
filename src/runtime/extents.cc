#include "runtime/extents.h"

#include <fmt/format.h>
#include <tvm/ffi/dtype.h>

#include <algorithm>
#include <map>

#include "runtime/metadata.h"

namespace nnef_runtime {
namespace {

using nnef::Dim;

/// The symbol that an extent is by itself; null for others.
const nnef::DimAtom* lone_symbol(const Dim& extent) {
  const nnef::DimExpr* expr = extent.expression();
  if (expr == nullptr || expr->constant != 0 || expr->terms.size() != 1) return nullptr;
  const nnef::DimTerm& term = expr->terms[0];
  const bool alone = term.factor == 1 && term.atoms.size() == 1 &&
                     term.atoms[0]->kind == nnef::DimAtom::Kind::symbol;
  return alone ? term.atoms[0].get() : nullptr;
}

std::string range_text(const nnef::DimAtom& symbol) {
  if (symbol.most == Dim::kUnbounded) return fmt::format("{} or more", symbol.least);
  return fmt::format("{} to {}", symbol.least, symbol.most);
}

class SymbolCheck {
 public:
  SymbolCheck(const std::vector<TensorSpec>& specs, nnef::Diagnostics& diagnostics)
      : specs_(specs), diagnostics_(diagnostics) {}

  bool bind(size_t input, size_t axis, int64_t extent) {
    const nnef::DimAtom* symbol = lone_symbol(specs_[input].extents[axis]);
    if (symbol == nullptr) return true;
    if (extent < symbol->least || extent > symbol->most) {
      return fault("extent", fmt::format("input '{}' has extent {} on axis {}, expected {} ({})",
                                         specs_[input].name, extent, axis, range_text(*symbol),
                                         symbol->text));
    }
    const auto [place, fresh] = values_.emplace(symbol->text, extent);
    if (fresh) sources_[symbol->text] = specs_[input].name;
    return fresh || place->second == extent ||
           fault("symbol",
                 fmt::format("input '{}' has extent {} on axis {}, expected {}: {} is {} "
                             "by input '{}'",
                             specs_[input].name, extent, axis, nnef::to_string(place->second),
                             symbol->text, nnef::to_string(place->second), sources_[symbol->text]));
  }

  bool compare(size_t input, size_t axis, int64_t extent) {
    const Dim& wanted = specs_[input].extents[axis];
    const Dim value = substitute(wanted, values_);
    if (value == extent) return true;
    return fault("symbol", fmt::format("input '{}' has extent {} on axis {}, expected {} ({}, {})",
                                       specs_[input].name, extent, axis, nnef::to_string(value),
                                       nnef::to_string(wanted), values_of(wanted)));
  }

  bool hold(const ShapeCondition& condition) {
    const Dim rest = substitute(condition.left - condition.right, values_);
    if (rest.known() && (condition.equal ? rest.value() == 0 : rest.value() >= 0)) return true;
    return fault("condition",
                 fmt::format("the inputs' extents do not suit the model: {} {} {} does not hold, "
                             "{} ({})",
                             nnef::to_string(condition.left),
                             condition.equal ? "==" : ">=", nnef::to_string(condition.right),
                             values_of(condition.left - condition.right), condition.reason));
  }

 private:
  /// "S is 3 and P is 4"
  std::string values_of(const Dim& extent) const {
    std::map<std::string, std::string> parts;
    nnef::each_symbol(extent, [&](const nnef::DimAtom& symbol) {
      const auto found = values_.find(symbol.text);
      if (found != values_.end()) parts[symbol.text] = nnef::to_string(found->second);
    });
    std::string text;
    for (const auto& [name, value] : parts)
      text += fmt::format("{}{} is {}", text.empty() ? "" : " and ", name, value);
    return text;
  }

  bool fault(const char* id, std::string message) {
    diagnostics_.error(fmt::format("run/input-{}", id), {}, std::move(message));
    return false;
  }

  const std::vector<TensorSpec>& specs_;
  nnef::Diagnostics& diagnostics_;
  nnef::DimValues values_;
  std::map<std::string, std::string> sources_;  ///< of symbols: the input that says it first
};

}  // namespace

std::string to_string(const TensorSpec& spec) {
  if (spec.extents.empty()) return to_string(spec.dtype, spec.shape.data(), spec.shape.size());
  return std::string(::tvm::ffi::DLDataTypeToString(spec.dtype)) + nnef::to_string(spec.extents);
}

bool check_symbols(const std::vector<::tvm::ffi::Tensor>& inputs,
                   const std::vector<TensorSpec>& specs,
                   const std::vector<ShapeCondition>& conditions, nnef::Diagnostics& diagnostics) {
  SymbolCheck check(specs, diagnostics);
  const auto each_extent = [&](const auto& visit) {
    for (size_t i = 0; i < specs.size(); ++i) {
      for (size_t axis = 0; axis < specs[i].extents.size(); ++axis) {
        if (!visit(i, axis, inputs[i].size(static_cast<int64_t>(axis)))) return false;
      }
    }
    return true;
  };
  if (!each_extent([&](auto... at) { return check.bind(at...); })) return false;
  if (!each_extent([&](auto... at) { return check.compare(at...); })) return false;
  return std::ranges::all_of(
      conditions, [&](const ShapeCondition& condition) { return check.hold(condition); });
}

}  // namespace nnef_runtime
