#include "compile/kernels/device_functions.h"

#include <array>
#include <string>

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
  static const bool registered = [] {
    for (const NamedFunction& row : kOpenClFunctions) {
      set_lowering("opencl", row.op, [name = std::string(row.name)](const Array<PrimExpr>& args) {
        return std::optional(call_by_name(name, item_type(args[0]), args));
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
