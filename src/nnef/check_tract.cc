// The static checks of tract's dialect: names, and the lists of arguments. What a value is, is seen
// when it is computed.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "checker.h"

namespace nnef {
namespace {

using ast::Expr;

/// Operations of tract that are refused, and why; the others that have no declaration are unknown.
struct Refusal {
  std::string_view name;
  std::string_view reason;
};
constexpr std::string_view kState = "it keeps a state from one run to the next";
constexpr std::string_view kRandom = "its result is random";
constexpr std::string_view kDataSize = "the shape of its result depends on the data";
constexpr std::string_view kTrees = "decision trees and look-ups of classes are not supported";
constexpr std::string_view kQuantised = "arithmetic on quantised items is not supported";
constexpr std::array kRefusals{
    Refusal{"tract_pulse_delay", kState},
    Refusal{"tract_pulse_mask", kState},
    Refusal{"tract_pulse_pulse_pad", kState},
    Refusal{"tract_transformers_dyn_kv_cache", kState},
    Refusal{"tract_transformers_quantized_dyn_kv_cache", kState},
    Refusal{"tract_transformers_window_kv_sdpa", kState},
    Refusal{"tract_transformers_quantized_kv_sdpa", kState},
    Refusal{"tract_transformers_causal_conv1d_update", kState},
    Refusal{"tract_onnx_multinomial", kRandom},
    Refusal{"tract_onnx_random", kRandom},
    Refusal{"tract_onnx_non_max_suppression", kDataSize},
    Refusal{"tract_onnx_non_zero", kDataSize},
    Refusal{"tract_onnx_ml_direct_lookup", kTrees},
    Refusal{"tract_onnx_ml_reverse_lookup", kTrees},
    Refusal{"tract_onnx_ml_tree_ensemble_classifier", kTrees},
    Refusal{"tract_core_einsum_q", kQuantised},
    Refusal{"tract_core_qmatmul", kQuantised},
    Refusal{"tract_core_qconv", kQuantised},
    Refusal{"tract_resource_get", "files of resources are not read"},
};

/// Whether all parameters are tensors: then the operation goes item by item.
bool is_elementwise(const ast::Fragment& fragment) {
  return std::ranges::all_of(fragment.parameters, [](const ast::Parameter& parameter) {
    return holds_tensor(parameter.type);
  });
}

}  // namespace

void Checker::check_dynamic(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::identifier:
      type_of_identifier(expr);
      return;
    case Expr::Kind::comprehension:
      type_of_comprehension(expr);
      return;
    case Expr::Kind::invocation:
      type_of_invocation(expr);
      return;
    default:
      for (const ast::ExprPtr& item : expr.items) {
        if (item) check_dynamic(*item);
      }
  }
}

void Checker::check_dynamic_fragment(const ast::Fragment& fragment) {
  fragment_ = &fragment;
  begin_body(fragment.body);
  check_parameters(fragment);
  if (fragment.has_body) {
    check_body(fragment.body);
    check_result_types(fragment);
  }
  fragment_ = nullptr;
}

bool Checker::ignore_argument(const ast::NamedArgument& argument, const ast::Fragment& fragment) {
  if (!is_elementwise(fragment)) return false;
  if (ignorant_.insert(&fragment).second) {
    diagnostics_.warning(
        "check/ignored-argument", argument.name_where,
        fmt::format("'{}' has no parameter '{}': the argument has no effect, as in tract",
                    fragment.name, argument.name));
  }
  return true;
}

/// All in one message: whoever has to supply them wants the whole list.
void Checker::report_unresolved() {
  if (unresolved_.empty()) return;
  std::vector<std::string> names;
  std::map<std::string_view, const Expr*> first;
  for (const Expr* expr : unresolved_) {
    if (first.emplace(expr->text, expr).second) names.push_back(expr->text);
  }
  Diagnostic& diagnostic = diagnostics_.error(
      "check/unresolved-operations", unresolved_[0]->text_where,
      fmt::format("{} {} not known: '{}'", names.size(),
                  names.size() == 1 ? "operation is" : "operations are", fmt::join(names, "', '")));
  for (const std::string& name : names) {
    const auto refusal = std::ranges::find(kRefusals, name, &Refusal::name);
    const std::string nearest = nearest_name(name, declarations_.names());
    std::string text = fmt::format("'{}' is used", name);
    if (refusal != kRefusals.end()) {
      text = fmt::format("'{}' is refused: {}", name, refusal->reason);
    } else if (!nearest.empty()) {
      text = fmt::format("'{}' is used; did you mean '{}'?", name, nearest);
    }
    diagnostic.note(std::move(text), first[name]->text_where);
  }
  diagnostic.help(
      "an operation that is built in nowhere is given by a fragment with a body in the document, "
      "or "
      "by a plug-in: --plugin FILE");
}

}  // namespace nnef
