#include "tvm/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "small_model.h"

namespace nnef_tvm {
namespace {

using nlohmann::json;

class Json : public ::testing::Test {
 protected:
  void SetUp() override {
    text = to_json(small_model::conv_model().module);
    graph = json::parse(text);
  }

  /// The first node of a type.
  json& node(const std::string& type) {
    for (json& item : graph["nodes"]) {
      if (item["type"] == type) return item;
    }
    ADD_FAILURE() << "no node of type " << type;
    return graph["nodes"][0];
  }

  size_t place_of_null() {
    size_t place = 0;
    while (graph["nodes"][place]["type"] != "None") ++place;
    return place;
  }

  /// What reading the changed graph reports; "" when it is read.
  std::string fault() {
    try {
      from_json(graph.dump());
      return "";
    } catch (const ffi::Error& error) {
      return error.message();
    }
  }

  void expect_fault(const std::string& part) {
    const std::string message = fault();
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }

  std::string text;
  json graph;
};

TEST_F(Json, ComesBackTheSame) {
  EXPECT_EQ(to_json(from_json(text)), text);
  EXPECT_EQ(fault(), "");
}

TEST_F(Json, KeepsTensors) {
  const Expr value = constant(small_model::numbers({2, 3}, 1));
  const auto again = field<ffi::Tensor>(from_json(to_json(value)), "value");
  EXPECT_EQ(small_model::values(again), small_model::values(small_model::numbers({2, 3}, 1)));
}

TEST_F(Json, RefusesReferencesForward) {
  node("ffi.Array")["data"].push_back(graph["nodes"].size() - 1);
  expect_fault("is not the number of a node before it");
}

TEST_F(Json, RefusesReferencesOutside) {
  node("ir.Call")["data"]["args"] = -1;
  expect_fault("'args' is not the number of a node before it");
}

TEST_F(Json, RefusesNullWhereAnObjectIsNeeded) {
  node("ir.Call")["data"]["args"] = place_of_null();
  expect_fault("a ir.Call has no 'args'");
}

TEST_F(Json, RefusesOperatorsWithoutTheirAttributes) {
  node("ir.Call")["data"]["attrs"] = place_of_null();
  expect_fault("has no relax.attrs.Conv2DAttrs");
}

TEST_F(Json, RefusesOperatorsWithoutTheirArguments) {
  json& call = node("ir.Call");
  json& args = graph["nodes"][call["data"]["args"].get<size_t>()];
  args["data"].erase(0);
  expect_fault("a call of 'relax.nn.conv2d' has 1 arguments, not 2");
}

TEST_F(Json, RefusesUnknownTypes) {
  node("relax.expr.VarBinding")["type"] = "relax.expr.NoSuchBinding";
  expect_fault("'relax.expr.NoSuchBinding', which TVM 0.27.0.post1 does not have");
}

TEST_F(Json, RefusesDamagedTensors) {
  const json whole = json::parse(to_json(constant(small_model::numbers({2, 3}, 1))));
  size_t place = 0;
  while (whole["nodes"][place]["type"] != "ffi.Tensor") ++place;
  const auto base64 = whole["nodes"][place]["data"].get<std::string>();
  std::string other_rank = base64;
  other_rank.replace(32, 4, "////");
  for (const std::string& damaged :
       {base64.substr(0, base64.size() - 4), base64 + "AAAA", base64.substr(0, 40), std::string(),
        other_rank, "*" + base64.substr(1)}) {
    graph = whole;
    graph["nodes"][place]["data"] = damaged;
    expect_fault("it is no tensor in the CPU's memory");
  }
}

TEST_F(Json, RefusesWhatIsNestedTooDeeply) {
  graph = {{"root_index", 3000}, {"nodes", {{{"type", "int"}, {"data", 1}}}}};
  for (int i = 0; i < 3000; ++i) {
    graph["nodes"].push_back({{"type", "ffi.Array"}, {"data", {i}}});
  }
  expect_fault("is nested more than 2000 nodes deep");
}

}  // namespace
}  // namespace nnef_tvm
