// Reductions whose threads each keep a tile of results in registers: convolutions, products of
// matrices, poolings, sums over outer axes.
#include <fmt/format.h>

#include <algorithm>

#include "compile/schedule/cpu/rules.h"
#include "compile/schedule/gpu/rules.h"
#include "tvm/ir.h"
#include "tvm/te.h"

namespace nnef_tvm::gpu {
namespace {

constexpr int64_t kFewSteps = 64;  // of a reduction

/// (i, ..., j, k) to (k / width, i, ..., j, k mod width).
ObjectRef panels(size_t rank, int64_t width, const Type& index_type) {
  Array<Var> initial;
  for (size_t i = 0; i < rank; ++i) initial.push_back(var(fmt::format("i{}", i), index_type));
  const Var last = initial[rank - 1];
  Array<PrimExpr> final_indices = {floordiv(last, width)};
  for (size_t i = 0; i + 1 < rank; ++i) final_indices.push_back(initial[i]);
  final_indices.push_back(floormod(last, width));
  return index_map(initial, final_indices);
}

/// One reduction being scheduled.
class TiledReduction {
 public:
  TiledReduction(TirSchedule& schedule, const BlockInfo& info, const Tile& tile,
                 const std::vector<Var>& weights, const GpuTraits& traits)
      : schedule_(schedule), info_(info), tile_(tile), weights_(weights), traits_(traits) {}

  void apply() {
    const std::optional<BlockInfo> epilogue = epilogue_of(schedule_, info_);
    if (!traits_.runs_in_step()) {
      for (size_t read = 0; read < info_.reads.size(); ++read) {
        if (pays_to_pack(info_.reads[read])) pack(read);
      }
    }
    const Block store = schedule_.cache_write(info_.block, 0, "local");
    split();
    std::vector<Loop> all = outer_;
    for (const auto* part : {&reductions_, &part_inner_, &vector_inner_}) {
      all.insert(all.end(), part->begin(), part->end());
    }
    schedule_.reorder(all);
    const Loop thread =
        bind_results(schedule_, outer_, info_.spatial_volume() / tile_.results(), traits_);
    schedule_.reverse_compute_at(store, thread, /*preserve_unit_loops=*/true);
    const bool stores_vectors = !epilogue || takes_vectors(*epilogue);
    if (epilogue) inline_epilogue(epilogue->block);
    mark(part_inner_, vector_inner_.back());
    if (tile_.unrolled) {
      for (const Loop& loop : reductions_) schedule_.unroll(loop);
    }
    mark_store(store, stores_vectors);
    schedule_.decompose_reduction(info_.block, reductions_.front());
  }

 private:
  /// Whether a thread reads the items of a weight for its vectors from far apart. (Threads in step
  /// read those between them.)
  bool pays_to_pack(const Access& read) const {
    const bool weight = std::any_of(weights_.begin(), weights_.end(),
                                    [&](const Var& weight) { return weight.same_as(read.buffer); });
    const Iteration& axis = info_.iterations[tile_.vector_axis];
    return weight && read.single && !read.indices.empty() &&
           read.indices.back().same_as(axis.var) && axis.extent > tile_.width() &&
           info_.reduction_volume() >= kFewSteps;
  }

  void pack(size_t read) {
    const Block copy = schedule_.cache_read(info_.block, static_cast<int>(read), "global");
    schedule_.annotate(copy, kLayoutRewriteBlock, 1);
    schedule_.transform_layout_unpadded(copy,
                                        panels(info_.reads[read].indices.size(), tile_.width(),
                                               type_of(info_.iterations[tile_.vector_axis].var)));
  }

  /// Into loops over tiles and over the results of one.
  void split() {
    reductions_ = reduced_loops(schedule_, info_);
    const std::vector<Loop> loops = schedule_.loops(info_.block);
    Loop vector_outer;
    std::vector<Loop> moved_by_vector, others;
    for (size_t axis : info_.result_order()) {
      if (axis == tile_.vector_axis) {
        const auto pieces = schedule_.split(loops[axis], {tile_.vectors, tile_.lanes});
        vector_outer = pieces[0];
        vector_inner_ = {pieces[1], pieces[2]};
        continue;
      }
      Loop outer = loops[axis];
      if (tile_.extent(axis) > 1) {
        const auto pieces = schedule_.split(outer, {tile_.extent(axis)});
        outer = pieces[0];
        part_inner_.push_back(pieces[1]);
      }
      (moves_with_vector(axis) ? moved_by_vector : others).push_back(outer);
    }
    part_inner_.push_back(vector_inner_.front());
    outer_ = moved_by_vector;
    // Threads in step take neighbouring vectors; threads one after another share what the vector
    // axis alone moves.
    if (!traits_.runs_in_step()) outer_.push_back(vector_outer);
    outer_.insert(outer_.end(), others.begin(), others.end());
    if (traits_.runs_in_step()) outer_.push_back(vector_outer);
    vector_inner_.erase(vector_inner_.begin());
  }

  /// Whether a read moves both with the vectors and with another axis, as those of a batch do.
  bool moves_with_vector(size_t axis) const {
    return std::any_of(info_.reads.begin(), info_.reads.end(), [&](const Access& read) {
      return !read.steps[axis].is_none() && !read.steps[tile_.vector_axis].is_none();
    });
  }

  bool takes_vectors(const BlockInfo& epilogue) const {
    return vector_lanes(schedule_, epilogue, epilogue.result_order().back(), traits_) >=
           tile_.lanes;
  }

  void inline_epilogue(const Block& epilogue) {
    try {
      schedule_.reverse_compute_inline(epilogue);
    } catch (const ffi::Error&) {
      // It stays a block of its own, scheduled after this one.
    }
  }

  void mark(const std::vector<Loop>& unrolled, const Loop& lanes) {
    for (const Loop& loop : unrolled) schedule_.unroll(loop);
    if (tile_.lanes > 1) schedule_.vectorize(lanes);
  }

  void mark_store(const Block& store, bool as_vectors) {
    const std::vector<Loop> loops = schedule_.loops(store);
    const size_t rank = info_.writes[0].indices.size();
    std::vector<Loop> tile(loops.end() - static_cast<std::ptrdiff_t>(rank), loops.end());
    const auto pieces = schedule_.split(tile.back(), {tile_.lanes});
    tile.back() = pieces[0];
    if (as_vectors) {
      mark(tile, pieces[1]);
    } else {
      tile.push_back(pieces[1]);
      for (const Loop& loop : tile) schedule_.unroll(loop);
    }
  }

  TirSchedule& schedule_;
  const BlockInfo& info_;
  const Tile& tile_;
  const std::vector<Var>& weights_;
  const GpuTraits& traits_;
  std::vector<Loop> outer_, reductions_, part_inner_, vector_inner_;
};

}  // namespace

void schedule_tiled_reduction(TirSchedule& schedule, const BlockInfo& info, const Tile& tile,
                              const std::vector<Var>& weights, const GpuTraits& traits) {
  TiledReduction(schedule, info, tile, weights, traits).apply();
}

}  // namespace nnef_tvm::gpu
