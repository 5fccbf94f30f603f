#include "compile/spirv/builder.h"

#include <tvm/ffi/error.h>

#include <cmath>
#include <cstring>

namespace nnef_tvm::spirv {

namespace {

constexpr uint32_t kVersion = 0x00010300;  // SPIR-V 1.3: Vulkan 1.1 takes it
constexpr uint32_t kGenerator = 0;

void append(Words& words, spv::Op op, const Words& operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | static_cast<uint32_t>(op));
  words.insert(words.end(), operands.begin(), operands.end());
}

void append(Words& words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
}

Words join(Words first, const Words& second) {
  append(first, second);
  return first;
}

template <typename Enum>
uint32_t word(Enum value) {
  return static_cast<uint32_t>(value);
}

uint16_t half_bits(double value) {
  // Round to nearest even by the width of a half's unit in the last place.
  if (std::isnan(value)) return 0x7e00;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int unit = std::max(exponent - 11, -24);
  const double mantissa = std::nearbyint(std::ldexp(size, -unit));
  // Of normal numbers the leading bit adds to the exponent.
  const int biased = unit + 24;
  return static_cast<uint16_t>(sign | ((biased << 10) + static_cast<int>(mantissa)));
}

}  // namespace

Words string_words(const std::string& text) {
  Words words(text.size() / 4 + 1);
  std::memcpy(words.data(), text.data(), text.size());
  return words;
}

Builder::Builder() : glsl_(new_id()), function_(new_id()), entry_(new_id()), block_(entry_) {
  capability(spv::Capability::Shader);
}

void Builder::decorate(Id target, spv::Decoration decoration, const Words& operands) {
  append(annotations_, spv::Op::OpDecorate, join({target, word(decoration)}, operands));
}

void Builder::decorate_member(Id type, uint32_t member, spv::Decoration decoration,
                              const Words& operands) {
  append(annotations_, spv::Op::OpMemberDecorate, join({type, member, word(decoration)}, operands));
}

Id Builder::own_type(spv::Op op, const Words& operands) {
  const Id id = new_id();
  append(declarations_, op, join({id}, operands));
  return id;
}

Id Builder::type(spv::Op op, const Words& operands) {
  const auto [found, is_new] = known_.try_emplace(join({word(op)}, operands), 0);
  if (is_new) found->second = own_type(op, operands);
  return found->second;
}

Id Builder::type_of_bits(DLDataType dtype) {
  if (dtype.code == kDLBool) return type(spv::Op::OpTypeBool);
  const bool is_float = dtype.code == kDLFloat;
  if (!is_float && dtype.code != kDLInt && dtype.code != kDLUInt) {
    TVM_FFI_THROW(DeviceLimit) << "SPIR-V has no type for " << dtype;
  }
  if (dtype.bits == 64) {
    capability(is_float ? spv::Capability::Float64 : spv::Capability::Int64);
  } else if (dtype.bits == 16) {
    capability(is_float ? spv::Capability::Float16 : spv::Capability::Int16);
  } else if (dtype.bits == 8 && !is_float) {
    capability(spv::Capability::Int8);
  } else if (dtype.bits != 32) {
    TVM_FFI_THROW(DeviceLimit) << "SPIR-V has no type for " << dtype;
  }
  if (is_float) return type(spv::Op::OpTypeFloat, {dtype.bits});
  return type(spv::Op::OpTypeInt, {dtype.bits, dtype.code == kDLInt ? 1u : 0u});
}

Id Builder::item_type(DLDataType dtype) {
  const Id scalar = type_of_bits(dtype);
  if (dtype.lanes == 1) return scalar;
  if (dtype.lanes > 4) TVM_FFI_THROW(DeviceLimit) << "no vectors of " << dtype << " in shaders";
  return type(spv::Op::OpTypeVector, {scalar, dtype.lanes});
}

Id Builder::pointer_type(spv::StorageClass storage, Id pointee) {
  return type(spv::Op::OpTypePointer, {word(storage), pointee});
}

Id Builder::constant_words(Id type, const Words& value) {
  const auto [found, is_new] =
      known_.try_emplace(join({word(spv::Op::OpConstant), type}, value), 0);
  if (is_new) {
    found->second = new_id();
    append(declarations_, spv::Op::OpConstant, join({type, found->second}, value));
  }
  return found->second;
}

Id Builder::constant(int64_t value, DLDataType dtype) {
  const Id type = item_type(dtype);
  if (dtype.code == kDLBool) {
    const spv::Op op = value != 0 ? spv::Op::OpConstantTrue : spv::Op::OpConstantFalse;
    const auto [found, is_new] = known_.try_emplace(Key{word(op)}, 0);
    if (is_new) {
      found->second = new_id();
      append(declarations_, op, {type, found->second});
    }
    return found->second;
  }
  if (dtype.bits == 64) {
    const auto bits = static_cast<uint64_t>(value);
    return constant_words(type, {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)});
  }
  // Narrow numbers are extended by their sign, if they have one.
  const auto bits = static_cast<uint32_t>(value);
  const uint32_t mask = dtype.bits == 32 ? ~0u : (1u << dtype.bits) - 1;
  return constant_words(type, {dtype.code == kDLUInt ? bits & mask : bits});
}

Id Builder::constant(double value, DLDataType dtype) {
  if (dtype.code != kDLFloat) return constant(static_cast<int64_t>(value), dtype);
  const Id type = item_type(dtype);
  if (dtype.bits == 64) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return constant_words(type, {static_cast<uint32_t>(bits), static_cast<uint32_t>(bits >> 32)});
  }
  if (dtype.bits == 16) return constant_words(type, {half_bits(value)});
  const auto narrow = static_cast<float>(value);
  uint32_t bits;
  std::memcpy(&bits, &narrow, sizeof(bits));
  return constant_words(type, {bits});
}

Id Builder::uint_constant(uint32_t value) {
  return constant(static_cast<int64_t>(value), DLDataType{kDLUInt, 32, 1});
}

Id Builder::variable(Id pointer_type, spv::StorageClass storage) {
  const Id id = new_id();
  append(declarations_, spv::Op::OpVariable, {pointer_type, id, word(storage)});
  return id;
}

Id Builder::local_variable(Id pointer_type) {
  const Id id = new_id();
  append(locals_, spv::Op::OpVariable, {pointer_type, id, word(spv::StorageClass::Function)});
  return id;
}

Id Builder::emit(spv::Op op, Id type, const Words& operands) {
  const Id id = new_id();
  emit_as(id, op, type, operands);
  return id;
}

void Builder::emit_as(Id result, spv::Op op, Id type, const Words& operands) {
  append(body_, op, join({type, result}, operands));
}

void Builder::emit(spv::Op op, const Words& operands) { append(body_, op, operands); }

Id Builder::emit_glsl(uint32_t instruction, Id type, const Words& operands) {
  return emit(spv::Op::OpExtInst, type, join({glsl_, instruction}, operands));
}

void Builder::begin_block(Id label) {
  append(body_, spv::Op::OpLabel, {label});
  block_ = label;
}

Words Builder::finish(const std::string& name, const std::array<uint32_t, 3>& local_size,
                      const Words& interface) {
  const Id none = void_type();
  const Id function_type = type(spv::Op::OpTypeFunction, {none});
  Words module = {spv::MagicNumber, kVersion, kGenerator, next_id_, 0};
  for (spv::Capability capability : capabilities_) {
    append(module, spv::Op::OpCapability, {word(capability)});
  }
  for (const std::string& extension : extensions_) {
    append(module, spv::Op::OpExtension, string_words(extension));
  }
  append(module, spv::Op::OpExtInstImport, join({glsl_}, string_words("GLSL.std.450")));
  append(module, spv::Op::OpMemoryModel,
         {word(spv::AddressingModel::Logical), word(spv::MemoryModel::GLSL450)});
  append(
      module, spv::Op::OpEntryPoint,
      join(join({word(spv::ExecutionModel::GLCompute), function_}, string_words(name)), interface));
  append(module, spv::Op::OpExecutionMode,
         {function_, word(spv::ExecutionMode::LocalSize), local_size[0], local_size[1],
          local_size[2]});
  append(module, annotations_);
  append(module, declarations_);
  append(module, spv::Op::OpFunction,
         {none, function_, word(spv::FunctionControlMask::MaskNone), function_type});
  append(module, spv::Op::OpLabel, {entry_});
  append(module, locals_);
  append(module, body_);
  append(module, spv::Op::OpFunctionEnd, {});
  return module;
}

}  // namespace nnef_tvm::spirv
