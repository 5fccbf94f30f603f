// Parameters, statements and memory; expressions.cc has the rest.
#include "compile/spirv/emitter.h"

#include <tvm/ffi/error.h>

#include "tvm/ir_module.h"
#include "tvm/te.h"

namespace nnef_tvm::spirv {

namespace {

constexpr DLDataType kUint{kDLUInt, 32, 1};
constexpr std::array<std::string_view, 2> kNeedRounding = {"tirx.reinterpret",
                                                           "tirx.call_pure_extern"};
constexpr uint32_t kPushSlot = 8;  // bytes
/// What every device takes as a grid's extent.
constexpr int64_t kMaxGroups = 65535;

bool is_pointer(const ObjectRef& type) { return type_key(type) == "ir.PointerType"; }

DLDataType buffer_item(const ObjectRef& buffer) {
  return field<DLDataType>(field<ObjectRef>(field<ObjectRef>(buffer, "ty"), "dtype"), "dtype");
}

/// Booleans have no layout in memory that others see: there they are bytes.
DLDataType as_stored(DLDataType item) {
  return item.code == kDLBool ? DLDataType{kDLUInt, 8, item.lanes} : item;
}

uint32_t bytes_of(DLDataType type) { return type.bits / 8u; }

size_t axis_of(const std::string& tag) {
  const size_t axis = tag.empty() ? 3 : static_cast<size_t>(tag.back() - 'x');
  if (axis > 2) TVM_FFI_THROW(DeviceLimit) << "no threads '" << tag << "' in shaders";
  return axis;
}

}  // namespace

Words Emitter::kernel(const std::string& name, const Expr& function) {
  exact_ = holds_any(field<ObjectRef>(function, "body"), kNeedRounding);
  declare_parameters(field<Array<Var>>(function, "params"));
  statement(field<ObjectRef>(function, "body"));
  builder_.emit(spv::Op::OpReturn);
  return builder_.finish(name, local_size_, interface_);
}

void Emitter::declare_parameters(const Array<Var>& parameters) {
  std::vector<Var> scalars;
  uint32_t binding = 0;
  for (const Var& parameter : parameters) {
    const auto type = field<ObjectRef>(parameter, "ty");
    if (is_pointer(type)) {
      const auto item = field<ObjectRef>(type, "element_type");
      declare_buffer(parameter, field<DLDataType>(item, "dtype"), binding++);
    } else {
      scalars.push_back(parameter);
    }
  }
  if (!scalars.empty()) declare_push_constants(scalars);
}

void Emitter::declare_buffer(const Var& parameter, DLDataType item, uint32_t binding) {
  const DLDataType stored = as_stored(item);
  if (stored.bits == 8) {
    builder_.capability(spv::Capability::StorageBuffer8BitAccess);
    builder_.extension("SPV_KHR_8bit_storage");
  } else if (stored.bits == 16) {
    builder_.capability(spv::Capability::StorageBuffer16BitAccess);
  }
  const Id array = builder_.own_type(spv::Op::OpTypeRuntimeArray, {builder_.item_type(stored)});
  builder_.decorate(array, spv::Decoration::ArrayStride, {bytes_of(stored)});
  const Id block = builder_.own_type(spv::Op::OpTypeStruct, {array});
  builder_.decorate(block, spv::Decoration::Block);
  builder_.decorate_member(block, 0, spv::Decoration::Offset, {0});
  const auto storage = spv::StorageClass::StorageBuffer;
  const Id variable = builder_.variable(builder_.pointer_type(storage, block), storage);
  builder_.decorate(variable, spv::Decoration::DescriptorSet, {0});
  builder_.decorate(variable, spv::Decoration::Binding, {binding});
  memory_[parameter.get()] = {variable, storage, item, stored, true};
}

void Emitter::declare_push_constants(const std::vector<Var>& scalars) {
  Words members;
  std::vector<DLDataType> types;
  for (const Var& scalar : scalars) {
    types.push_back(as_stored(item_type(scalar)));
    members.push_back(builder_.item_type(types.back()));
  }
  const Id block = builder_.own_type(spv::Op::OpTypeStruct, members);
  builder_.decorate(block, spv::Decoration::Block);
  for (uint32_t i = 0; i < members.size(); ++i) {
    builder_.decorate_member(block, i, spv::Decoration::Offset, {i * kPushSlot});
  }
  const auto storage = spv::StorageClass::PushConstant;
  const Id variable = builder_.variable(builder_.pointer_type(storage, block), storage);
  for (uint32_t i = 0; i < members.size(); ++i) {
    const Id pointer =
        builder_.emit(spv::Op::OpAccessChain, builder_.pointer_type(storage, members[i]),
                      {variable, builder_.uint_constant(i)});
    const Value stored{builder_.emit(spv::Op::OpLoad, members[i], {pointer}), types[i]};
    values_[scalars[i].get()] = converted(stored, item_type(scalars[i]));
  }
}

const std::map<std::string_view, void (Emitter::*)(const ObjectRef&)>& Emitter::statements() {
  static const std::map<std::string_view, void (Emitter::*)(const ObjectRef&)> rows = {
      {"tirx.SeqStmt", &Emitter::sequence},
      {"tirx.DeclBuffer", &Emitter::declare},
      {"tirx.AllocBuffer", &Emitter::allocate},
      {"tirx.AttrStmt", &Emitter::attribute},
      {"tirx.For", &Emitter::loop},
      {"tirx.IfThenElse", &Emitter::branch},
      {"tirx.Bind", &Emitter::bind},
      {"tirx.BufferStore", &Emitter::store},
      {"tirx.Evaluate", &Emitter::evaluate},
  };
  return rows;
}

void Emitter::statement(const ObjectRef& node) {
  const std::string key = type_key(node);
  const auto found = statements().find(key);
  if (found == statements().end()) {
    TVM_FFI_THROW(DeviceLimit) << "no code in SPIR-V for statements of type " << key;
  }
  (this->*found->second)(node);
}

void Emitter::sequence(const ObjectRef& node) {
  for (const ObjectRef& item : field<Array<ObjectRef>>(node, "seq")) statement(item);
}

void Emitter::declare(const ObjectRef& node) {
  const auto buffer = field<ObjectRef>(node, "buffer");
  const Memory& memory = memory_of(field<ObjectRef>(node, "data"));
  const DLDataType item = buffer_item(buffer);
  const bool same_lanes = item.lanes == memory.item.lanes || memory.is_block;
  if (item.code != memory.item.code || item.bits != memory.item.bits || !same_lanes) {
    TVM_FFI_THROW(DeviceLimit) << "memory of " << memory.item << " is used as " << item;
  }
  memory_[buffer.get()] = memory;
}

void Emitter::allocate(const ObjectRef& node) {
  const auto buffer = field<ObjectRef>(node, "buffer");
  const auto type = field<ObjectRef>(buffer, "ty");
  const std::string scope = field<String>(type, "storage_scope");
  uint32_t items = 1;
  for (const PrimExpr& extent : field<Array<PrimExpr>>(type, "shape")) {
    const auto known = known_int(extent);
    if (!known) TVM_FFI_THROW(DeviceLimit) << "memory of a size that is not known in a shader";
    items *= static_cast<uint32_t>(*known);
  }
  if (scope != "local" && scope != "shared") {
    TVM_FFI_THROW(DeviceLimit) << "no memory of scope '" << scope << "' in shaders";
  }
  const DLDataType item = buffer_item(buffer);
  const bool is_local = scope == "local";
  const auto storage = is_local ? spv::StorageClass::Function : spv::StorageClass::Workgroup;
  const Id array = builder_.type(spv::Op::OpTypeArray,
                                 {builder_.item_type(item), builder_.uint_constant(items)});
  const Id pointer = builder_.pointer_type(storage, array);
  const Id variable =
      is_local ? builder_.local_variable(pointer) : builder_.variable(pointer, storage);
  memory_[buffer.get()] = {variable, storage, item, item, false};
}

void Emitter::attribute(const ObjectRef& node) {
  if (std::string(field<String>(node, "attr_key")) == "thread_extent") {
    const auto iteration = field<ObjectRef>(node, "node");
    thread_extent(field<String>(iteration, "thread_tag"), field<Var>(iteration, "var"),
                  field<PrimExpr>(node, "value"));
  }
  statement(field<ObjectRef>(node, "body"));
}

void Emitter::thread_extent(const std::string& tag, const Var& variable, const PrimExpr& extent) {
  const size_t axis = axis_of(tag);
  const DLDataType type = item_type(variable);
  if (tag.starts_with("threadIdx.")) {
    const auto known = known_int(extent);
    if (!known) TVM_FFI_THROW(DeviceLimit) << "groups of a size that is not known";
    local_size_[axis] = static_cast<uint32_t>(*known);
    values_[variable.get()] = converted(
        builtin_component(spv::BuiltIn::LocalInvocationId, static_cast<uint32_t>(axis)), type);
  } else {
    values_[variable.get()] = converted(group_index(extent, axis), type);
  }
}

Value Emitter::group_index(const PrimExpr& extent, size_t axis) {
  const Value plain = builtin_component(spv::BuiltIn::WorkgroupId, static_cast<uint32_t>(axis));
  const auto known = known_int(extent);
  if (known && *known <= kMaxGroups) return plain;
  if (axis != 0) TVM_FFI_THROW(DeviceLimit) << "more than " << kMaxGroups << " groups in y or z";
  const Value rows = builtin_component(spv::BuiltIn::NumWorkgroups, 0);
  const Value row = builtin_component(spv::BuiltIn::WorkgroupId, 2);
  const Value index = op(spv::Op::OpIAdd, kUint, {op(spv::Op::OpIMul, kUint, {row, rows}), plain});
  // The last row may be longer than what is left for it.
  const Value count = converted(expression(extent), kUint);
  const Value beyond = op(spv::Op::OpUGreaterThanEqual, DLDataType{kDLBool, 8, 1}, {index, count});
  const Id leave = builder_.new_id(), stay = builder_.new_id();
  builder_.emit(spv::Op::OpSelectionMerge, {stay, 0});
  builder_.emit(spv::Op::OpBranchConditional, {beyond.id, leave, stay});
  builder_.begin_block(leave);
  builder_.emit(spv::Op::OpReturn);
  builder_.begin_block(stay);
  return index;
}

void Emitter::loop(const ObjectRef& node) {
  const auto variable = field<Var>(node, "loop_var");
  const DLDataType type = item_type(variable);
  const Value first = converted(expression(field<ObjectRef>(node, "min")), type);
  const Value extent = converted(expression(field<ObjectRef>(node, "extent")), type);
  const Value end = op(spv::Op::OpIAdd, type, {first, extent});
  const Id header = builder_.new_id(), test = builder_.new_id(), body = builder_.new_id();
  const Id next = builder_.new_id(), merge = builder_.new_id(), increased = builder_.new_id();
  const Id before = builder_.current_block();
  builder_.emit(spv::Op::OpBranch, {header});
  builder_.begin_block(header);
  const Id type_id = builder_.item_type(type);
  const Value counter{builder_.emit(spv::Op::OpPhi, type_id, {first.id, before, increased, next}),
                      type};
  builder_.emit(spv::Op::OpLoopMerge, {merge, next, 0});
  builder_.emit(spv::Op::OpBranch, {test});
  builder_.begin_block(test);
  const Value more = op(spv::Op::OpSLessThan, DLDataType{kDLBool, 8, 1}, {counter, end});
  builder_.emit(spv::Op::OpBranchConditional, {more.id, body, merge});
  builder_.begin_block(body);
  values_[variable.get()] = counter;
  statement(field<ObjectRef>(node, "body"));
  builder_.emit(spv::Op::OpBranch, {next});
  builder_.begin_block(next);
  const auto step = field<ffi::Optional<ObjectRef>>(node, "step");
  const Value by = step.has_value() ? converted(expression(*step), type) : number(1, type);
  builder_.emit_as(increased, spv::Op::OpIAdd, type_id, {counter.id, by.id});
  builder_.emit(spv::Op::OpBranch, {header});
  builder_.begin_block(merge);
}

void Emitter::branch(const ObjectRef& node) {
  const Value condition = expression(field<ObjectRef>(node, "condition"));
  const auto otherwise = field<ffi::Optional<ObjectRef>>(node, "else_case");
  const Id then = builder_.new_id(), merge = builder_.new_id();
  const Id other = otherwise.has_value() ? builder_.new_id() : merge;
  builder_.emit(spv::Op::OpSelectionMerge, {merge, 0});
  builder_.emit(spv::Op::OpBranchConditional, {condition.id, then, other});
  builder_.begin_block(then);
  statement(field<ObjectRef>(node, "then_case"));
  builder_.emit(spv::Op::OpBranch, {merge});
  if (otherwise.has_value()) {
    builder_.begin_block(other);
    statement(*otherwise);
    builder_.emit(spv::Op::OpBranch, {merge});
  }
  builder_.begin_block(merge);
}

void Emitter::bind(const ObjectRef& node) {
  values_[field<ObjectRef>(node, "var").get()] = expression(field<ObjectRef>(node, "value"));
}

void Emitter::store(const ObjectRef& node) {
  const Memory memory = memory_of(field<ObjectRef>(node, "buffer"));
  const auto indices = field<Array<ObjectRef>>(node, "indices");
  const Value index = expression(indices[0]);
  const Value value = expression(field<ObjectRef>(node, "value"));
  if (index.type.lanes == 1) return store_item(memory, index, value);
  for (uint32_t i = 0; i < value.type.lanes; ++i) {
    store_item(memory, lane(index, i), lane(value, i));
  }
}

void Emitter::evaluate(const ObjectRef& node) {
  const auto value = field<ObjectRef>(node, "value");
  if (type_key(value) == "ir.Call") expression(value);
}

const Memory& Emitter::memory_of(const ObjectRef& buffer) {
  const auto found = memory_.find(buffer.get());
  if (found == memory_.end()) {
    TVM_FFI_THROW(InternalError) << "memory that nothing declares in a shader";
  }
  return found->second;
}

Id Emitter::pointer(const Memory& memory, const Value& index) {
  const Id type = builder_.pointer_type(memory.storage, builder_.item_type(memory.stored));
  return memory.is_block ? builder_.emit(spv::Op::OpAccessChain, type,
                                         {memory.variable, builder_.uint_constant(0), index.id})
                         : builder_.emit(spv::Op::OpAccessChain, type, {memory.variable, index.id});
}

Value Emitter::load_item(const Memory& memory, const Value& index) {
  const Id loaded =
      builder_.emit(spv::Op::OpLoad, builder_.item_type(memory.stored), {pointer(memory, index)});
  return converted({loaded, memory.stored}, memory.item);
}

void Emitter::store_item(const Memory& memory, const Value& index, const Value& item) {
  const Value stored = converted(item, memory.stored);
  builder_.emit(spv::Op::OpStore, {pointer(memory, index), stored.id});
}

Id Emitter::builtin(spv::BuiltIn builtin) {
  const auto [found, is_new] = builtins_.try_emplace(builtin, 0);
  if (is_new) {
    const auto storage = spv::StorageClass::Input;
    const Id vector = builder_.item_type({kDLUInt, 32, 3});
    found->second = builder_.variable(builder_.pointer_type(storage, vector), storage);
    builder_.decorate(found->second, spv::Decoration::BuiltIn, {static_cast<uint32_t>(builtin)});
    interface_.push_back(found->second);
  }
  return found->second;
}

Value Emitter::builtin_component(spv::BuiltIn which, uint32_t axis) {
  const DLDataType vector{kDLUInt, 32, 3};
  const Id variable = builtin(which);
  const Value all{builder_.emit(spv::Op::OpLoad, builder_.item_type(vector), {variable}), vector};
  return lane(all, axis);
}

}  // namespace nnef_tvm::spirv
