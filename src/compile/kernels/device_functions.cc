#include "compile/kernels/device_functions.h"

#include <array>
#include <string>

#include "compile/kernels/transcendental.h"
#include "tvm/lowering.h"
#include "tvm/te.h"

namespace nnef_tvm {
namespace {

struct NamedFunction {
  const char* op;
  const char* name;
};

// OpenCL C overloads one name for all types; TVM would call tanf, atan2f and so on.
constexpr std::array<NamedFunction, 8> kOpenClFunctions = {{
    {"tirx.tan", "tan"},
    {"tirx.asin", "asin"},
    {"tirx.acos", "acos"},
    {"tirx.atan", "atan"},
    {"tirx.asinh", "asinh"},
    {"tirx.acosh", "acosh"},
    {"tirx.atanh", "atanh"},
    {"tirx.atan2", "atan2"},
}};

// Shaders' functions, by the names that compile/spirv knows.
constexpr std::array<NamedFunction, 19> kShaderFunctions = {{
    {"tirx.exp", "exp"},     {"tirx.sqrt", "sqrt"},      {"tirx.rsqrt", "rsqrt"},
    {"tirx.sin", "sin"},     {"tirx.cos", "cos"},        {"tirx.tan", "tan"},
    {"tirx.asin", "asin"},   {"tirx.acos", "acos"},      {"tirx.atan", "atan"},
    {"tirx.asinh", "asinh"}, {"tirx.acosh", "acosh"},    {"tirx.atanh", "atanh"},
    {"tirx.atan2", "atan2"}, {"tirx.floor", "floor"},    {"prim.ceil", "ceil"},
    {"tirx.trunc", "trunc"}, {"tirx.nearbyint", "rint"}, {"tirx.fabs", "fabs"},
    {"tirx.fmod", "fmod"},

}};

struct Formula {
  const char* op;
  PrimExpr (*formula)(const PrimExpr& x);
};

// Those that shaders lack, or compute to fewer digits than others do.
constexpr std::array<Formula, 3> kShaderFormulas = {{
    {"tirx.log", log_float32},
    {"tirx.tanh", tanh_float32},
    {"tirx.erf", erf_float32},
}};

bool is_float32(const PrimExpr& x) {
  return item_type(x).code == kDLFloat && item_type(x).bits == 32;
}

/// Shaders' own powers are of positive bases.
std::optional<PrimExpr> power_in_shaders(const Array<PrimExpr>& args) {
  if (!is_float32(args[0])) return std::nullopt;
  return let(args[0], [&](const PrimExpr& base) {
    return let(args[1], [&](const PrimExpr& exponent) {
      return pow_of_magnitude(base, exponent,
                              call_by_name("pow", item_type(base), {abs(base), exponent}));
    });
  });
}

std::string opencl_type(DLDataType type) {
  struct Row {
    int bits;
    const char* integer;
    const char* real;
  };
  constexpr std::array<Row, 4> kRows = {
      {{8, "char", ""}, {16, "short", "half"}, {32, "int", "float"}, {64, "long", "double"}}};
  for (const Row& row : kRows) {
    if (row.bits != type.bits) continue;
    const std::string scalar = type.code == kDLFloat
                                   ? row.real
                                   : std::string(type.code == kDLUInt ? "u" : "") + row.integer;
    return type.lanes == 1 ? scalar : scalar + std::to_string(type.lanes);
  }
  TVM_FFI_THROW(TypeError) << "OpenCL C has no type for " << type;
  return "";
}

}  // namespace

void register_device_functions() {
  static const bool registered = first_in_process("device_functions") && [] {
    for (const NamedFunction& row : kOpenClFunctions) {
      set_lowering("opencl", row.op, [name = std::string(row.name)](const Array<PrimExpr>& args) {
        return std::optional(call_by_name(name, item_type(args[0]), args));
      });
    }
    for (const NamedFunction& row : kShaderFunctions) {
      set_lowering("vulkan", row.op, [name = std::string(row.name)](const Array<PrimExpr>& args) {
        return std::optional(call_by_name(name, item_type(args[0]), args));
      });
    }
    set_lowering("vulkan", "tirx.sigmoid", [](const Array<PrimExpr>& args) {
      return std::optional(1 / (exp(-args[0]) + 1));
    });
    set_lowering("vulkan", "tirx.pow", power_in_shaders);
    for (const auto& [op, formula] : kShaderFormulas) {
      set_lowering("vulkan", op, [formula = formula](const Array<PrimExpr>& args) {
        return is_float32(args[0]) ? std::optional(formula(args[0])) : std::nullopt;
      });
    }
    // TVM would take the address of what may be a constant.
    set_call_lowering("opencl", "tirx.reinterpret", [](const PrimExpr& call) {
      const DLDataType type = item_type(call);
      return std::optional(
          call_by_name("as_" + opencl_type(type), type, field<Array<PrimExpr>>(call, "args")));
    });
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace nnef_tvm
