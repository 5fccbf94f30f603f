// Tiles of devices' threads, for devices that are not there.
#include "compile/schedule/gpu/tile.h"

#include <gtest/gtest.h>

#include "compile/pipeline.h"
#include "compile/schedule/gpu/schedule.h"
#include "tvm/schedule.h"
#include "tvm/te.h"

namespace nnef_tvm {
namespace {

GpuTraits cpu_by_opencl(int64_t floats) {
  GpuTraits traits;
  traits.max_lanes = floats;
  traits.vector_bytes = floats * 4;
  traits.vector_registers = true;
  traits.registers = floats < 16 ? 16 : 24;
  return traits;
}

GpuTraits gpu() {
  GpuTraits traits;
  traits.warp = 32;
  traits.shared_bytes = 16 << 10;
  return traits;
}

class GpuTileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    nnef::Diagnostics problems;
    ASSERT_TRUE(load_compiler(problems)) << nnef::format(problems);
  }

  /// Of a product of matrices [m, k] and [k, n].
  gpu::Tile tile(int64_t m, int64_t n, int64_t k, const GpuTraits& traits) {
    const DLDataType type{kDLFloat, 32, 1};
    const te::Tensor a = te::placeholder({int_imm(m), int_imm(k)}, type, "a");
    const te::Tensor b = te::placeholder({int_imm(k), int_imm(n)}, type, "b");
    const te::ReduceAxis axis = te::reduce_axis(int_imm(k), "k");
    const te::Tensor c = te::compute({int_imm(m), int_imm(n)}, "c", [&](const te::Indices& i) {
      return te::sum(a({i[0], axis.index}) * b({axis.index, i[1]}), {&axis, 1});
    });
    const TirSchedule schedule(te::prim_func({a.handle(), b.handle(), c.handle()}));
    return gpu::choose_tile(schedule, inspect(schedule, schedule.blocks().front()), traits);
  }
};

TEST_F(GpuTileTest, FitsIntoTheRegistersOfACpu) {
  for (const int64_t floats : {8, 16}) {
    const GpuTraits traits = cpu_by_opencl(floats);
    const gpu::Tile chosen = tile(448, 512, 256, traits);
    EXPECT_EQ(chosen.lanes, floats);
    const int64_t vectors = chosen.results() / chosen.lanes;
    EXPECT_GE(vectors, 8);  // or the processor waits for its results
    EXPECT_LE(vectors + chosen.vectors + 1, traits.registers);
  }
}

TEST_F(GpuTileTest, DividesTheResult) {
  for (const int64_t n : {512, 24, 10, 7}) {
    const gpu::Tile chosen = tile(49, n, 64, cpu_by_opencl(16));
    EXPECT_EQ(n % chosen.width(), 0) << n;
    EXPECT_EQ(49 % chosen.extent(0), 0) << n;
  }
}

TEST_F(GpuTileTest, KeepsAGpuBusy) {
  const gpu::Tile large = tile(4096, 4096, 512, gpu());
  EXPECT_GE(large.results(), 16);
  EXPECT_LE(large.results(), 32);
  EXPECT_EQ(large.lanes, 4);
  const gpu::Tile small = tile(64, 64, 512, gpu());
  EXPECT_EQ(small.results(), 1);
}

}  // namespace
}  // namespace nnef_tvm
