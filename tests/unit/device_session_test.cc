// Models on devices: on each kind that this machine has.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "nnef_runtime/devices.h"
#include "nnef_runtime/session.h"
#include "small_model.h"

namespace nnef_runtime {
namespace {

using small_model::expect_near;
using small_model::f32;
using small_model::numbers;
using small_model::only_id;
using small_model::values;

class DeviceSessionTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const DeviceList list = list_devices(GetParam());
    if (list.devices.empty()) GTEST_SKIP() << "no " << GetParam() << ": " << list.problem;
  }

  nnef_tvm::Compiled compiled(const small_model::ConvModel& model) {
    auto result = small_model::compiled(model, diagnostics, GetParam());
    EXPECT_TRUE(result) << nnef::format(diagnostics);
    return std::move(*result);
  }

  std::unique_ptr<Session> start(const nnef_tvm::Compiled& compiled, const std::string& device) {
    return Session::create(compiled.executable, compiled.parameters, compiled.inputs,
                           compiled.outputs, {.device = device}, diagnostics, compiled.states);
  }

  nnef::Diagnostics diagnostics;
};

/// Of the whole process.
size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  size_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * 4096;
}

TEST_P(DeviceSessionTest, ComputesWhatTheFormulaSays) {
  const auto model = small_model::conv_model();
  const auto code = compiled(model);
  EXPECT_EQ(code.device, GetParam() + ":0");
  const auto session = start(code, code.device);
  ASSERT_TRUE(session) << nnef::format(diagnostics);
  for (int seed : {3, 4}) {
    const auto x = numbers({1, 3, 8, 8}, seed);
    const auto outputs = session->run({x}, diagnostics);
    ASSERT_EQ(outputs.size(), 1u) << nnef::format(diagnostics);
    expect_near(values(outputs[0]), expected(model, x));
  }
}

/// Two threads share a session, one at a time; all sessions share the device.
struct SharedSession {
  std::unique_ptr<Session> session;
  std::mutex mutex;
};

// With the CPU's code for the same model beside it.
TEST_P(DeviceSessionTest, ThreadsShareADeviceWithoutLeaks) {
  constexpr int kSessions = 4, kThreads = 8, kRuns = 125, kWarmUp = 13;
  constexpr size_t kLeastLeak = size_t{8} << 20;  // of 8 kB in each run
  const auto model = small_model::conv_model();
  const auto code = compiled(model);
  const auto for_cpu = small_model::compiled(model, diagnostics);
  ASSERT_TRUE(for_cpu);
  std::array<SharedSession, kSessions> sessions;
  for (SharedSession& shared : sessions) shared.session = start(code, code.device);
  SharedSession on_cpu;
  on_cpu.session = start(*for_cpu, "");
  std::atomic<int> wrong{0};
  const auto work = [&](SharedSession& shared, int seed, int first, int last) {
    nnef::Diagnostics problems;
    const auto x = numbers({1, 3, 8, 8}, seed);
    const auto wanted = expected(model, x);
    for (int run = first; run < last; ++run) {
      const std::lock_guard lock(shared.mutex);
      const auto outputs = shared.session->run({x}, problems);
      bool same = outputs.size() == 1;
      const auto got = same ? values(outputs[0]) : std::vector<float>();
      for (size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - wanted[i]) < 1e-4f;
      wrong += same ? 0 : 1;
    }
  };
  size_t after_warm_up = 0;
  for (const auto& [first, last] : {std::pair(0, kWarmUp), std::pair(kWarmUp, kRuns)}) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back(work, std::ref(sessions[i % kSessions]), i, first, last);
    }
    threads.emplace_back(work, std::ref(on_cpu), kThreads, first, last);
    for (std::thread& thread : threads) thread.join();
    if (first == 0) after_warm_up = resident_bytes();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_LT(resident_bytes(), after_warm_up + kLeastLeak);
}

TEST_P(DeviceSessionTest, StatesStayOnTheDevice) {
  nnef::Diagnostics problems;
  ASSERT_TRUE(nnef_tvm::load_compiler(problems));
  namespace relax = nnef_tvm::relax;
  // y = x + s, and s becomes x: a state that is an input.
  auto x = small_model::variable("x", {2, 3});
  auto s = small_model::variable("s", {2, 3});
  nnef_tvm::BlockBuilder builder({x, s});
  auto y = builder.emit_output(relax::add(x, s));
  const nnef_tvm::Map<nnef_tvm::String, nnef_tvm::Any> two_inputs{{"num_input", int64_t{2}}};
  auto module = builder.finish("main", nnef_tvm::tuple({y, x}), two_inputs);
  const StateSpec state{{"s", f32, {2, 3}}, "label", numbers({2, 3}, 1)};
  auto code = nnef_tvm::compile(module, {}, {{"x", f32, {2, 3}}}, {{"y", f32, {2, 3}}},
                                {GetParam()}, problems, {state});
  ASSERT_TRUE(code) << nnef::format(problems);
  auto session = start(*code, code->device);
  ASSERT_TRUE(session) << nnef::format(diagnostics);
  auto before = values(state.initial);
  for (int seed : {5, 6, 7}) {
    const auto input = numbers({2, 3}, seed);
    const auto outputs = session->run({input}, diagnostics);
    ASSERT_EQ(outputs.size(), 1u) << nnef::format(diagnostics);
    auto sum = values(input);
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += before[i];
    expect_near(values(outputs[0]), sum);
    before = values(input);
    expect_near(values(session->state(0)), before);
  }
  ASSERT_TRUE(session->set_state(0, numbers({2, 3}, 9), diagnostics));
  expect_near(values(session->state(0)), values(numbers({2, 3}, 9)));
  session->reset_states();
  expect_near(values(session->state(0)), values(state.initial));
}

INSTANTIATE_TEST_SUITE_P(Kinds, DeviceSessionTest,
                         ::testing::ValuesIn(std::vector<std::string>(device_kinds().begin(),
                                                                      device_kinds().end())),
                         [](const auto& info) { return info.param; });

TEST(Devices, AnUnknownKindIsReported) {
  nnef::Diagnostics diagnostics;
  EXPECT_FALSE(find_device("abacus:0", diagnostics));
  EXPECT_EQ(only_id(diagnostics), "device/kind");
  EXPECT_TRUE(list_devices("abacus").devices.empty());
}

}  // namespace
}  // namespace nnef_runtime
