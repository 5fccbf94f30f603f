// Reductions with a register tile: convolutions, products of matrices, poolings, sums over outer
// axes.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compile/schedule/cpu/nest.h"
#include "compile/schedule/cpu/rules.h"
#include "tvm/ir.h"
#include "tvm/te.h"

namespace nnef_tvm {
namespace {

/// Whether an operand can be copied so that pieces of one axis become innermost: the axis must be,
/// by itself, one of the operand's.
std::optional<size_t> own_axis(const Access& access, const Var& var) {
  for (size_t axis = 0; axis < access.indices.size(); ++axis) {
    if (access.indices[axis].same_as(var)) return axis;
  }
  return std::nullopt;
}

bool is_packable(const Access& access, const BlockInfo& info, size_t axis) {
  return access.single && access.steps[axis].kind == Step::Kind::kLinear &&
         own_axis(access, info.iterations[axis].var).has_value();
}

/// One axis of a buffer cut into pieces.
struct PiecewiseAxis {
  size_t axis;
  int64_t width;
};

/// (..., i, ...) to (..., i / width, ..., i mod width): quotients in place, or in front; remainders
/// last, in the order of `pieces`.
ObjectRef piecewise_map(size_t rank, const std::vector<PiecewiseAxis>& pieces, bool quotients_first,
                        const Type& index_type) {
  Array<Var> initial;
  for (size_t i = 0; i < rank; ++i) initial.push_back(var(fmt::format("i{}", i), index_type));
  Array<PrimExpr> quotients, kept, remainders;
  for (size_t i = 0; i < rank; ++i) {
    const auto piece = std::find_if(pieces.begin(), pieces.end(),
                                    [&](const PiecewiseAxis& p) { return p.axis == i; });
    if (piece == pieces.end()) {
      kept.push_back(initial[i]);
    } else {
      (quotients_first ? quotients : kept).push_back(floordiv(initial[i], piece->width));
    }
  }
  for (const PiecewiseAxis& piece : pieces) {
    remainders.push_back(floormod(initial[piece.axis], piece.width));
  }
  Array<PrimExpr> final_indices = quotients;
  for (const PrimExpr& index : kept) final_indices.push_back(index);
  for (const PrimExpr& index : remainders) final_indices.push_back(index);
  return index_map(initial, final_indices);
}

/// One reduction being scheduled.
class TiledReduction {
 public:
  TiledReduction(TirSchedule& schedule, const BlockInfo& info, const ReductionPlan& plan,
                 const std::vector<Var>& weights, int64_t pieces)
      : schedule_(schedule),
        info_(info),
        plan_(plan),
        tile_(plan.tile),
        weights_(weights),
        pieces_(pieces) {}

  void apply() {
    const std::optional<BlockInfo> epilogue = epilogue_of(schedule_, info_);
    for (const TilePart& part : tile_.parts) {
      if (part.clamped) clamp(part);
    }
    for (const Packing& packing : tile_.packings) pack(packing);
    const Block store = schedule_.cache_write(info_.block, 0, "local");
    if (scatters() || tile_.reaches_beyond()) lay_out_accumulators();
    split();
    order();
    schedule_.reverse_compute_at(store, outer_.back(), /*preserve_unit_loops=*/true);
    if (epilogue) inline_epilogue(epilogue->block);
    mark_tile();
    if (!scatters()) mark_store(store);
    if (info_.volume() >= kParallelThreshold) make_parallel();
    schedule_.decompose_reduction(info_.block, reductions_.front());
    if (!prefetching_tiles_.empty()) mark_prefetches();
  }

 private:
  const Var& variable(size_t axis) const { return info_.iterations[axis].var; }
  size_t result_axis(size_t axis) const { return *own_axis(info_.writes[0], variable(axis)); }

  /// Whether a vector's lanes go to the result one by one. Such stores are left as loops: unrolled,
  /// they would be thousands of instructions.
  bool scatters() const { return !info_.writes[0].steps[tile_.vector_axis].is_unit(); }

  /// What is read for results beyond the axis, which nobody stores, is there.
  void clamp(const TilePart& part) {
    const Iteration& iteration = info_.iterations[part.axis];
    schedule_.clamp_reads(info_.block, iteration.var, iteration.exact - 1);
  }

  void pack(const Packing& packing) {
    const Access& access = info_.reads[packing.operand];
    const Block copy =
        schedule_.cache_read(info_.block, static_cast<int>(packing.operand), "global");
    const bool weight = reads_weight(access, weights_);
    if (weight) schedule_.annotate(copy, kLayoutRewriteBlock, 1);
    const Var& index = variable(packing.axis);
    const std::vector<PiecewiseAxis> piece = {{*own_axis(access, index), packing.width}};
    schedule_.transform_layout_padded(
        copy, piecewise_map(access.indices.size(), piece, /*quotients_first=*/true, type_of(index)),
        number(0, access.dtype));
  }

  /// Vectors of accumulators are whole and contiguous, whatever the result looks like.
  void lay_out_accumulators() {
    std::vector<PiecewiseAxis> pieces;
    for (const TilePart& part : tile_.parts) {
      if (part.beyond) pieces.push_back({result_axis(part.axis), part.extent});
    }
    pieces.push_back({result_axis(tile_.vector_axis), tile_.width()});
    schedule_.transform_layout_unpadded(
        info_.block, piecewise_map(info_.writes[0].indices.size(), pieces,
                                   /*quotients_first=*/false, type_of(variable(0))));
  }

  void split() {
    const std::vector<Loop> loops = schedule_.loops(info_.block);
    for (size_t i = 0; i < loops.size(); ++i) {
      if (info_.iterations[i].reduces) reductions_.push_back(loops[i]);
    }
    const Loop& vector_loop = loops[tile_.vector_axis];
    const std::vector<int64_t> inner = {tile_.vectors, tile_.lanes};
    const std::vector<Loop> pieces = split_loop(vector_loop, inner, tile_.beyond);
    vector_outer_ = pieces[0];
    vectors_ = pieces[1];
    lanes_ = pieces[2];
    for (size_t axis : info_.result_order()) {
      if (axis == tile_.vector_axis) continue;
      const TilePart* part = tile_.part(axis);
      if (!part) {
        (moves_with_vector(info_, tile_, axis) ? others_ : part_outer_).push_back(loops[axis]);
        continue;
      }
      const std::vector<Loop> halves = split_loop(loops[axis], {part->extent}, part->beyond);
      part_outer_.push_back(halves[0]);
      part_inner_.push_back(halves[1]);
    }
  }

  std::vector<Loop> split_loop(const Loop& loop, const std::vector<int64_t>& inner, bool beyond) {
    return beyond ? schedule_.split_beyond(loop, inner) : schedule_.split(loop, inner);
  }

  int64_t extent(const Loop& loop) const {
    return known_int(field<PrimExpr>(schedule_.node(loop), "extent")).value_or(1);
  }

  /// The loops around the tile, outermost first: those in parallel, then those that only a blocked
  /// reduction runs over, then the reductions.
  void order() {
    outer_ = others_;
    std::vector<Loop> inner = reductions_;
    if (!plan_.nest) {
      append(outer_, part_outer_);
      outer_.push_back(vector_outer_);
    } else {
      const Nest& nest = *plan_.nest;
      const size_t chunked = nest.chunks ? cut_chunks(*nest.chunks) : 0;
      outer_.insert(outer_.end(), part_outer_.begin(), part_outer_.begin() + chunked);
      outer_.push_back(vector_outer_);
      const std::vector<Loop> tiles(part_outer_.begin() + chunked, part_outer_.end());
      if (nest.prefetches && weights_in_order()) prefetching_tiles_ = tiles;
      if (nest.reduction_block > 0) {
        const auto block = schedule_.split(reductions_.back(), {nest.reduction_block});
        reductions_.back() = block[0];
        inner = reductions_;
        append(inner, tiles);
        inner.push_back(block[1]);
        panel_ = {block[1]};
        blocked_ = true;
      } else {
        append(outer_, tiles);
        panel_ = reductions_;
      }
    }
    std::vector<Loop> all = outer_;
    append(all, inner);
    append(all, part_inner_);
    all.push_back(vectors_);
    all.push_back(lanes_);
    schedule_.reorder(all);
  }

  /// Cuts one of the loops over tiles; returns how many of them are outside of the pieces.
  size_t cut_chunks(const Chunks& chunks) {
    const auto cut = part_outer_.begin() + static_cast<std::ptrdiff_t>(chunks.axis);
    const auto halves = schedule_.split(*cut, {extent(*cut) / chunks.count});
    *cut = halves[1];
    part_outer_.insert(part_outer_.begin() + static_cast<std::ptrdiff_t>(chunks.axis), halves[0]);
    return chunks.axis + 1;
  }

  static void append(std::vector<Loop>& loops, const std::vector<Loop>& more) {
    loops.insert(loops.end(), more.begin(), more.end());
  }

  /// Whether each packed weight is read item by item while the reductions advance.
  bool weights_in_order() const {
    for (const Packing& packing : tile_.packings) {
      const Access& read = info_.reads[packing.operand];
      if (!reads_weight(read, weights_)) continue;
      int64_t last = std::numeric_limits<int64_t>::max();
      for (size_t i = 0; i < info_.iterations.size(); ++i) {
        if (!info_.iterations[i].reduces || info_.iterations[i].extent == 1) continue;
        if (read.steps[i].kind != Step::Kind::kLinear || read.steps[i].stride > last) return false;
        last = read.steps[i].stride;
      }
      return true;
    }
    return false;
  }

  /// Loops over tiles that fetch ahead stay as they are.
  void make_parallel() {
    std::vector<Loop> loops = others_;
    loops.push_back(vector_outer_);
    parallelise(schedule_, prefetching_tiles_.empty() ? outer_ : loops, pieces_);
  }

  void mark_prefetches() {
    int64_t panel = tile_.width();
    for (const Loop& loop : panel_) panel *= extent(loop);
    fetch_ahead(schedule_, prefetching_tiles_, panel);
  }

  void inline_epilogue(const Block& epilogue) {
    try {
      schedule_.reverse_compute_inline(epilogue);
    } catch (const ffi::Error&) {
      // It stays a block of its own, scheduled after this one.
    }
  }

  void mark_tile() {
    for (const Loop& loop : part_inner_) schedule_.unroll(loop);
    schedule_.unroll(vectors_);
    if (tile_.lanes > 1) schedule_.vectorize(lanes_);
    if (!plan_.unrolled) return;
    for (const Loop& loop : reductions_) schedule_.unroll(loop);
  }

  void mark_store(const Block& store) {
    const size_t lane_axis = result_axis(tile_.vector_axis);
    const std::vector<Loop> loops = schedule_.loops(store);
    const size_t rank = info_.writes[0].indices.size();
    std::vector<Loop> tile(loops.end() - static_cast<std::ptrdiff_t>(rank), loops.end());
    const std::vector<Loop> pieces = schedule_.split(tile[lane_axis], {tile_.lanes});
    tile.erase(tile.begin() + static_cast<std::ptrdiff_t>(lane_axis));
    tile.insert(tile.end(), pieces.begin(), pieces.end());
    schedule_.reorder(tile);
    if (tile_.lanes > 1) schedule_.vectorize(tile.back());
    tile.pop_back();
    // Those of a blocked reduction are the results of many tiles.
    if (blocked_) tile.erase(tile.begin(), tile.end() - 1);
    for (const Loop& loop : tile) schedule_.unroll(loop);
  }

  TirSchedule& schedule_;
  const BlockInfo& info_;
  const ReductionPlan& plan_;
  const Tile& tile_;
  const std::vector<Var>& weights_;
  int64_t pieces_;  ///< of loops in parallel
  std::vector<Loop> others_, part_outer_, part_inner_, reductions_, outer_;
  Loop vector_outer_, vectors_, lanes_;
  std::vector<Loop> prefetching_tiles_;  ///< around the panel, if its successor is prefetched
  std::vector<Loop> panel_;              ///< the reductions that each tile runs over
  bool blocked_ = false;                 ///< results so far go through memory
};

}  // namespace

TileProblem tile_problem(const BlockInfo& info, const std::vector<Var>& weights) {
  TileProblem problem;
  for (size_t i = 0; i < info.iterations.size(); ++i) {
    problem.extents.push_back(info.iterations[i].extent);
    problem.open.push_back(info.iterations[i].open);
    problem.reduces.push_back(info.iterations[i].reduces);
    problem.scalar.push_back(info.work.condition_depends[i]);
  }
  for (const Access& read : info.reads) {
    TileOperand operand;
    operand.steps = read.steps;
    operand.items = read.item_count();
    operand.weight = reads_weight(read, weights);
    for (size_t i = 0; i < info.iterations.size(); ++i) {
      operand.packable.push_back(is_packable(read, info, i));
    }
    problem.operands.push_back(operand);
  }
  problem.result_steps = info.writes[0].steps;
  problem.item_bytes = std::max(1, info.writes[0].dtype.bits / 8);
  return problem;
}

std::optional<BlockInfo> epilogue_of(const TirSchedule& schedule, const BlockInfo& reduction) {
  if (schedule.is_output(reduction.block)) return std::nullopt;
  const std::vector<Block> consumers = schedule.consumers(reduction.block);
  if (consumers.size() != 1) return std::nullopt;
  BlockInfo info = inspect(schedule, consumers[0]);
  if (info.reduction || !info.regular || info.volume() != reduction.spatial_volume()) {
    return std::nullopt;
  }
  return info;
}

void schedule_tiled_reduction(TirSchedule& schedule, const BlockInfo& info,
                              const ReductionPlan& plan, const std::vector<Var>& weights,
                              int64_t pieces) {
  TiledReduction(schedule, info, plan, weights, pieces).apply();
}

}  // namespace nnef_tvm
