// Plans as JSON: the choices alone, without what follows from them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "compile/schedule/cpu/plan.h"
#include "compile/schedule/cpu/winograd_plan.h"

namespace nnef_tvm {

nlohmann::ordered_json to_json(const KernelPlan& plan);
/// Nullopt when it is no plan.
std::optional<KernelPlan> kernel_plan(const nlohmann::ordered_json& json);

/// Null for direct convolution.
nlohmann::ordered_json to_json(const std::optional<WinogradPlan>& plan);
/// The choices of a plan for complete_winograd(); the outer nullopt when it is no plan.
std::optional<std::optional<WinogradPlan>> winograd_plan(const nlohmann::ordered_json& json);

}  // namespace nnef_tvm
