#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "compile/compile.h"
#include "compile/tune/candidates.h"
#include "compile/tune/database.h"
#include "compile/tune/plan_json.h"
#include "nnef_runtime/session.h"
#include "small_model.h"
#include "temporary_folder.h"

namespace nnef_tvm {
namespace {

using small_model::only_id;
using Rule = ReductionPlan::Rule;

TuningRecord record(const std::string& kernel, double microseconds, int threads = 2) {
  return {.kernel = kernel,
          .name = "fused_" + kernel,
          .cpu = {"skylake", "avx avx2", threads},
          .plan = R"({"tile":4})",
          .microseconds = microseconds,
          .by_rule = 20};
}

class TuningFile : public TemporaryFolder {
 protected:
  TuningDatabase open(const std::string& name) { return {path(name), diagnostics_}; }
  double time_of(const TuningDatabase& database, const std::string& kernel, int threads = 2) {
    const TuningRecord* found = database.find(kernel, record(kernel, 0, threads).cpu);
    return found == nullptr ? 0 : found->microseconds;
  }
  std::string message() const { return nnef::format(diagnostics_); }

  nnef::Diagnostics diagnostics_;
};

TEST_F(TuningFile, KeepsRecords) {
  TuningDatabase written = open("folder/tuning.jsonl");
  EXPECT_EQ(written.size(), 0u);
  written.add(record("a", 10), diagnostics_);
  written.add(record("b", 12.5), diagnostics_);
  const TuningDatabase read = open("folder/tuning.jsonl");
  EXPECT_TRUE(diagnostics_.items().empty()) << message();
  EXPECT_EQ(read.size(), 2u);
  const TuningRecord* found = read.find("b", record("b", 0).cpu);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(to_line(*found), to_line(record("b", 12.5)));
  EXPECT_EQ(read.find("c", record("c", 0).cpu), nullptr);
}

TEST_F(TuningFile, TellsCpusAndThreadsApart) {
  TuningDatabase database;
  database.add(record("a", 10, 2), diagnostics_);
  database.add(record("a", 6, 4), diagnostics_);
  EXPECT_EQ(time_of(database, "a", 2), 10);
  EXPECT_EQ(time_of(database, "a", 4), 6);
  EXPECT_EQ(time_of(database, "a", 8), 0);
  EXPECT_EQ(database.find("a", {"haswell", "avx avx2", 2}), nullptr);
  EXPECT_EQ(database.find("a", {"skylake", "avx", 2}), nullptr);
}

TEST_F(TuningFile, MergesByConcatenation) {
  open("one").add(record("a", 10), diagnostics_);
  TuningDatabase two = open("two");
  two.add(record("a", 8), diagnostics_);
  two.add(record("b", 3), diagnostics_);
  write("both", read("two") + read("one"));
  const TuningDatabase both = open("both");
  EXPECT_EQ(both.size(), 2u);
  EXPECT_EQ(time_of(both, "a"), 8);
  EXPECT_EQ(time_of(both, "b"), 3);
  EXPECT_TRUE(diagnostics_.items().empty()) << message();
}

TEST_F(TuningFile, SurvivesAnInterruptedLine) {
  const std::string line = to_line(record("a", 10));
  write("tuning", line + "\n" + line.substr(0, line.size() / 2));
  TuningDatabase database = open("tuning");
  EXPECT_EQ(only_id(diagnostics_), "tuning/record");
  EXPECT_NE(message().find("line 2 is no record"), std::string::npos) << message();
  EXPECT_FALSE(diagnostics_.has_errors());
  database.add(record("b", 5), diagnostics_);
  const TuningDatabase again = open("tuning");
  EXPECT_EQ(time_of(again, "a"), 10);
  EXPECT_EQ(time_of(again, "b"), 5);
}

TEST_F(TuningFile, PassesOverWhatItDoesNotKnow) {
  nlohmann::ordered_json newer = nlohmann::ordered_json::parse(to_line(record("a", 1)));
  newer["version"] = TuningDatabase::kVersion + 1;
  nlohmann::ordered_json more = nlohmann::ordered_json::parse(to_line(record("b", 4)));
  more["remark"] = "of another program";
  nlohmann::ordered_json wrong = nlohmann::ordered_json::parse(to_line(record("c", 4)));
  wrong["microseconds"] = "four";
  write("tuning", newer.dump() + "\n\n[1]\nnothing\n" + more.dump() + "\n" + wrong.dump() + "\n");
  const TuningDatabase database = open("tuning");
  EXPECT_EQ(only_id(diagnostics_), "tuning/record tuning/version");
  EXPECT_NE(message().find("3 lines (the first is 3) are no record"), std::string::npos)
      << message();
  EXPECT_NE(message().find("line 1 is of a newer version"), std::string::npos) << message();
  EXPECT_EQ(database.size(), 1u);
  EXPECT_EQ(time_of(database, "b"), 4);
}

TEST_F(TuningFile, SaysWhatCannotBeReadOrWritten) {
  TuningDatabase folder = open(".");
  EXPECT_EQ(only_id(diagnostics_), "tuning/read");
  diagnostics_ = {};
  write("file", "");
  TuningDatabase database = open("file/tuning");
  database.add(record("a", 10), diagnostics_);
  database.add(record("b", 10), diagnostics_);
  EXPECT_EQ(only_id(diagnostics_), "tuning/write");
  EXPECT_FALSE(diagnostics_.has_errors());
  EXPECT_EQ(time_of(database, "b"), 10);
}

KernelPlan some_plan() {
  ReductionPlan tiled;
  tiled.rule = Rule::kTile;
  tiled.tile.vector_axis = 3;
  tiled.tile.lanes = 16;
  tiled.tile.vectors = 2;
  tiled.tile.parts = {{1, 2}, {2, 7}};
  tiled.nest = Nest{.chunks = Chunks{1, 4}, .reduction_block = 64};
  KernelPlan plan;
  plan.pieces_per_core = 32;
  plan.reductions = {tiled, {}, {}};
  plan.reductions[1].rule = Rule::kRow;
  return plan;
}

TEST(TuningPlan, IsTheSameFromJson) {
  const auto json = to_json(some_plan());
  const auto plan = kernel_plan(json);
  ASSERT_TRUE(plan);
  EXPECT_EQ(to_json(*plan), json);
  EXPECT_EQ(plan->pieces_per_core, 32);
  ASSERT_EQ(plan->reductions.size(), 3u);
  EXPECT_EQ(plan->reductions[0].tile.part(2)->extent, 7);
  EXPECT_EQ(plan->reductions[0].nest->chunks->count, 4);
  EXPECT_EQ(plan->reductions[1].rule, Rule::kRow);
  EXPECT_EQ(plan->reductions[2].rule, Rule::kGeneral);
  const std::optional<WinogradPlan> winograd = plan_winograd({1, 28, 28, 64, 64}, 4, {});
  const auto read = winograd_plan(to_json(winograd));
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->rows, winograd->rows);
  const auto direct = winograd_plan(to_json(std::optional<WinogradPlan>()));
  ASSERT_TRUE(direct);
  EXPECT_FALSE(*direct);
}

TEST(TuningPlan, IsRefusedWhenItIsNone) {
  const auto plan = to_json(some_plan());
  for (const char* name : {"fused_rows", "pieces_per_core", "item_vectors", "reductions"}) {
    auto less = plan;
    less.erase(name);
    EXPECT_FALSE(kernel_plan(less)) << name;
  }
  for (const int64_t pieces : {-1, 0, 3, 1 << 20}) {
    auto changed = plan;
    changed["pieces_per_core"] = pieces;
    EXPECT_FALSE(kernel_plan(changed)) << pieces;
  }
  auto changed = plan;
  changed["reductions"][0]["rule"] = "best";
  EXPECT_FALSE(kernel_plan(changed));
  EXPECT_FALSE(winograd_plan({{"tile", 3}, {"vectors", 1}, {"block_rows", 1}, {"rows", 1}}));
  EXPECT_FALSE(winograd_plan("direct"));
}

TEST(Candidates, BeginWithTheRuleAndDiffer) {
  KernelChoices choices;
  choices.reductions.resize(2);
  for (int64_t vectors = 1; vectors <= 3; ++vectors) {
    ReductionPlan plan;
    plan.rule = Rule::kTile;
    plan.tile.vectors = vectors;
    plan.tile.parts = {{0, 2}};
    choices.reductions[0].push_back(plan);
    if (vectors < 3) choices.reductions[1].push_back(plan);
  }
  const auto plans = first_candidates(choices, 10);
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(plans[0].reductions[0].tile.vectors, 1);
  EXPECT_EQ(plans[0].reductions[1].tile.vectors, 1);
  EXPECT_EQ(plans[1].reductions[0].tile.vectors, 2);
  EXPECT_EQ(plans[2].reductions[1].tile.vectors, 2);
  EXPECT_EQ(first_candidates(choices, 2).size(), 2u);
  std::vector<std::string> texts = {to_json(plans[0]).dump()};
  for (const KernelPlan& plan : variations(plans[0], choices, 100)) {
    texts.push_back(to_json(plan).dump());
  }
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(std::adjacent_find(texts.begin(), texts.end()), texts.end());
  EXPECT_GT(texts.size(), 10u);
  EXPECT_EQ(variations(plans[0], choices, 3).size(), 3u);
}

/// A small model, compiled with a database.
class TunedModel : public TuningFile {
 protected:
  std::optional<Compiled> compile_model(double seconds, StopSignal stop = {}) {
    CompileOptions options;
    options.tuning.database = path("tuning");
    options.tuning.seconds = seconds;
    options.tuning.stop = std::move(stop);
    options.tuning.progress = [&](const TuningProgress& progress) { seen_.push_back(progress); };
    auto compiled = nnef_tvm::compile(model_.module, model_.params, model_.inputs, model_.outputs,
                                      options, diagnostics_);
    EXPECT_TRUE(diagnostics_.items().empty()) << message();
    return compiled;
  }

  void expect_right(Compiled compiled) {
    auto session = nnef_runtime::Session::create(std::move(compiled.executable),
                                                 std::move(compiled.parameters), compiled.inputs,
                                                 compiled.outputs, {}, diagnostics_);
    ASSERT_TRUE(session) << message();
    const auto x = small_model::numbers({1, 3, 8, 8}, 5);
    const auto outputs = session->run({x}, diagnostics_);
    ASSERT_EQ(outputs.size(), 1u) << message();
    small_model::expect_near(small_model::values(outputs[0]), small_model::expected(model_, x));
  }

  small_model::ConvModel model_ = small_model::conv_model();
  std::vector<TuningProgress> seen_;
};

TEST_F(TunedModel, GivesTheSameNumbersAndMeasuresOnce) {
  auto tuned = compile_model(60);
  ASSERT_TRUE(tuned);
  EXPECT_GT(tuned->tuning.kernels, 0u);
  EXPECT_EQ(tuned->tuning.measured, tuned->tuning.kernels);
  EXPECT_EQ(tuned->tuning.found, 0u);
  EXPECT_LE(tuned->tuning.best, tuned->tuning.by_rule);
  ASSERT_EQ(seen_.size(), tuned->tuning.measured);
  EXPECT_EQ(seen_.back().done, seen_.back().total);
  EXPECT_GE(seen_.back().best_gain, 1);
  expect_right(std::move(*tuned));
  for (const double seconds : {60.0, 0.0}) {
    auto again = compile_model(seconds);
    ASSERT_TRUE(again);
    EXPECT_EQ(again->tuning.measured, 0u);
    EXPECT_EQ(again->tuning.found, again->tuning.kernels);
    expect_right(std::move(*again));
  }
}

TEST_F(TunedModel, IsCompiledAlthoughMeasuringWasStopped) {
  int asked = 0;
  auto compiled = compile_model(60, [&] { return ++asked > 3; });
  ASSERT_TRUE(compiled);
  EXPECT_LT(compiled->tuning.measured, compiled->tuning.kernels);
  expect_right(std::move(*compiled));
}

TEST_F(TunedModel, TakesNoPlanThatDoesNotFit) {
  ASSERT_TRUE(compile_model(60));
  // As of another kernel, or edited by hand.
  std::string text = read("tuning");
  const std::string lanes = R"("vectors":)";
  for (size_t at = text.find(lanes); at != std::string::npos; at = text.find(lanes, at + 1)) {
    text.replace(at + lanes.size(), 1, "9");
  }
  write("tuning", text);
  auto compiled = compile_model(0);
  ASSERT_TRUE(compiled);
  expect_right(std::move(*compiled));
}

#if defined(__x86_64__)
TEST_F(TunedModel, IsNotMeasuredForAnotherCpu) {
  // Extensions that only some CPUs of one maker had, for a few years.
  CompileOptions options;
  options.target = R"({"kind": "llvm", "mcpu": "bdver4"})";
  options.tuning.seconds = 1;
  EXPECT_FALSE(nnef_tvm::compile(model_.module, model_.params, model_.inputs, model_.outputs,
                                 options, diagnostics_));
  EXPECT_EQ(only_id(diagnostics_), "tuning/target");
}
#endif

}  // namespace
}  // namespace nnef_tvm
