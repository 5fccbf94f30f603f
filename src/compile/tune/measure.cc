#include "compile/tune/measure.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

#include "compile/passes/weight_vars.h"
#include "nnef_runtime/session.h"
#include "runtime/vm.h"
#include "tvm/bindings.h"
#include "tvm/build.h"
#include "tvm/ir.h"
#include "tvm/ir_module.h"
#include "tvm/te.h"
#include "tvm/transform.h"

namespace nnef_tvm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kUnknown = std::numeric_limits<double>::infinity();
constexpr int64_t kMostTurns = 32;

// One turn of a race is long against the clock's resolution and short against what disturbs it.
constexpr double kTurnSeconds = 5e-4;
constexpr int64_t kMostCalls = 200;
constexpr int kFewestRounds = 5;
constexpr int kMostRounds = 40;
constexpr int kCalmRounds = 4;  // without a better time, after which a race ends
constexpr double kBetter = 0.99;
// After so many rounds, who takes so many times as long as the best leaves.
constexpr int kTrialRounds = 3;
constexpr double kHopeless = 1.5;
constexpr int kLongTrialRounds = 6;
constexpr double kBehind = 1.15;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct ItemType {
  std::vector<int64_t> shape;
  DLDataType dtype{};
};

/// Of a kernel's parameter; nullopt when its shape is not known.
std::optional<ItemType> buffer_type(const Var& param) {
  const auto type = field<ObjectRef>(param, "ty");
  ItemType found;
  found.dtype = field<DLDataType>(field<ObjectRef>(type, "dtype"), "dtype");
  for (const PrimExpr& extent : field<Array<PrimExpr>>(type, "shape")) {
    const auto known = known_int(extent);
    if (!known) return std::nullopt;
    found.shape.push_back(*known);
  }
  return found;
}

ffi::Tensor unwritten(const Var& param) {
  const auto type = buffer_type(param);
  if (!type) TVM_FFI_THROW(ValueError) << "a kernel's result is of no known shape";
  ffi::Tensor tensor = nnef_runtime::allocate(type->dtype, type->shape);
  // No number, so that items that a kernel leaves out are seen.
  std::memset(tensor.data_ptr(), 0xff, ffi::GetDataSize(*tensor.GetDLTensorPtr()));
  return tensor;
}

ffi::Tensor copy_of(const ffi::Tensor& tensor) {
  const auto shape = tensor.shape();
  ffi::Tensor copy = nnef_runtime::allocate(tensor.dtype(), {shape.begin(), shape.end()});
  std::memcpy(copy.data_ptr(), tensor.data_ptr(), ffi::GetDataSize(*tensor.GetDLTensorPtr()));
  return copy;
}

bool is_float(DLDataType dtype, int bits) { return dtype.code == kDLFloat && dtype.bits == bits; }

double half(uint16_t bits) {
  constexpr int kLeast = -24;
  const int exponent = bits >> 10 & 31;
  const double mantissa = bits & 1023;
  double value = std::ldexp(mantissa + 1024, kLeast + exponent - 1);
  if (exponent == 0) value = std::ldexp(mantissa, kLeast);
  if (exponent == 31) value = mantissa == 0 ? kUnknown : std::nan("");
  return bits >> 15 ? -value : value;
}

/// An item of a tensor of floating-point numbers.
double item(const ffi::Tensor& tensor, int64_t i) {
  if (is_float(tensor.dtype(), 64)) return static_cast<const double*>(tensor.data_ptr())[i];
  if (is_float(tensor.dtype(), 32)) return static_cast<const float*>(tensor.data_ptr())[i];
  return half(static_cast<const uint16_t*>(tensor.data_ptr())[i]);
}

/// -1 to 1, without a pattern that kernels could fall in with.
double sample(int64_t i, size_t seed) {
  const uint64_t mixed = (static_cast<uint64_t>(i) * 2 + seed + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<double>(mixed >> 40) / (1 << 23) - 1;
}

bool fill(const ffi::Tensor& tensor, size_t seed) {
  const DLDataType dtype = tensor.dtype();
  void* data = tensor.data_ptr();
  const int64_t count = tensor.numel();
  if (is_float(dtype, 32)) {
    for (int64_t i = 0; i < count; ++i) {
      static_cast<float*>(data)[i] = static_cast<float>(sample(i, seed));
    }
  } else if (is_float(dtype, 64)) {
    for (int64_t i = 0; i < count; ++i) static_cast<double*>(data)[i] = sample(i, seed);
  } else if (is_float(dtype, 16)) {
    // 0.5 to 1 with either sign.
    for (int64_t i = 0; i < count; ++i) {
      const double value = sample(i, seed);
      static_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(
          (value < 0 ? 0x8000 : 0) | 0x3800 | static_cast<int>(std::abs(value) * 1023));
    }
  } else if (dtype.lanes == 1 && dtype.bits % 8 == 0 &&
             (dtype.code == kDLInt || dtype.code == kDLUInt || dtype.code == kDLBool)) {
    // Zeros and ones: as indices they are inside of any axis that has two items.
    const size_t bytes = dtype.bits / 8;
    std::memset(data, 0, bytes * static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      static_cast<char*>(data)[static_cast<size_t>(i) * bytes] = sample(i, seed) > 0 ? 1 : 0;
    }
  } else {
    return false;
  }
  return true;
}

bool same_tensor(const ffi::Tensor& got, const ffi::Tensor& want, double tolerance) {
  if (want.dtype().code != kDLFloat) {
    return std::memcmp(got.data_ptr(), want.data_ptr(), ffi::GetDataSize(*want.GetDLTensorPtr())) ==
           0;
  }
  if (is_float(want.dtype(), 16)) tolerance = std::max(tolerance, 4e-3);
  double largest = 0;
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double value = std::abs(item(want, i));
    if (std::isfinite(value)) largest = std::max(largest, value);
  }
  for (int64_t i = 0; i < want.numel(); ++i) {
    const double a = item(got, i), b = item(want, i);
    const bool both_nan = std::isnan(a) && std::isnan(b);
    if (a == b || both_nan || std::abs(a - b) <= tolerance * largest) continue;
    return false;
  }
  return true;
}

}  // namespace

ModuleRun::ModuleRun(const IRModule& scheduled, const Target& target)
    : module_(run_pass(relax_pass::attach_global_symbol(), scheduled)) {
  std::vector<NamedFunction> functions = functions_of(module_);
  std::erase_if(functions, [](const NamedFunction& item) { return !is_prim_func(item.function); });
  libraries_.push_back(build_tir(make_module(functions), target));
  for (const NamedFunction& item : functions) {
    kernels_.emplace(item.name,
                     nnef_runtime::module_function(libraries_.front(), item.name.c_str()));
  }
}

void ModuleRun::prepare(const std::vector<ffi::Tensor>& arguments, int64_t cold_bytes) {
  const Expr main = find_function(module_, "main");
  const WeightVars weights(main);
  std::map<const ffi::Object*, ffi::Tensor> values;
  const auto params = field<Array<Var>>(main, "params");
  for (size_t i = 0; i < params.size(); ++i) values.emplace(params[i].get(), arguments.at(i));
  for (const Binding& binding : bindings_of(main)) {
    if (operator_name(binding.value) != "relax.call_tir") {
      // Another name for a kernel's result.
      const auto known = values.find(binding.value.get());
      if (known == values.end()) {
        TVM_FFI_THROW(ValueError) << "no call of a kernel: " << type_key(binding.value);
      }
      values.emplace(binding.var.get(), known->second);
      continue;
    }
    const Array<Expr> parts = args_of(binding.value);
    const std::string name = field<String>(parts[0], "name_hint");
    const bool fixed = weights.is_weight(binding.value);
    Step step{kernels_.at(name), {{}}};
    int64_t bytes = 0;
    std::vector<size_t> weight_places;
    for (const ObjectRef& argument : field<Array<ObjectRef>>(parts[1], "fields")) {
      const ffi::Tensor& tensor = values.at(argument.get());
      if (!fixed && weights.is_weight(argument)) {
        weight_places.push_back(step.arguments[0].size());
        bytes += static_cast<int64_t>(ffi::GetDataSize(*tensor.GetDLTensorPtr()));
      }
      step.arguments[0].push_back(tensor);
    }
    results_.clear();
    const auto buffers = field<Array<Var>>(find_function(module_, name), "params");
    for (size_t i = step.arguments[0].size(); i < buffers.size(); ++i) {
      results_.push_back(unwritten(buffers[i]));
    }
    step.arguments[0].insert(step.arguments[0].end(), results_.begin(), results_.end());
    if (results_.size() == 1) values.emplace(binding.var.get(), results_[0]);
    const int64_t turns =
        bytes == 0 ? 1 : std::clamp<int64_t>((cold_bytes + bytes - 1) / bytes, 1, kMostTurns);
    while (static_cast<int64_t>(step.arguments.size()) < turns) {
      step.arguments.push_back(step.arguments[0]);
      for (const size_t place : weight_places) {
        step.arguments.back()[place] = copy_of(step.arguments[0][place]);
      }
    }
    call(step, 0);
    if (!fixed) steps_.push_back(std::move(step));
  }
}

void ModuleRun::call(const Step& step, size_t turn) const {
  const auto& tensors = step.arguments[turn % step.arguments.size()];
  std::vector<ffi::AnyView> views(tensors.begin(), tensors.end());
  ffi::Any nothing;
  step.kernel.CallPacked(views.data(), static_cast<int32_t>(views.size()), &nothing);
}

double ModuleRun::time(int64_t calls) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < calls; ++i, ++turn_) {
    for (const Step& step : steps_) call(step, turn_);
  }
  return since(start) / static_cast<double>(calls);
}

std::optional<std::vector<ffi::Tensor>> sample_arguments(const IRModule& module) {
  std::vector<ffi::Tensor> tensors;
  for (const Var& param : field<Array<Var>>(find_function(module, "main"), "params")) {
    const auto shape = known_shape(param);
    if (!shape) return std::nullopt;
    tensors.push_back(nnef_runtime::allocate(dtype_of(param), *shape));
    if (!fill(tensors.back(), tensors.size())) return std::nullopt;
  }
  return tensors;
}

bool same_results(const std::vector<ffi::Tensor>& got, const std::vector<ffi::Tensor>& want,
                  double tolerance) {
  return got.size() == want.size() && std::equal(got.begin(), got.end(), want.begin(),
                                                 [&](const ffi::Tensor& a, const ffi::Tensor& b) {
                                                   return a.numel() == b.numel() &&
                                                          a.dtype() == b.dtype() &&
                                                          same_tensor(a, b, tolerance);
                                                 });
}

std::vector<double> least_times(const std::vector<ModuleRun*>& runs, double seconds,
                                const StopSignal& stop) {
  const auto start = Clock::now();
  std::vector<double> best(runs.size(), kUnknown);
  int calm = 0;
  for (int round = 0; round < kMostRounds && calm < kCalmRounds; ++round) {
    const double fastest = *std::min_element(best.begin(), best.end());
    calm = round >= kFewestRounds ? calm + 1 : 0;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (stop() || (round > 0 && since(start) > seconds)) return best;
      if (round >= kTrialRounds && best[i] > kHopeless * fastest) continue;
      if (round >= kLongTrialRounds && best[i] > kBehind * fastest) continue;
      const double turn_calls = best[i] == kUnknown ? 1 : kTurnSeconds / best[i];
      const double time =
          runs[i]->time(std::clamp(static_cast<int64_t>(turn_calls), int64_t{1}, kMostCalls));
      if (time < kBetter * best[i] && time < kHopeless * fastest) calm = 0;
      best[i] = std::min(best[i], time);
    }
  }
  return best;
}

}  // namespace nnef_tvm
