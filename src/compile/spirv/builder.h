// A SPIR-V module under construction: one compute kernel.
#pragma once

#include <tvm/ffi/dtype.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp11>
#include <string>
#include <vector>

namespace nnef_tvm::spirv {

using Id = uint32_t;
using Words = std::vector<uint32_t>;

/// The words of a string in instructions.
Words string_words(const std::string& text);

class Builder {
 public:
  Builder();

  Id new_id() { return next_id_++; }
  void capability(spv::Capability capability) { capabilities_.insert(capability); }
  void extension(const std::string& name) { extensions_.insert(name); }
  void decorate(Id target, spv::Decoration decoration, const Words& operands = {});
  void decorate_member(Id type, uint32_t member, spv::Decoration decoration,
                       const Words& operands = {});

  // Types and constants, each made once. Item types bring the capabilities that they need.
  Id type(spv::Op op, const Words& operands = {});
  Id void_type() { return type(spv::Op::OpTypeVoid); }
  Id item_type(DLDataType dtype);
  Id pointer_type(spv::StorageClass storage, Id pointee);
  /// A type that is not like any other, so that it can be decorated.
  Id own_type(spv::Op op, const Words& operands);
  Id constant(double value, DLDataType dtype);
  Id constant(int64_t value, DLDataType dtype);
  Id uint_constant(uint32_t value);

  /// A variable of the module.
  Id variable(Id pointer_type, spv::StorageClass storage);
  /// A variable of the function, at its beginning.
  Id local_variable(Id pointer_type);

  // The function's instructions, in order.
  Id emit(spv::Op op, Id type, const Words& operands);
  void emit_as(Id result, spv::Op op, Id type, const Words& operands);
  void emit(spv::Op op, const Words& operands = {});
  /// A call of the extended instruction set GLSL.std.450.
  Id emit_glsl(uint32_t instruction, Id type, const Words& operands);
  void begin_block(Id label);
  Id current_block() const { return block_; }

  /// The whole module, with an entry point of that name.
  Words finish(const std::string& name, const std::array<uint32_t, 3>& local_size,
               const Words& interface);

 private:
  using Key = std::vector<uint32_t>;

  Id type_of_bits(DLDataType dtype);
  Id constant_words(Id type, const Words& value);

  Id next_id_ = 1;
  std::set<spv::Capability> capabilities_;
  std::set<std::string> extensions_;
  std::map<Key, Id> known_;  ///< types and constants
  Words annotations_;
  Words declarations_;
  Words locals_;
  Words body_;
  Id glsl_;
  Id function_;
  Id entry_;
  Id block_;
};

}  // namespace nnef_tvm::spirv
