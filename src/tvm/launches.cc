#include "tvm/launches.h"

#include <unordered_map>

#include "tvm/bindings.h"

namespace nnef_tvm {

namespace {

std::optional<int64_t> known(const ObjectRef& expr) {
  if (type_key(expr) != "ir.IntImm") return std::nullopt;
  return field<int64_t>(expr, "value");
}

/// Reads the host's statements.
class Reader {
 public:
  explicit Reader(const Expr& host) {
    for (const Var& param : field<Array<Var>>(host, "params")) plan_.params.push_back(param);
    read(field<ObjectRef>(host, "body"));
  }

  std::optional<HostPlan> result() && {
    if (!understood_) return std::nullopt;
    return std::move(plan_);
  }

 private:
  void read(const ObjectRef& statement) {
    const std::string key = type_key(statement);
    if (key == "tirx.SeqStmt") {
      for (const ObjectRef& item : field<Array<ObjectRef>>(statement, "seq")) read(item);
    } else if (key == "tirx.AllocBuffer") {
      plan_.temporaries.push_back(field<Var>(statement, "buffer"));
    } else if (key == "tirx.DeclBuffer") {
      const Var viewed = data_of(field<ObjectRef>(statement, "data"));
      if (viewed.defined()) views_[field<Var>(statement, "buffer").get()] = viewed;
    } else if (key == "tirx.Evaluate") {
      evaluate(field<ObjectRef>(statement, "value"));
    } else {
      understood_ = false;
    }
  }

  void evaluate(const ObjectRef& value) {
    if (known(value)) return;  // a statement that does nothing
    if (operator_name(value) != "tirx.call_ffi_kernel") {
      understood_ = false;
      return;
    }
    const auto args = field<Array<ObjectRef>>(value, "args");
    KernelLaunch launch;
    launch.kernel = field<String>(args[0], "value");
    for (const String& tag :
         field<Array<String>>(field<ObjectRef>(value, "attrs"), "launch_params")) {
      launch.tags.push_back(tag);
    }
    const size_t first_extent = args.size() - launch.tags.size();
    for (size_t i = 1; i < first_extent; ++i) launch.arguments.push_back(argument(args[i]));
    for (size_t i = first_extent; i < args.size(); ++i) {
      const auto extent = known(args[i]);
      understood_ = understood_ && extent.has_value();
      launch.extents.push_back(extent.value_or(0));
    }
    plan_.launches.push_back(std::move(launch));
  }

  KernelArgument argument(const ObjectRef& expr) {
    if (const Var buffer = data_of(expr); buffer.defined()) return {buffer};
    if (const auto number = known(expr)) return {Var(), static_cast<double>(*number)};
    if (type_key(expr) == "ir.FloatImm") return {Var(), field<double>(expr, "value")};
    understood_ = false;
    return {};
  }

  /// The buffer whose memory an expression is; undefined when it is none's.
  Var data_of(const ObjectRef& expr) {
    if (operator_name(expr) != "tirx.buffer_data") return Var();
    const auto buffer = as<Var>(field<Array<ObjectRef>>(expr, "args")[0]);
    const auto view = views_.find(buffer.get());
    return view == views_.end() ? buffer : view->second;
  }

  HostPlan plan_;
  bool understood_ = true;
  std::unordered_map<const void*, Var> views_;
};

}  // namespace

std::optional<HostPlan> host_plan(const Expr& host) { return Reader(host).result(); }

BufferSpec buffer_spec(const Var& buffer) {
  const auto type = field<ObjectRef>(buffer, "ty");
  BufferSpec spec{field<DLDataType>(field<ObjectRef>(type, "dtype"), "dtype"), {}};
  for (const ObjectRef& extent : field<Array<ObjectRef>>(type, "shape")) {
    spec.shape.push_back(known(extent).value_or(0));
  }
  return spec;
}

}  // namespace nnef_tvm
