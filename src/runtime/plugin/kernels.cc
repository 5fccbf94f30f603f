#include "runtime/plugin/kernels.h"

#include <tvm/ffi/error.h>

#include <cstring>

namespace nnef_plugin {

namespace {

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  Number number() {
    Number value;
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    return value;
  }

  std::string text() { return std::string(take(number<uint64_t>())); }
  bool is_done() const { return bytes_.empty(); }

  /// Items of a list that take at least `least` bytes each.
  template <typename Item, typename Read>
  std::vector<Item> list(size_t least, const Read& read) {
    const auto count = number<uint64_t>();
    if (count > bytes_.size() / least) fail();
    std::vector<Item> items;
    items.reserve(count);
    for (uint64_t i = 0; i < count; ++i) items.push_back(read());
    return items;
  }

 private:
  [[noreturn]] static void fail() {
    TVM_FFI_THROW(ValueError) << "the kernels' description is cut short or damaged";
    std::abort();
  }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size()) fail();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

  std::string_view bytes_;
};

class Writer {
 public:
  template <typename Number>
  void number(Number value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(const std::string& value) {
    number<uint64_t>(value.size());
    bytes_ += value;
  }
  std::string bytes() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

KernelInfo read_kernel(Reader& reader) {
  KernelInfo kernel;
  reader.text();  // the key: the name again
  kernel.name = reader.text();
  kernel.arguments = reader.list<DLDataType>(4, [&] {
    DLDataType type;
    type.code = reader.number<uint8_t>();
    type.bits = reader.number<uint8_t>();
    type.lanes = reader.number<uint16_t>();
    return type;
  });
  kernel.launch_tags = reader.list<std::string>(8, [&] { return reader.text(); });
  kernel.extra_tags = reader.list<int32_t>(4, [&] { return reader.number<int32_t>(); });
  return kernel;
}

void write_kernel(const KernelInfo& kernel, Writer& writer) {
  writer.text(kernel.name);
  writer.text(kernel.name);
  writer.number<uint64_t>(kernel.arguments.size());
  for (const DLDataType& type : kernel.arguments) {
    writer.number<uint8_t>(type.code);
    writer.number<uint8_t>(type.bits);
    writer.number<uint16_t>(type.lanes);
  }
  writer.number<uint64_t>(kernel.launch_tags.size());
  for (const std::string& tag : kernel.launch_tags) writer.text(tag);
  writer.number<uint64_t>(kernel.extra_tags.size());
  for (int32_t tag : kernel.extra_tags) writer.number<int32_t>(tag);
}

constexpr std::string_view kGroup = "blockIdx.";
constexpr std::string_view kThread = "threadIdx.";

const TVMFFIAny& raw(ffi::PackedArgs arguments, size_t i) {
  return reinterpret_cast<const TVMFFIAny*>(arguments.data())[i];
}

}  // namespace

KernelModule read_kernel_module(std::string_view bytes) {
  Reader reader(bytes);
  KernelModule module;
  module.format = reader.text();
  module.kernels = reader.list<KernelInfo>(40, [&] { return read_kernel(reader); });
  module.code = reader.text();
  return module;
}

std::string write_kernel_module(const KernelModule& module) {
  Writer writer;
  writer.text(module.format);
  writer.number<uint64_t>(module.kernels.size());
  for (const KernelInfo& kernel : module.kernels) write_kernel(kernel, writer);
  writer.text(module.code);
  return writer.bytes();
}

void append_spirv(const std::vector<uint32_t>& words, std::string& code) {
  Writer writer;
  writer.number<uint64_t>(words.size());
  code += writer.bytes();
  code.append(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t));
}

std::vector<std::vector<uint32_t>> split_spirv(std::string_view code) {
  Reader reader(code);
  std::vector<std::vector<uint32_t>> modules;
  while (!reader.is_done()) {
    modules.push_back(reader.list<uint32_t>(4, [&] { return reader.number<uint32_t>(); }));
  }
  return modules;
}

Launch::Launch(const KernelInfo& kernel, ffi::PackedArgs arguments)
    : kernel_(kernel), arguments_(arguments) {
  const size_t before = kernel.arguments.size();
  if (static_cast<size_t>(arguments.size()) != before + kernel.launch_tags.size()) {
    TVM_FFI_THROW(ValueError) << "kernel " << kernel.name << " was called with " << arguments.size()
                              << " arguments instead of " << before + kernel.launch_tags.size();
  }
  for (size_t i = 0; i < kernel.launch_tags.size(); ++i) {
    const std::string_view tag = kernel.launch_tags[i];
    const auto extent = static_cast<uint64_t>(raw(arguments, before + i).v_int64);
    const bool is_group = tag.starts_with(kGroup);
    const size_t axis = tag.empty() ? 3 : static_cast<size_t>(tag.back() - 'x');
    if (axis > 2 || !(is_group || tag.starts_with(kThread))) {
      TVM_FFI_THROW(ValueError) << "kernel " << kernel.name << " wants the launch parameter '"
                                << std::string(tag) << "', which this plug-in does not know";
    }
    (is_group ? groups_ : threads_)[axis] = extent;
  }
}

void* Launch::handle(size_t i) const { return raw(arguments_, i).v_ptr; }

Scalar Launch::scalar(size_t i) const {
  const DLDataType type = kernel_.arguments[i];
  const TVMFFIAny& value = raw(arguments_, i);
  Scalar scalar;
  scalar.size = (type.bits + 7u) / 8u;
  if (type.code == kDLFloat && type.bits == 32) {
    const auto narrow = static_cast<float>(value.v_float64);
    std::memcpy(scalar.bytes.data(), &narrow, sizeof(narrow));
  } else if (type.code == kDLFloat && type.bits == 64) {
    std::memcpy(scalar.bytes.data(), &value.v_float64, sizeof(double));
  } else if (type.code == kDLInt || type.code == kDLUInt || type.code == kDLBool) {
    std::memcpy(scalar.bytes.data(), &value.v_int64, sizeof(int64_t));
  } else {
    TVM_FFI_THROW(TypeError) << "kernel " << kernel_.name << " takes argument " << i
                             << " by value in a type that this plug-in does not know";
  }
  return scalar;
}

}  // namespace nnef_plugin
