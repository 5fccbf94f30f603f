#include "compile/tune/plan_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

namespace nnef_tvm {
namespace {

using Json = nlohmann::ordered_json;
using Rule = ReductionPlan::Rule;

struct RuleName {
  Rule rule;
  const char* name;
};
constexpr std::array<RuleName, 3> kRules = {
    {{Rule::kGeneral, "general"}, {Rule::kRow, "row"}, {Rule::kTile, "tile"}}};

constexpr int64_t kMostPieces = 1 << 12;
constexpr int64_t kMostVectors = 8;

Json to_json(const Nest& nest) {
  Json json{{"chunks", nullptr},
            {"reduction_block", nest.reduction_block},
            {"prefetches", nest.prefetches}};
  if (nest.chunks) json["chunks"] = {nest.chunks->axis, nest.chunks->count};
  return json;
}

Json to_json(const ReductionPlan& plan) {
  const auto row = std::find_if(kRules.begin(), kRules.end(),
                                [&](const RuleName& item) { return item.rule == plan.rule; });
  Json json{{"rule", row->name}};
  if (plan.rule != Rule::kTile) return json;
  json["axis"] = plan.tile.vector_axis;
  json["lanes"] = plan.tile.lanes;
  json["vectors"] = plan.tile.vectors;
  json["packs_strided"] = plan.tile.packs_strided;
  json["parts"] = Json::array();
  for (const TilePart& part : plan.tile.parts) json["parts"].push_back({part.axis, part.extent});
  json["unrolled"] = plan.unrolled;
  json["nest"] = plan.nest ? to_json(*plan.nest) : Json(nullptr);
  return json;
}

// The library throws for what is missing or of another type; all of it is one failure here.

Nest read_nest(const Json& json) {
  Nest nest;
  nest.reduction_block = json.at("reduction_block").get<int64_t>();
  nest.prefetches = json.at("prefetches").get<bool>();
  const Json& chunks = json.at("chunks");
  if (!chunks.is_null()) nest.chunks = {chunks.at(0).get<size_t>(), chunks.at(1).get<int64_t>()};
  return nest;
}

ReductionPlan read_reduction(const Json& json) {
  const std::string name = json.at("rule").get<std::string>();
  const auto row = std::find_if(kRules.begin(), kRules.end(),
                                [&](const RuleName& item) { return item.name == name; });
  if (row == kRules.end()) throw std::invalid_argument(name);
  ReductionPlan plan;
  plan.rule = row->rule;
  if (plan.rule != Rule::kTile) return plan;
  plan.tile.vector_axis = json.at("axis").get<size_t>();
  plan.tile.lanes = json.at("lanes").get<int64_t>();
  plan.tile.vectors = json.at("vectors").get<int64_t>();
  plan.tile.packs_strided = json.at("packs_strided").get<bool>();
  for (const Json& part : json.at("parts")) {
    plan.tile.parts.push_back({part.at(0).get<size_t>(), part.at(1).get<int64_t>()});
  }
  plan.unrolled = json.at("unrolled").get<bool>();
  if (!json.at("nest").is_null()) plan.nest = read_nest(json.at("nest"));
  return plan;
}

int64_t read_number(const Json& json, const char* name, int64_t most) {
  const int64_t value = json.at(name).get<int64_t>();
  if (value < 1 || value > most || (value & (value - 1)) != 0) throw std::invalid_argument(name);
  return value;
}

}  // namespace

Json to_json(const KernelPlan& plan) {
  Json json{{"fused_rows", plan.fused_rows},
            {"pieces_per_core", plan.pieces_per_core},
            {"item_vectors", plan.item_vectors},
            {"reductions", Json::array()}};
  for (const ReductionPlan& reduction : plan.reductions) {
    json["reductions"].push_back(to_json(reduction));
  }
  return json;
}

std::optional<KernelPlan> kernel_plan(const Json& json) {
  try {
    KernelPlan plan;
    plan.fused_rows = json.at("fused_rows").get<bool>();
    plan.pieces_per_core = read_number(json, "pieces_per_core", kMostPieces);
    plan.item_vectors = read_number(json, "item_vectors", kMostVectors);
    for (const Json& item : json.at("reductions")) plan.reductions.push_back(read_reduction(item));
    return plan;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

Json to_json(const std::optional<WinogradPlan>& plan) {
  if (!plan) return nullptr;
  return {{"tile", plan->tile},
          {"vectors", plan->vectors},
          {"block_rows", plan->block_rows},
          {"rows", plan->rows}};
}

std::optional<std::optional<WinogradPlan>> winograd_plan(const Json& json) {
  if (json.is_null()) return std::optional<WinogradPlan>();
  try {
    WinogradPlan plan;
    plan.tile = json.at("tile").get<int64_t>();
    plan.vectors = json.at("vectors").get<int64_t>();
    plan.block_rows = json.at("block_rows").get<int64_t>();
    plan.rows = json.at("rows").get<int64_t>();
    if (plan.tile != 2 && plan.tile != 4) return std::nullopt;
    return plan;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace nnef_tvm
