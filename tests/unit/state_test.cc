#include <gtest/gtest.h>

#include "nnef_runtime/session.h"
#include "small_model.h"
#include "states.h"
#include "temporary_folder.h"

namespace nnef_runtime {
namespace {

using small_model::f32;
using small_model::only_id;
using small_model::values;
using Floats = std::vector<float>;
using Tensors = std::vector<tvm::ffi::Tensor>;

tvm::ffi::Tensor floats(const Floats& items) {
  auto tensor = allocate(f32, {static_cast<int64_t>(items.size())});
  std::copy(items.begin(), items.end(), static_cast<float*>(tensor.data_ptr()));
  return tensor;
}

/// Of x, with states sum, last and old: outputs sum + x (the new sum) and old (read); the new last
/// is x itself, the new old the old sum.
std::optional<nnef_tvm::Compiled> model(nnef::Diagnostics& diagnostics,
                                        const std::string& label = "sum") {
  namespace relax = nnef_tvm::relax;
  EXPECT_TRUE(nnef_tvm::load_compiler(diagnostics)) << nnef::format(diagnostics);
  nnef_tvm::Array<nnef_tvm::Var> params;
  for (const char* name : {"x", "sum", "last", "old"})
    params.push_back(small_model::variable(name, {2}));
  nnef_tvm::BlockBuilder builder(params);
  auto sum = builder.emit_output(relax::add(params[1], params[0]));
  auto old = builder.emit_output(params[3]);
  auto last = builder.emit_output(params[0]);
  auto older = builder.emit_output(params[1]);
  nnef_tvm::IRModule module =
      builder.finish("main", nnef_tvm::tuple({sum, old, sum, last, older}),
                     {{"num_input", int64_t{4}}, {"num_state", int64_t{3}}});
  const TensorSpec pair{"", f32, {2}};
  auto named = [&](const char* name) {
    TensorSpec spec = pair;
    spec.name = name;
    return spec;
  };
  return nnef_tvm::compile(module, {}, {named("x")}, {named("new"), named("old")}, {}, diagnostics,
                           {{named("sum"), label, floats({10, 20})},
                            {named("last"), "folder/last", floats({0, 0})},
                            {named("old"), "old", floats({-1, -2})}});
}

class States : public TemporaryFolder {
 protected:
  static void SetUpTestSuite() {
    nnef::Diagnostics problems;
    compiled = model(problems);
    ASSERT_TRUE(compiled) << nnef::format(problems);
  }
  static void TearDownTestSuite() { compiled.reset(); }

  std::unique_ptr<Session> start() {
    return Session::create(compiled->executable, compiled->parameters, compiled->inputs,
                           compiled->outputs, {}, diagnostics, compiled->states);
  }

  /// The values of all states.
  static std::vector<Floats> states(const Session& session) {
    std::vector<Floats> result;
    for (size_t i = 0; i < session.states().size(); ++i) result.push_back(values(session.state(i)));
    return result;
  }

  const std::vector<Floats> initial{{10, 20}, {0, 0}, {-1, -2}};
  static inline std::optional<nnef_tvm::Compiled> compiled;
  nnef::Diagnostics diagnostics;
};

TEST_F(States, GoFromRunToRun) {
  auto session = start();
  EXPECT_EQ(states(*session), initial);
  auto results = session->run({floats({1, 2})}, diagnostics);
  ASSERT_EQ(results.size(), 2u) << nnef::format(diagnostics);
  EXPECT_EQ(values(results[0]), (Floats{11, 22}));
  EXPECT_EQ(values(results[1]), (Floats{-1, -2}));
  EXPECT_EQ(states(*session), (std::vector<Floats>{{11, 22}, {1, 2}, {10, 20}}));
  results = session->run({floats({100, 200})}, diagnostics);
  EXPECT_EQ(values(results[0]), (Floats{111, 222}));
  EXPECT_EQ(values(results[1]), (Floats{10, 20}));
  EXPECT_EQ(states(*session), (std::vector<Floats>{{111, 222}, {100, 200}, {11, 22}}));
  session->reset_states();
  EXPECT_EQ(states(*session), initial);
}

TEST_F(States, AreTheSessionsOwn) {
  auto session = start();
  auto x = floats({1, 2});
  auto results = session->run({x}, diagnostics);
  const auto before = states(*session);
  for (const auto& tensor : {x, results[0], results[1]})
    static_cast<float*>(tensor.data_ptr())[0] = 99;
  EXPECT_EQ(states(*session), before);
}

TEST_F(States, ReadOnesStayAsTheyWere) {
  auto session = start();
  session->run({floats({1, 2})}, diagnostics);
  const tvm::ffi::Tensor sum = session->state(0);
  session->run({floats({1, 2})}, diagnostics);
  session->run({floats({1, 2})}, diagnostics);
  EXPECT_EQ(values(sum), (Floats{11, 22}));
  session.reset();
  EXPECT_EQ(values(sum), (Floats{11, 22}));
}

TEST_F(States, CanBeSet) {
  auto session = start();
  auto value = floats({5, 6});
  ASSERT_TRUE(session->set_state(0, value, diagnostics)) << nnef::format(diagnostics);
  static_cast<float*>(value.data_ptr())[0] = 99;
  EXPECT_EQ(values(session->run({floats({1, 1})}, diagnostics)[0]), (Floats{6, 7}));
  EXPECT_FALSE(session->set_state(0, floats({1, 2, 3}), diagnostics));
  EXPECT_EQ(only_id(diagnostics), "run/state-shape");
  EXPECT_EQ(diagnostics.items()[0].message, "state 'sum' is float32[3], expected float32[2]");
  diagnostics = {};
  EXPECT_FALSE(session->set_state(0, allocate({kDLInt, 32, 1}, {2}), diagnostics));
  EXPECT_EQ(only_id(diagnostics), "run/state-dtype");
  EXPECT_EQ(values(session->state(0)), (Floats{6, 7}));
}

TEST_F(States, StayWhenARunFails) {
  auto session = start();
  EXPECT_TRUE(session->run({}, diagnostics).empty());
  EXPECT_TRUE(session->run({floats({1})}, diagnostics).empty());
  EXPECT_EQ(states(*session), initial);
  // A model that makes fewer tensors than its description says, which is known after the run only.
  auto outputs = compiled->outputs;
  outputs.push_back(outputs[0]);
  diagnostics = {};
  session = Session::create(compiled->executable, compiled->parameters, compiled->inputs, outputs,
                            {}, diagnostics, compiled->states);
  EXPECT_TRUE(session->run({floats({1, 2})}, diagnostics).empty());
  EXPECT_EQ(only_id(diagnostics), "run/outputs");
  EXPECT_EQ(states(*session), initial);
}

TEST_F(States, OfSessionsAreIndependent) {
  ASSERT_TRUE(nnef_tvm::write_artefact(*compiled, path("model.so"), diagnostics))
      << nnef::format(diagnostics);
  auto a = Session::open(path("model.so"), {}, diagnostics);
  auto b = Session::open(path("model.so"), {}, diagnostics);
  ASSERT_TRUE(a && b) << nnef::format(diagnostics);
  EXPECT_EQ(states(*a), initial);
  EXPECT_EQ(a->states()[1].label, "folder/last");
  a->run({floats({1, 2})}, diagnostics);
  EXPECT_EQ(states(*a)[0], (Floats{11, 22}));
  EXPECT_EQ(states(*b), initial);
  a->reset_states();
  EXPECT_EQ(states(*a), initial);
}

TEST_F(States, GoToFilesAndBack) {
  auto session = start();
  session->run({floats({1, 2})}, diagnostics);
  const auto kept = states(*session);
  ASSERT_TRUE(nnefc::save_states(nnefc::states_of(*session), path("kept"), diagnostics))
      << nnef::format(diagnostics);
  EXPECT_TRUE(std::filesystem::exists(path("kept/folder/last.dat")));
  session->reset_states();
  auto loaded = nnefc::states_of(*session);
  ASSERT_TRUE(nnefc::load_states(loaded, path("kept"), diagnostics)) << nnef::format(diagnostics);
  ASSERT_TRUE(nnefc::set_states(*session, loaded, diagnostics)) << nnef::format(diagnostics);
  EXPECT_EQ(states(*session), kept);
  // One that is missing: none is loaded.
  std::filesystem::remove(path("kept/old.dat"));
  session->reset_states();
  loaded = nnefc::states_of(*session);
  EXPECT_FALSE(nnefc::load_states(loaded, path("kept"), diagnostics));
  ASSERT_TRUE(nnefc::set_states(*session, loaded, diagnostics));
  EXPECT_EQ(states(*session), initial);
}

TEST_F(States, NeverLeaveTheirFolder) {
  auto specs = compiled->states;
  specs[0].label = "../sum";
  auto session = Session::create(compiled->executable, compiled->parameters, compiled->inputs,
                                 compiled->outputs, {}, diagnostics, specs);
  EXPECT_FALSE(nnefc::save_states(nnefc::states_of(*session), path("kept"), diagnostics));
  EXPECT_EQ(only_id(diagnostics), "states/label");
  EXPECT_FALSE(std::filesystem::exists(path("sum.dat")));
}

}  // namespace
}  // namespace nnef_runtime
