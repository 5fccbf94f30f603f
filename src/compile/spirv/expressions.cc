#include <tvm/ffi/error.h>

#include <spirv/unified1/GLSL.std.450.h>
#include <algorithm>

#include "compile/spirv/emitter.h"
#include "tvm/te.h"

namespace nnef_tvm::spirv {

namespace {

constexpr DLDataType kTruth{kDLBool, 8, 1};

DLDataType with_lanes(DLDataType type, uint16_t lanes) {
  type.lanes = lanes;
  return type;
}

/// Instructions by the kind of operands: signed, unsigned, floating, boolean.
struct Instruction {
  std::string_view key;
  std::array<spv::Op, 4> by_kind;
};

constexpr spv::Op kNone = spv::Op::OpNop;

constexpr std::array<Instruction, 12> kArithmetic = {{
    {"prim.Add", {spv::Op::OpIAdd, spv::Op::OpIAdd, spv::Op::OpFAdd, kNone}},
    {"prim.Sub", {spv::Op::OpISub, spv::Op::OpISub, spv::Op::OpFSub, kNone}},
    {"prim.Mul", {spv::Op::OpIMul, spv::Op::OpIMul, spv::Op::OpFMul, kNone}},
    {"prim.Div", {spv::Op::OpSDiv, spv::Op::OpUDiv, spv::Op::OpFDiv, kNone}},
    {"prim.Mod", {spv::Op::OpSRem, spv::Op::OpUMod, spv::Op::OpFRem, kNone}},
    {"prim.And", {kNone, kNone, kNone, spv::Op::OpLogicalAnd}},
    {"prim.Or", {kNone, kNone, kNone, spv::Op::OpLogicalOr}},
    {"prim.BitwiseAnd",
     {spv::Op::OpBitwiseAnd, spv::Op::OpBitwiseAnd, kNone, spv::Op::OpLogicalAnd}},
    {"prim.BitwiseOr", {spv::Op::OpBitwiseOr, spv::Op::OpBitwiseOr, kNone, spv::Op::OpLogicalOr}},
    {"prim.BitwiseXor",
     {spv::Op::OpBitwiseXor, spv::Op::OpBitwiseXor, kNone, spv::Op::OpLogicalNotEqual}},
    {"prim.LShift", {spv::Op::OpShiftLeftLogical, spv::Op::OpShiftLeftLogical, kNone, kNone}},
    {"prim.RShift", {spv::Op::OpShiftRightArithmetic, spv::Op::OpShiftRightLogical, kNone, kNone}},
}};

constexpr std::array<Instruction, 8> kComparisons = {{
    {"prim.EQ",
     {spv::Op::OpIEqual, spv::Op::OpIEqual, spv::Op::OpFOrdEqual, spv::Op::OpLogicalEqual}},
    {"prim.NE",
     {spv::Op::OpINotEqual, spv::Op::OpINotEqual, spv::Op::OpFUnordNotEqual,
      spv::Op::OpLogicalNotEqual}},
    {"prim.LT", {spv::Op::OpSLessThan, spv::Op::OpULessThan, spv::Op::OpFOrdLessThan, kNone}},
    {"prim.LE",
     {spv::Op::OpSLessThanEqual, spv::Op::OpULessThanEqual, spv::Op::OpFOrdLessThanEqual, kNone}},
    {"prim.GT",
     {spv::Op::OpSGreaterThan, spv::Op::OpUGreaterThan, spv::Op::OpFOrdGreaterThan, kNone}},
    {"prim.GE",
     {spv::Op::OpSGreaterThanEqual, spv::Op::OpUGreaterThanEqual, spv::Op::OpFOrdGreaterThanEqual,
      kNone}},
    // The smaller or the greater of two is selected by these.
    {"prim.Min", {spv::Op::OpSLessThan, spv::Op::OpULessThan, spv::Op::OpFOrdLessThan, kNone}},
    {"prim.Max",
     {spv::Op::OpSGreaterThan, spv::Op::OpUGreaterThan, spv::Op::OpFOrdGreaterThan, kNone}},
}};

size_t kind_of(DLDataType type) {
  if (type.code == kDLBool) return 3;
  if (type.code == kDLFloat) return 2;
  return type.code == kDLUInt ? 1 : 0;
}

template <size_t N>
spv::Op instruction(const std::array<Instruction, N>& table, const std::string& key,
                    DLDataType type) {
  for (const Instruction& row : table) {
    if (row.key == key && row.by_kind[kind_of(type)] != kNone) return row.by_kind[kind_of(type)];
  }
  TVM_FFI_THROW(DeviceLimit) << "no code in SPIR-V for " << key << " of " << type;
  return kNone;
}

struct GlslFunction {
  std::string_view name;
  uint32_t instruction;
  bool any_width;  ///< also for 64 bits
};

constexpr std::array<GlslFunction, 23> kGlsl = {{
    {"sqrt", GLSLstd450Sqrt, true},    {"rsqrt", GLSLstd450InverseSqrt, true},
    {"floor", GLSLstd450Floor, true},  {"ceil", GLSLstd450Ceil, true},
    {"trunc", GLSLstd450Trunc, true},  {"rint", GLSLstd450RoundEven, true},
    {"fabs", GLSLstd450FAbs, true},    {"exp", GLSLstd450Exp, false},
    {"exp2", GLSLstd450Exp2, false},   {"log", GLSLstd450Log, false},
    {"log2", GLSLstd450Log2, false},   {"sin", GLSLstd450Sin, false},
    {"cos", GLSLstd450Cos, false},     {"tan", GLSLstd450Tan, false},
    {"asin", GLSLstd450Asin, false},   {"acos", GLSLstd450Acos, false},
    {"atan", GLSLstd450Atan, false},   {"asinh", GLSLstd450Asinh, false},
    {"acosh", GLSLstd450Acosh, false}, {"atanh", GLSLstd450Atanh, false},
    {"atan2", GLSLstd450Atan2, false}, {"pow", GLSLstd450Pow, false},
    {"tanh", GLSLstd450Tanh, false},
}};

std::string callee(const ObjectRef& node) {
  const auto op = field<ObjectRef>(node, "op");
  return type_key(op) == "ir.Op" ? std::string(field<String>(op, "name")) : type_key(op);
}

DLDataType result_type(const ObjectRef& node) {
  return field<DLDataType>(field<ObjectRef>(node, "ty"), "dtype");
}

}  // namespace

const std::map<std::string_view, Value (Emitter::*)(const ObjectRef&)>& Emitter::expressions() {
  static const auto rows = [] {
    std::map<std::string_view, Value (Emitter::*)(const ObjectRef&)> all = {
        {"ir.Var", &Emitter::variable},
        {"ir.IntImm", &Emitter::integer},
        {"ir.FloatImm", &Emitter::real},
        {"prim.Not", &Emitter::negation},
        {"prim.Select", &Emitter::selection},
        {"prim.Cast", &Emitter::conversion},
        {"prim.Let", &Emitter::let},
        {"prim.Ramp", &Emitter::ramp},
        {"prim.Broadcast", &Emitter::broadcast},
        {"prim.Shuffle", &Emitter::shuffle},
        {"ir.TensorLoad", &Emitter::load},
        {"ir.Call", &Emitter::call},
        {"prim.BitwiseNot", &Emitter::complement},
    };
    for (const Instruction& row : kArithmetic) all[row.key] = &Emitter::binary;
    for (const Instruction& row : kComparisons) all[row.key] = &Emitter::comparison;
    all["prim.Min"] = all["prim.Max"] = &Emitter::extreme;
    return all;
  }();
  return rows;
}

const std::map<std::string_view, Value (Emitter::*)(const ObjectRef&)>& Emitter::calls() {
  static const std::map<std::string_view, Value (Emitter::*)(const ObjectRef&)> rows = {
      {"prim.if_then_else", &Emitter::conditional},
      {"tirx.if_then_else", &Emitter::conditional},
      {"tirx.reinterpret", &Emitter::reinterpretation},
      {"tirx.likely", &Emitter::first_argument},
      {"tirx.call_pure_extern", &Emitter::named_function},
      {"tirx.tvm_storage_sync", &Emitter::barrier},
  };
  return rows;
}

Value Emitter::expression(const ObjectRef& node) {
  const std::string key = type_key(node);
  const auto found = expressions().find(key);
  if (found == expressions().end()) {
    TVM_FFI_THROW(DeviceLimit) << "no code in SPIR-V for expressions of type " << key;
  }
  return (this->*found->second)(node);
}

Value Emitter::op(spv::Op op, DLDataType type, const std::vector<Value>& operands) {
  Words ids;
  for (const Value& operand : operands) ids.push_back(operand.id);
  const Value result{builder_.emit(op, builder_.item_type(type), ids), type};
  const bool rounds = op == spv::Op::OpFAdd || op == spv::Op::OpFSub || op == spv::Op::OpFMul ||
                      op == spv::Op::OpFDiv;
  // Drivers otherwise take (x + c) - c for x.
  if (exact_ && rounds) builder_.decorate(result.id, spv::Decoration::NoContraction);
  return result;
}

Value Emitter::variable(const ObjectRef& node) {
  const auto found = values_.find(node.get());
  if (found == values_.end()) {
    TVM_FFI_THROW(InternalError) << "variable '" << field<String>(node, "name")
                                 << "' has no value in a shader";
  }
  return found->second;
}

Value Emitter::integer(const ObjectRef& node) {
  const DLDataType type = result_type(node);
  return {builder_.constant(field<int64_t>(node, "value"), type), type};
}

Value Emitter::real(const ObjectRef& node) {
  const DLDataType type = result_type(node);
  return {builder_.constant(field<double>(node, "value"), type), type};
}

Value Emitter::number(double value, DLDataType type) {
  const Value scalar{builder_.constant(value, with_lanes(type, 1)), with_lanes(type, 1)};
  return type.lanes == 1 ? scalar : joined(std::vector<Value>(type.lanes, scalar));
}

Value Emitter::binary(const ObjectRef& node) {
  const Value a = expression(field<ObjectRef>(node, "a"));
  const Value b = expression(field<ObjectRef>(node, "b"));
  return op(instruction(kArithmetic, type_key(node), a.type), a.type, {a, b});
}

Value Emitter::comparison(const ObjectRef& node) {
  const Value a = expression(field<ObjectRef>(node, "a"));
  const Value b = expression(field<ObjectRef>(node, "b"));
  return op(instruction(kComparisons, type_key(node), a.type), with_lanes(kTruth, a.type.lanes),
            {a, b});
}

Value Emitter::extreme(const ObjectRef& node) {
  const Value a = expression(field<ObjectRef>(node, "a"));
  const Value b = expression(field<ObjectRef>(node, "b"));
  const Value first = op(instruction(kComparisons, type_key(node), a.type),
                         with_lanes(kTruth, a.type.lanes), {a, b});
  return select(first, a, b);
}

Value Emitter::negation(const ObjectRef& node) {
  const Value a = expression(field<ObjectRef>(node, "a"));
  return op(spv::Op::OpLogicalNot, a.type, {a});
}

Value Emitter::complement(const ObjectRef& node) {
  const Value a = expression(field<ObjectRef>(node, "a"));
  return op(a.type.code == kDLBool ? spv::Op::OpLogicalNot : spv::Op::OpNot, a.type, {a});
}

Value Emitter::select(const Value& condition, const Value& a, const Value& b) {
  const Value each = condition.type.lanes == a.type.lanes
                         ? condition
                         : joined(std::vector<Value>(a.type.lanes, condition));
  return op(spv::Op::OpSelect, a.type, {each, a, b});
}

Value Emitter::selection(const ObjectRef& node) {
  const Value condition = expression(field<ObjectRef>(node, "condition"));
  const Value a = expression(field<ObjectRef>(node, "true_value"));
  return select(condition, a, expression(field<ObjectRef>(node, "false_value")));
}

Value Emitter::conversion(const ObjectRef& node) {
  return converted(expression(field<ObjectRef>(node, "value")), result_type(node));
}

Value Emitter::converted(const Value& value, DLDataType type) {
  type.lanes = value.type.lanes;
  const size_t from = kind_of(value.type);
  const size_t to = kind_of(type);
  if (from == to && (to == 3 || value.type.bits == type.bits)) return value;
  if (to == 3) {
    const spv::Op differs = from == 2 ? spv::Op::OpFUnordNotEqual : spv::Op::OpINotEqual;
    return op(differs, type, {value, number(0, value.type)});
  }
  if (from == 3) return select(value, number(1, type), number(0, type));
  if (from == 2 && to == 2) return op(spv::Op::OpFConvert, type, {value});
  if (from == 2) {
    return op(to == 0 ? spv::Op::OpConvertFToS : spv::Op::OpConvertFToU, type, {value});
  }
  if (to == 2) {
    return op(from == 0 ? spv::Op::OpConvertSToF : spv::Op::OpConvertUToF, type, {value});
  }
  return resized(value, type);
}

/// Between integers: extended as the old type says, then taken as the new one.
Value Emitter::resized(const Value& value, DLDataType type) {
  if (value.type.bits == type.bits) return op(spv::Op::OpBitcast, type, {value});
  if (value.type.code == kDLInt) return op(spv::Op::OpSConvert, type, {value});
  DLDataType wide = type;
  wide.code = kDLUInt;
  const Value widened = op(spv::Op::OpUConvert, wide, {value});
  return type.code == kDLUInt ? widened : op(spv::Op::OpBitcast, type, {widened});
}

Value Emitter::let(const ObjectRef& node) {
  values_[field<ObjectRef>(node, "var").get()] = expression(field<ObjectRef>(node, "value"));
  return expression(field<ObjectRef>(node, "body"));
}

Value Emitter::ramp(const ObjectRef& node) {
  const Value base = expression(field<ObjectRef>(node, "base"));
  const Value stride = expression(field<ObjectRef>(node, "stride"));
  std::vector<Value> lanes = {base};
  while (lanes.size() < result_type(node).lanes) {
    lanes.push_back(op(spv::Op::OpIAdd, base.type, {lanes.back(), stride}));
  }
  return joined(lanes);
}

Value Emitter::broadcast(const ObjectRef& node) {
  const Value scalar = expression(field<ObjectRef>(node, "value"));
  return joined(std::vector<Value>(result_type(node).lanes, scalar));
}

Value Emitter::shuffle(const ObjectRef& node) {
  std::vector<Value> lanes;
  for (const ObjectRef& vector : field<Array<ObjectRef>>(node, "vectors")) {
    const Value value = expression(vector);
    for (uint32_t i = 0; i < value.type.lanes; ++i) lanes.push_back(lane(value, i));
  }
  std::vector<Value> chosen;
  for (const PrimExpr& index : field<Array<PrimExpr>>(node, "indices")) {
    const auto known = known_int(index);
    if (!known) TVM_FFI_THROW(DeviceLimit) << "a lane that is not known in a shader";
    chosen.push_back(lanes.at(static_cast<size_t>(*known)));
  }
  return joined(chosen);
}

Value Emitter::lane(const Value& vector, uint32_t index) {
  if (vector.type.lanes == 1) return vector;
  const DLDataType type = with_lanes(vector.type, 1);
  return {builder_.emit(spv::Op::OpCompositeExtract, builder_.item_type(type), {vector.id, index}),
          type};
}

Value Emitter::joined(const std::vector<Value>& lanes) {
  if (lanes.size() == 1) return lanes[0];
  return op(spv::Op::OpCompositeConstruct,
            with_lanes(lanes[0].type, static_cast<uint16_t>(lanes.size())), lanes);
}

Value Emitter::load(const ObjectRef& node) {
  const Memory memory = memory_of(field<ObjectRef>(node, "source"));
  const auto indices = field<Array<ObjectRef>>(node, "indices");
  const Value index = expression(indices[0]);
  std::vector<Value> lanes;
  for (uint32_t i = 0; i < index.type.lanes; ++i) {
    lanes.push_back(load_item(memory, lane(index, i)));
  }
  return joined(lanes);
}

Value Emitter::call(const ObjectRef& node) {
  const std::string name = callee(node);
  const auto found = calls().find(name);
  if (found == calls().end()) {
    TVM_FFI_THROW(DeviceLimit) << "no code in SPIR-V for calls of " << name;
  }
  return (this->*found->second)(node);
}

/// A branch: the side that is not taken may read beyond its memory.
Value Emitter::conditional(const ObjectRef& node) {
  const auto args = field<Array<ObjectRef>>(node, "args");
  const Value condition = expression(args[0]);
  const Id then = builder_.new_id(), otherwise = builder_.new_id(), merge = builder_.new_id();
  builder_.emit(spv::Op::OpSelectionMerge, {merge, 0});
  builder_.emit(spv::Op::OpBranchConditional, {condition.id, then, otherwise});
  builder_.begin_block(then);
  const Value a = expression(args[1]);
  const Id after_a = builder_.current_block();
  builder_.emit(spv::Op::OpBranch, {merge});
  builder_.begin_block(otherwise);
  const Value b = expression(args[2]);
  const Id after_b = builder_.current_block();
  builder_.emit(spv::Op::OpBranch, {merge});
  builder_.begin_block(merge);
  return {builder_.emit(spv::Op::OpPhi, builder_.item_type(a.type), {a.id, after_a, b.id, after_b}),
          a.type};
}

Value Emitter::reinterpretation(const ObjectRef& node) {
  const Value value = expression(field<Array<ObjectRef>>(node, "args")[0]);
  const DLDataType type = result_type(node);
  if (kind_of(value.type) == kind_of(type) && value.type.bits == type.bits) return value;
  return op(spv::Op::OpBitcast, type, {value});
}

Value Emitter::first_argument(const ObjectRef& node) {
  return expression(field<Array<ObjectRef>>(node, "args")[0]);
}

Value Emitter::named_function(const ObjectRef& node) {
  const auto args = field<Array<ObjectRef>>(node, "args");
  const std::string name = field<String>(args[0], "value");
  std::vector<Value> values;
  for (size_t i = 1; i < args.size(); ++i)
    values.push_back(expression(args[static_cast<int64_t>(i)]));
  if (name == "fmod") return remainder(values.at(0), values.at(1));
  const auto found = std::find_if(kGlsl.begin(), kGlsl.end(),
                                  [&](const GlslFunction& row) { return row.name == name; });
  const DLDataType type = values.at(0).type;
  if (found == kGlsl.end() || type.code != kDLFloat || (type.bits == 64 && !found->any_width)) {
    TVM_FFI_THROW(DeviceLimit) << "shaders have no function " << name << " of "
                               << with_lanes(type, 1);
  }
  Words ids;
  for (const Value& value : values) ids.push_back(value.id);
  return {builder_.emit_glsl(found->instruction, builder_.item_type(type), ids), type};
}

/// a - b * trunc(a / b), as C's fmod within rounding.
Value Emitter::remainder(const Value& a, const Value& b) {
  const Value quotient = op(spv::Op::OpFDiv, a.type, {a, b});
  const Value whole{builder_.emit_glsl(GLSLstd450Trunc, builder_.item_type(a.type), {quotient.id}),
                    a.type};
  return op(spv::Op::OpFSub, a.type, {a, op(spv::Op::OpFMul, a.type, {b, whole})});
}

Value Emitter::barrier(const ObjectRef& node) {
  const std::string scope = field<String>(field<Array<ObjectRef>>(node, "args")[0], "value");
  if (scope != "shared")
    TVM_FFI_THROW(DeviceLimit) << "no barrier for '" << scope << "' in shaders";
  const Id workgroup = builder_.uint_constant(static_cast<uint32_t>(spv::Scope::Workgroup));
  const auto semantics =
      spv::MemorySemanticsMask::AcquireRelease | spv::MemorySemanticsMask::WorkgroupMemory;
  builder_.emit(spv::Op::OpControlBarrier,
                {workgroup, workgroup, builder_.uint_constant(static_cast<uint32_t>(semantics))});
  return {};
}

}  // namespace nnef_tvm::spirv
