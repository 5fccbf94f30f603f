// The stages of a convolution by Winograd's method. With one block of tiles, each stage is a
// parallel nest by itself; with several, a block passes through all of them in one parallel loop,
// so that what lies between the stages stays in the cache of one core.
#include <algorithm>
#include <array>
#include <map>

#include "compile/schedule/cpu/rules.h"
#include "compile/schedule/cpu/winograd_plan.h"

namespace nnef_tvm {
namespace {

using namespace winograd_stage;

constexpr std::array<const char*, 6> kStages = {kPatch,   kInputRows,  kInput,
                                                kProduct, kOutputRows, kOutput};

std::string name_of(const TirSchedule& schedule, const Block& block) {
  return field<String>(schedule.node(block), "name_hint");
}

class Winograd {
 public:
  Winograd(TirSchedule& schedule, const CpuTraits& traits, int64_t pieces)
      : schedule_(schedule), traits_(traits), pieces_(pieces) {
    for (const Block& block : schedule.blocks()) {
      const std::string name = name_of(schedule, block);
      if (std::find(kStages.begin(), kStages.end(), name) == kStages.end()) {
        others_.push_back(block);
      } else {
        stages_.insert({name, block});
      }
    }
  }

  /// Returns the blocks that remain to be scheduled.
  std::vector<Block> apply() {
    const Block result = inline_into_result();
    const BlockInfo info = inspect(schedule_, result);
    if (!info.regular || info.iterations.size() != 4) {
      TVM_FFI_THROW(ValueError) << "the results of Winograd's method are not in NHWC";
    }
    tile_ = extents(kOutput)[2];
    blocks_ = extents(kOutput)[0];
    output_nest(info);
    product_nest();
    input_nest();
    return others_;
  }

 private:
  const Block& stage(const char* name) const { return stages_.at(name); }
  std::vector<int64_t> extents(const char* name) const {
    std::vector<int64_t> extents;
    for (const Iteration& i : inspect(schedule_, stage(name)).iterations) {
      extents.push_back(i.extent);
    }
    return extents;
  }
  bool in_blocks() const { return blocks_ > 1; }

  /// Everything elementwise after the stages in one block, which is taken out of the others.
  Block inline_into_result() {
    for (auto block = others_.rbegin(); block != others_.rend(); ++block) {
      inline_stage(schedule_, *block);
    }
    const std::vector<Block> consumers = schedule_.consumers(stage(kOutput));
    if (consumers.size() != 1) {
      TVM_FFI_THROW(ValueError) << "the results of Winograd's method have several uses";
    }
    const std::string name = name_of(schedule_, consumers[0]);
    std::vector<Block> left;
    for (const Block& block : schedule_.blocks()) {
      const std::string other = name_of(schedule_, block);
      if (other != name && stages_.count(other) == 0) left.push_back(block);
    }
    others_ = left;
    return consumers[0];
  }

  void vectorize(const Loop& loop, int64_t lanes) {
    if (lanes > 1) schedule_.vectorize(loop);
  }

  /// The last loops of a stage inside the nest: a small matrix of vectors.
  void mark_matrix(const char* name, int64_t lanes) {
    const std::vector<Loop> loops = schedule_.loops(stage(name));
    vectorize(loops.back(), lanes);
    schedule_.unroll(loops[loops.size() - 2]);
    schedule_.unroll(loops[loops.size() - 3]);
  }

  void output_nest(const BlockInfo& info) {
    const std::vector<Loop> all = schedule_.loops(info.block);
    std::vector<Loop> loops;
    std::vector<int64_t> sizes;
    for (size_t i : info.result_order()) {
      loops.push_back(all[i]);
      sizes.push_back(info.iterations[i].extent);
    }
    const int64_t lanes = dividing_lanes(sizes.at(3), traits_);
    const int64_t rows = (sizes[1] + tile_ - 1) / tile_ * sizes[0];
    std::vector<Loop> h = in_blocks() ? schedule_.split(loops[1], {rows / blocks_, tile_})
                                      : schedule_.split(loops[1], {tile_});
    const std::vector<Loop> w = schedule_.split(loops[2], {tile_});
    const std::vector<Loop> o = schedule_.split(loops[3], {lanes});
    std::vector<Loop> outer = {loops[0]};
    outer.insert(outer.end(), h.begin(), h.end() - 1);
    outer.insert(outer.end(), {w[0], o[0]});
    std::vector<Loop> order = outer;
    order.insert(order.end(), {h.back(), w[1], o[1]});
    schedule_.reorder(order);
    if (in_blocks()) block_ = schedule_.fuse({outer[0], outer[1]});
    for (const char* name : {kOutput, kOutputRows}) {
      schedule_.compute_at(stage(name), o[0], /*preserve_unit_loops=*/true);
      schedule_.set_scope(stage(name), 0, "local");
      mark_matrix(name, lanes);
    }
    vectorize(o[1], lanes);
    schedule_.unroll(h.back());
    schedule_.unroll(w[1]);
    if (in_blocks()) {
      schedule_.parallel(block_);
    } else {
      parallelise(schedule_, outer, pieces_);
    }
  }

  /// The innermost loops of a stage, which is moved into the loop over blocks if there is one.
  std::vector<Loop> own_loops(const char* name, size_t count) {
    if (in_blocks()) schedule_.compute_at(stage(name), block_, /*preserve_unit_loops=*/true);
    const std::vector<Loop> loops = schedule_.loops(stage(name));
    return {loops.end() - static_cast<std::ptrdiff_t>(count), loops.end()};
  }

  void product_nest() {
    const Block& product = stage(kProduct);
    const BlockInfo info = inspect(schedule_, product);
    const int64_t width = info.reads.at(1).shape.at(3);
    const int64_t lanes = dividing_lanes(width, traits_);
    const int64_t rows = winograd_rows(info.iterations.at(2).extent, width / lanes, traits_);
    const std::vector<Loop> loops = own_loops(kProduct, 4);
    const std::vector<Loop> tiles = schedule_.split(loops[1], {rows});
    const std::vector<Loop> outputs = schedule_.split(loops[2], {width / lanes, lanes});
    schedule_.reorder({loops[0], outputs[0], tiles[0], loops[3], tiles[1], outputs[1], outputs[2]});
    const Block store = schedule_.cache_write(product, 0, "local");
    schedule_.reverse_compute_at(store, tiles[0], /*preserve_unit_loops=*/true);
    schedule_.unroll(tiles[1]);
    schedule_.unroll(outputs[1]);
    vectorize(outputs[2], lanes);
    const std::vector<Loop> stored = schedule_.loops(store);
    const std::vector<Loop> pieces = schedule_.split(stored.back(), {lanes});
    vectorize(pieces[1], lanes);
    schedule_.unroll(pieces[0]);
    schedule_.unroll(stored[stored.size() - 2]);
    if (!in_blocks()) parallelise(schedule_, {loops[0], outputs[0]}, pieces_);
    schedule_.decompose_reduction(product, loops[3]);
  }

  void input_nest() {
    const std::vector<int64_t> sizes = extents(kInput);
    const int64_t lanes = dividing_lanes(sizes.at(4), traits_);
    const std::vector<Loop> loops = own_loops(kInput, 4);
    const std::vector<Loop> channels = schedule_.split(loops[3], {lanes});
    schedule_.reorder({loops[2], channels[0], loops[0], loops[1], channels[1]});
    // A patch is copied for all channels at once, unless there are too few tiles for all cores.
    const bool few = !in_blocks() && sizes[3] < int64_t{8} * traits_.cores;
    schedule_.compute_at(stage(kInputRows), channels[0], /*preserve_unit_loops=*/true);
    schedule_.set_scope(stage(kInputRows), 0, "local");
    mark_matrix(kInputRows, lanes);
    schedule_.compute_at(stage(kPatch), few ? channels[0] : loops[2], /*preserve_unit_loops=*/true);
    const std::vector<Loop> copied = schedule_.loops(stage(kPatch));
    vectorize(schedule_.split(copied.back(), {lanes})[1], lanes);
    vectorize(channels[1], lanes);
    schedule_.unroll(loops[0]);
    schedule_.unroll(loops[1]);
    if (in_blocks()) return;
    if (few) {
      parallelise(schedule_, {loops[2], channels[0]}, pieces_);
    } else {
      schedule_.parallel(loops[2]);
    }
  }

  TirSchedule& schedule_;
  const CpuTraits& traits_;
  int64_t pieces_;
  std::map<std::string, Block> stages_;
  std::vector<Block> others_;
  int64_t tile_ = 0;
  int64_t blocks_ = 1;
  Loop block_;
};

}  // namespace

bool is_winograd(const TirSchedule& schedule) {
  size_t found = 0;
  for (const Block& block : schedule.blocks()) {
    found += std::count(kStages.begin(), kStages.end(), name_of(schedule, block));
  }
  return found == kStages.size();
}

std::optional<std::vector<Block>> schedule_winograd(TirSchedule& schedule, const CpuTraits& traits,
                                                    int64_t pieces) {
  if (!is_winograd(schedule)) return std::nullopt;
  return Winograd(schedule, traits, pieces).apply();
}

}  // namespace nnef_tvm
