// Schedules of TIR: every primitive that the project uses, typed, with all of its parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tvm/object.h"

namespace nnef_tvm {

/// A block of a schedule (a random variable of TVM's, stable under transformations of other
/// blocks).
class Block : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Block, ffi::ObjectRef, ffi::Object);
};

/// A loop of a schedule.
class Loop : public ffi::ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Loop, ffi::ObjectRef, ffi::Object);
};

/// How the indices of a buffer's new layout follow from those of the old one.
ObjectRef index_map(const Array<Var>& initial, const Array<PrimExpr>& final_indices);

/// A schedule of one PrimFunc. A primitive that does not apply throws tvm::ffi::Error and changes
/// nothing.
class TirSchedule {
 public:
  explicit TirSchedule(const PrimFunc& function);

  /// The function as scheduled so far.
  PrimFunc function() const;

  /// The blocks directly inside the root block, in order.
  std::vector<Block> blocks() const;
  std::vector<Loop> loops(const Block& block) const;
  std::vector<Block> consumers(const Block& block) const;
  /// The block or loop itself (s_tir.SBlock, tirx.For).
  ObjectRef node(const Block& block) const;
  ObjectRef node(const Loop& loop) const;
  bool is_output(const Block& block) const;
  /// Whether the loop's iterations are independent of each other.
  bool is_parallel(const Loop& loop) const;
  /// Whether the loop's iterations are threads or groups of threads.
  bool is_bound(const Loop& loop) const;
  /// Whether every iteration variable is one loop's variable.
  bool has_trivial_binding(const Block& block) const;

  /// Into loops of these extents; the first is what is left over.
  std::vector<Loop> split(const Loop& loop, const std::vector<int64_t>& inner);
  /// The same without guards: the last items may lie beyond the extent.
  std::vector<Loop> split_beyond(const Loop& loop, const std::vector<int64_t>& inner);
  /// Into loops one after the other with these extents, and one over the rest. The loop must begin
  /// at zero, which the loops after the first no longer do.
  std::vector<Loop> partition(const Loop& loop, const std::vector<int64_t>& first);
  std::vector<Loop> partition(const Loop& loop, const PrimExpr& first);
  Loop fuse(const std::vector<Loop>& loops);
  void reorder(const std::vector<Loop>& loops);
  void parallel(const Loop& loop);
  void vectorize(const Loop& loop);
  void unroll(const Loop& loop);
  /// To "blockIdx.x", "threadIdx.y", ...
  void bind(const Loop& loop, const std::string& thread);
  /// A loop of one iteration around all others of the block.
  Loop add_unit_loop(const Block& block);

  void compute_at(const Block& block, const Loop& loop, bool preserve_unit_loops);
  void reverse_compute_at(const Block& block, const Loop& loop, bool preserve_unit_loops);
  void compute_inline(const Block& block);
  void reverse_compute_inline(const Block& block);

  Block cache_read(const Block& block, int read_index, const std::string& scope);
  Block cache_write(const Block& block, int write_index, const std::string& scope);
  void set_scope(const Block& block, int write_index, const std::string& scope);
  /// Of the buffer that the block writes; what the new layout has beyond the old one is zero.
  void transform_layout_padded(const Block& block, const ObjectRef& map, const PrimExpr& zero);
  /// Of the buffer that the block writes; what the new layout has beyond the old one stays
  /// undefined.
  void transform_layout_unpadded(const Block& block, const ObjectRef& map);

  /// The block's reads (but those of what it writes) take min(variable, last) for its iteration
  /// variable: within its extent, that is the same.
  void clamp_reads(const Block& block, const Var& variable, const PrimExpr& last);

  Block decompose_reduction(const Block& block, const Loop& loop);
  /// Makes the loop a spatial axis (the last one) of partial results; returns the block that
  /// computes them.
  Block rfactor(const Loop& loop, int axis);

  void annotate(const Block& block, const std::string& key, int64_t value);
  void annotate(const Loop& loop, const std::string& key, int64_t value);

 private:
  Schedule handle_;
};

/// Lets rfactor know maxima and minima whose identities are infinities; TVM itself knows the
/// greatest finite numbers.
void register_infinite_extremes();

/// Marks a block that does nothing but bring one parameter into another layout, so that
/// relax.transform.SplitLayoutRewritePreproc makes a function of its own of it.
inline constexpr const char* kLayoutRewriteBlock = "meta_schedule.layout_rewrite_preproc";
/// The pass that makes functions of blocks so marked, and calls of them in Relax functions.
Pass split_layout_rewrites();

}  // namespace nnef_tvm
