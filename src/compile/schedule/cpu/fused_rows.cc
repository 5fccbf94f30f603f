// Chains of reductions along rows and elementwise stages on them (softmax, normalisations): all
// stages of a row at a time, while it is in the cache, in one parallel loop over rows.
#include <algorithm>
#include <utility>

#include "compile/schedule/cpu/rows.h"
#include "compile/schedule/cpu/rules.h"
#include "tvm/te.h"

namespace nnef_tvm {
namespace {

/// Whether the items that an access reads for one result, `length` of them, are no other result's:
/// windows that overlap are no rows.
bool is_apart(const BlockInfo& info, const Access& read, int64_t length) {
  for (size_t i = 0; i < info.iterations.size(); ++i) {
    const Iteration& iteration = info.iterations[i];
    const Step& step = read.steps[i];
    if (iteration.reduces || iteration.extent == 1 || step.is_none()) continue;
    if (step.kind != Step::Kind::kLinear || step.stride < length) return false;
  }
  return true;
}

/// Whether a reduction reads contiguous items for each result, and no others.
bool reduces_rows(const BlockInfo& info) {
  return std::all_of(info.reads.begin(), info.reads.end(), [&](const Access& read) {
    int64_t stride = 1;
    for (size_t i = info.iterations.size(); i-- > 0;) {
      const Iteration& iteration = info.iterations[i];
      if (!iteration.reduces || iteration.extent == 1) continue;
      const Step& step = read.steps[i];
      if (step.is_none()) return true;
      if (step.kind != Step::Kind::kLinear || step.stride != stride) return false;
      stride *= iteration.extent;
    }
    return is_apart(info, read, stride);
  });
}

/// Whether loops run over the stage's result in the order of memory.
bool in_memory_order(const BlockInfo& info) {
  const std::vector<size_t> order = info.result_order();
  return std::is_sorted(order.begin(), order.end());
}

/// How many of a stage's first axes run over rows; nullopt when none of their products is `count`.
std::optional<size_t> row_axes(const BlockInfo& info, int64_t count) {
  int64_t product = 1;
  for (size_t i = 0; i < info.iterations.size() && !info.iterations[i].reduces; ++i) {
    product *= info.iterations[i].extent;
    if (product == count) return i + 1;
  }
  return std::nullopt;
}

/// Whether a stage has one iteration for each item of the rows or one for each row.
bool runs_along(const BlockInfo& info, const Rows& rows) {
  const int64_t items = info.volume() / rows.count;
  return info.regular && in_memory_order(info) && row_axes(info, rows.count) &&
         (items == 1 || items == rows.length);
}

/// The stages that stay when what need not be stored is inlined; none when a result is used again.
std::vector<BlockInfo> stages_of(TirSchedule& schedule) {
  std::vector<BlockInfo> stages;
  for (const Block& block : schedule.blocks()) {
    if (!stages.empty() && schedule.is_output(stages.back().block)) return {};
    stages.push_back(inspect(schedule, block));
  }
  return stages;
}

class FusedRows {
 public:
  FusedRows(TirSchedule& schedule, const Rows& rows, const CpuTraits& traits)
      : schedule_(schedule), rows_(rows), traits_(traits) {}

  void apply(const std::vector<BlockInfo>& stages) {
    const BlockInfo& result = stages.back();
    int64_t operations = 0;
    std::vector<std::pair<Block, bool>> blocks;  // whether they make partial results
    for (const BlockInfo& info : stages) {
      operations += info.volume();
      if (const auto partial = partial_results(info)) blocks.push_back({*partial, true});
      blocks.push_back({info.block, false});
    }
    blocks.pop_back();
    std::vector<Loop> loops = schedule_.loops(result.block);
    loops.resize(*row_axes(result, rows_.count));
    const Loop row = loops.size() == 1 ? loops[0] : schedule_.fuse(loops);
    for (size_t i = blocks.size(); i-- > 0;) {
      schedule_.compute_at(blocks[i].first, row, /*preserve_unit_loops=*/true);
    }
    if (operations >= kParallelThreshold && rows_.count > 1) schedule_.parallel(row);
    for (const auto& [block, partial] : blocks) {
      if (partial) vectorise_partial_results(block);
    }
    for (const BlockInfo& info : stages) {
      if (!info.reduction && info.volume() > rows_.count) vectorise_items(info);
    }
  }

 private:
  int64_t lanes(const BlockInfo& info) const {
    return std::max(1, traits_.vector_bytes / std::max(1, info.writes[0].dtype.bits / 8));
  }

  /// The loops of a stage inside its row, as one.
  Loop along_row(const Block& block) {
    const std::vector<Loop> loops = schedule_.loops(block);
    const std::vector<Loop> inner(loops.begin() + 1, loops.end());
    return inner.size() == 1 ? inner[0] : schedule_.fuse(inner);
  }

  /// A block of partial results of a reduction, one for each lane of a vector; nullopt when vectors
  /// do not divide it.
  std::optional<Block> partial_results(const BlockInfo& info) {
    const int64_t full = lanes(info);
    const int64_t length = info.open() ? info.reduction_multiple() : info.reduction_volume();
    if (!info.reduction || full == 1 || length % full != 0 || (!info.open() && length < 2 * full)) {
      return std::nullopt;
    }
    const std::vector<Loop> loops = schedule_.loops(info.block);
    std::vector<Loop> reduced;
    for (size_t i = 0; i < loops.size(); ++i) {
      if (info.iterations[i].reduces) reduced.push_back(loops[i]);
    }
    const Loop along = reduced.size() == 1 ? reduced[0] : schedule_.fuse(reduced);
    const std::vector<Loop> pieces = schedule_.split(along, {full});
    const Block partial =
        schedule_.rfactor(pieces[1], static_cast<int>(info.writes[0].indices.size()));
    return partial;
  }

  /// TVM puts the lanes, an axis of the result, before the steps along the row.
  void vectorise_partial_results(const Block& block) {
    std::vector<Loop> loops = schedule_.loops(block);
    loops.erase(loops.begin());
    std::rotate(loops.begin(), loops.begin() + 1, loops.end());
    schedule_.reorder(loops);
    schedule_.vectorize(loops.back());
    schedule_.decompose_reduction(block, loops[loops.size() - 2]);
  }

  void vectorise_items(const BlockInfo& info) {
    const int64_t full = lanes(info);
    const Loop along = along_row(info.block);
    if (full == 1 || rows_.length < full) return;
    const auto extent = field<PrimExpr>(schedule_.node(along), "extent");
    const auto length = known_int(extent);
    const int64_t rest = length ? *length % full : known_factor(extent) % full;
    const Loop whole = rest == 0 ? along
                       : length  ? schedule_.partition(along, {*length - rest})[0]
                                 : schedule_.partition(along, floordiv(extent, full) * full)[0];
    schedule_.vectorize(schedule_.split(whole, {full})[1]);
  }

  TirSchedule& schedule_;
  const Rows& rows_;
  const CpuTraits& traits_;
};

}  // namespace

std::optional<Rows> rows_of(const std::vector<BlockInfo>& stages, const CpuTraits& traits) {
  const auto reduction = std::find_if(stages.begin(), stages.end(),
                                      [](const BlockInfo& info) { return info.reduction; });
  if (reduction == stages.end()) return std::nullopt;
  Rows rows{reduction->spatial_volume(), 1};
  for (const BlockInfo& info : stages) {
    if (!info.regular || !in_memory_order(info) || !row_axes(info, rows.count)) {
      return std::nullopt;
    }
    if (info.reduction && (info.spatial_volume() != rows.count || !reduces_rows(info))) {
      return std::nullopt;
    }
    rows.length = std::max(rows.length, info.volume() / rows.count);
  }
  for (const BlockInfo& info : stages) {
    if (!info.reduction && !runs_along(info, rows)) return std::nullopt;
  }
  // A few long rows: each stage by itself occupies all cores.
  if (rows.count < traits.cores && rows.length >= kParallelThreshold) return std::nullopt;
  return rows;
}

std::optional<Rows> rows_of(const PrimFunc& function, const CpuTraits& traits) {
  TirSchedule schedule(function);
  inline_stages(schedule);
  return rows_of(stages_of(schedule), traits);
}

bool runs_along(const PrimFunc& function, const Rows& rows) {
  TirSchedule schedule(function);
  inline_stages(schedule);
  const std::vector<BlockInfo> stages = stages_of(schedule);
  return !stages.empty() && std::all_of(stages.begin(), stages.end(), [&](const BlockInfo& info) {
    return !info.reduction && runs_along(info, rows);
  });
}

bool fuse_rows(TirSchedule& schedule, const CpuTraits& traits) {
  const std::vector<BlockInfo> stages = stages_of(schedule);
  const auto reductions = std::count_if(stages.begin(), stages.end(),
                                        [](const BlockInfo& info) { return info.reduction; });
  if (reductions == 0 || stages.size() < 2 || stages.back().reduction) return false;
  const std::optional<Rows> rows = rows_of(stages, traits);
  if (!rows) return false;
  // One reduction, with results of one item: nothing of the row is used again.
  if (reductions == 1 && stages.back().volume() == rows->count) return false;
  FusedRows(schedule, *rows, traits).apply(stages);
  return true;
}

}  // namespace nnef_tvm
