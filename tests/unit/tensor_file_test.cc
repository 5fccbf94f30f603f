#include "nnef/tensor_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "nnef/file.h"
#include "temporary_folder.h"
#include "tensor_items.h"

namespace nnef {
namespace {

class TensorFile : public TemporaryFolder {};

std::string little(uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

struct Fields {
  std::string magic = "\x4e\xef";
  int major = 1;
  int minor = 0;
  uint64_t length = 0;
  uint64_t rank = 1;
  std::vector<uint64_t> extents;
  uint64_t bits = 32;
  uint64_t code = 0;
  uint64_t vendor = 0;
  uint64_t parameter = 0;
};

std::string header(Fields fields, size_t size = 128) {
  fields.extents.resize(8, 0);
  std::string text = fields.magic + little(fields.major, 1) + little(fields.minor, 1) +
                     little(fields.length, 4) + little(fields.rank, 4);
  for (const uint64_t extent : fields.extents) text += little(extent, 4);
  text += little(fields.bits, 4) + little(fields.code, 2) + little(fields.vendor, 2) +
          little(fields.parameter, 4);
  text.resize(size, '\0');
  return text;
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

struct Fault {
  std::string id;
  std::optional<uint64_t> offset;
};

Fault fault_of(const std::string& file) {
  Diagnostics diagnostics;
  EXPECT_EQ(read_tensor(bytes_of(file), nullptr, "w.dat", diagnostics), nullptr);
  EXPECT_EQ(diagnostics.error_count(), 1u);
  if (diagnostics.items().empty()) return {};
  EXPECT_EQ(diagnostics.items()[0].path, "w.dat");
  return {diagnostics.items()[0].id, diagnostics.items()[0].offset};
}

void expect_fault(const std::string& file, const std::string& id, uint64_t offset) {
  const Fault fault = fault_of(file);
  EXPECT_EQ(fault.id, id);
  EXPECT_EQ(fault.offset, offset);
}

std::vector<double> values(const Fields& fields, const std::string& data) {
  const std::string file = header(fields) + data;
  Diagnostics diagnostics;
  const auto tensor = read_tensor(bytes_of(file), nullptr, "w.dat", diagnostics);
  if (tensor == nullptr) {
    ADD_FAILURE() << format(diagnostics);
    return {};
  }
  return to_doubles(*tensor).value_or(std::vector<double>{});
}

using Doubles = std::vector<double>;

TEST(TensorItems, IntegersOfEveryWidth) {
  EXPECT_EQ(values({.length = 2, .extents = {2}, .bits = 8, .code = 1}, "\x01\xff"),
            (Doubles{1, 255}));
  EXPECT_EQ(values({.length = 2, .extents = {2}, .bits = 8, .code = 4}, "\x01\xff"),
            (Doubles{1, -1}));
  EXPECT_EQ(values({.length = 4, .extents = {2}, .bits = 16, .code = 4}, little(0xfffe0102, 4)),
            (Doubles{0x102, -2}));
  EXPECT_EQ(values({.length = 3, .extents = {1}, .bits = 24, .code = 4}, "\xfe\xff\xff"),
            (Doubles{-2}));
  EXPECT_EQ(values({.length = 8, .extents = {1}, .bits = 64, .code = 4}, little(uint64_t(-5), 8)),
            (Doubles{-5}));
  EXPECT_EQ(
      values({.length = 8, .extents = {1}, .bits = 64, .code = 1}, little(uint64_t{1} << 63, 8)),
      (Doubles{9223372036854775808.0}));
}

TEST(TensorItems, PackedMostSignificantBitFirst) {
  EXPECT_EQ(values({.length = 2, .extents = {3}, .bits = 4, .code = 1}, std::string("\x1f\x80", 2)),
            (Doubles{1, 15, 8}));
  EXPECT_EQ(values({.length = 2, .extents = {3}, .bits = 4, .code = 4}, std::string("\x1f\x80", 2)),
            (Doubles{1, -1, -8}));
  // 101 011 11|0 ...
  EXPECT_EQ(values({.length = 2, .extents = {3}, .bits = 3, .code = 1}, std::string("\xaf\x00", 2)),
            (Doubles{5, 3, 6}));
  EXPECT_EQ(values({.length = 3, .extents = {2}, .bits = 12, .code = 1}, "\xab\xcd\xef"),
            (Doubles{0xabc, 0xdef}));
}

TEST(TensorItems, LogicalsOfOneBitAndEight) {
  EXPECT_EQ(values({.length = 2, .extents = {9}, .bits = 1, .code = 5}, "\xa5\x80"),
            (Doubles{1, 0, 1, 0, 0, 1, 0, 1, 1}));
  EXPECT_EQ(values({.length = 3, .extents = {3}, .bits = 8, .code = 5}, std::string("\0\1\2", 3)),
            (Doubles{0, 1, 1}));
}

TEST(TensorItems, FloatsOfEveryWidth) {
  EXPECT_EQ(values({.length = 4, .extents = {1}, .bits = 32}, little(0x3fc00000, 4)),
            (Doubles{1.5}));
  EXPECT_EQ(values({.length = 8, .extents = {1}, .bits = 64}, little(0x3ff8000000000000, 8)),
            (Doubles{1.5}));
  EXPECT_EQ(values({.length = 4, .extents = {2}, .bits = 16}, little(0xbc003e00, 4)),
            (Doubles{1.5, -1}));
}

TEST(TensorItems, NearestHalf) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    if (!std::isnan(value)) {
      ASSERT_EQ(double_to_half(value), half);
    }
  }
  EXPECT_EQ(double_to_half(1 + std::ldexp(1, -11)), 0x3c00);  // halfway, to even
  EXPECT_EQ(double_to_half(1 + std::ldexp(3, -11)), 0x3c02);
  EXPECT_EQ(double_to_half(1 + std::ldexp(1.001, -11)), 0x3c01);
  EXPECT_EQ(double_to_half(65519.9), 0x7bff);
  EXPECT_EQ(double_to_half(-65520), 0xfc00);
  EXPECT_EQ(double_to_half(std::ldexp(1, -25)), 0);
  EXPECT_EQ(double_to_half(std::ldexp(1.5, -25)), 1);
  EXPECT_TRUE(std::isnan(half_to_float(double_to_half(std::nan("")))));
}

TEST(TensorItems, HalfConversionIsExact) {
  EXPECT_EQ(half_to_float(0x0001), std::ldexp(1.0f, -24));
  EXPECT_EQ(half_to_float(0x03ff), std::ldexp(1023.0f, -24));
  EXPECT_EQ(half_to_float(0x0400), std::ldexp(1.0f, -14));
  EXPECT_EQ(half_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(half_to_float(0xfc00), -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half_to_float(0x7e00)));
  EXPECT_TRUE(std::signbit(half_to_float(0x8000)));
  for (int exponent = 1; exponent < 31; ++exponent) {
    for (int mantissa = 0; mantissa < 1024; ++mantissa) {
      const float expected =
          std::ldexp(1.0f + static_cast<float>(mantissa) / 1024.0f, exponent - 15);
      const int raw = exponent << 10 | mantissa;
      ASSERT_EQ(half_to_float(static_cast<uint16_t>(raw)), expected) << raw;
      ASSERT_EQ(half_to_float(static_cast<uint16_t>(raw | 0x8000)), -expected) << raw;
    }
  }
}

TEST(TensorItems, QuantizedItemsAreNotNumbersYet) {
  EXPECT_EQ(values({.length = 1, .extents = {1}, .bits = 8, .code = 2}, "\x01"), Doubles{});
}

TEST(TensorItems, NamesOfTypes) {
  EXPECT_EQ(to_string(ItemType{ItemCode::float_, 0, 16}), "float16");
  EXPECT_EQ(to_string(ItemType{ItemCode::quantized_uint, 0, 8}), "quint8");
  EXPECT_EQ(to_string(ItemType{ItemCode::quantized_int, 0, 8}), "qint8");
  EXPECT_EQ(to_string(ItemType{ItemCode::bool_, 0, 1}), "bool1");
}

TEST(TensorItems, ByteSizeIsChecked) {
  EXPECT_EQ(byte_size({ItemCode::uint_, 0, 4}, 3), 2u);
  EXPECT_EQ(byte_size({ItemCode::float_, 0, 32}, uint64_t{1} << 60), std::nullopt);
}

TEST(TensorHeader, FaultsNameTheirFieldsOffset) {
  const std::string data(4, '\0');
  const Fields good = {.length = 4, .extents = {1}};
  Fields fields = good;
  fields.magic = "PK";
  expect_fault(header(fields) + data, "dat/magic", 0);
  fields = good;
  fields.minor = 1;
  expect_fault(header(fields) + data, "dat/version", 2);
  fields = good;
  fields.length = 5;
  expect_fault(header(fields) + data, "dat/length", 4);
  fields = good;
  fields.rank = 9;
  expect_fault(header(fields) + data, "dat/rank", 8);
  fields = good;
  fields.bits = 33;
  expect_fault(header(fields) + data, "dat/bits", 44);
  fields = good;
  fields.code = 6;
  expect_fault(header(fields) + data, "dat/item-type", 48);
  fields = good;
  fields.vendor = 0x5452;
  fields.code = 0x2000;
  expect_fault(header(fields) + data, "dat/vendor", 48);
  fields.vendor = 0x1234;
  expect_fault(header(fields) + data, "dat/vendor", 50);
}

TEST(TensorHeader, SizesAreCheckedIn64Bits) {
  const uint64_t most = 0xffffffff;
  expect_fault(header({.length = 0, .rank = 2, .extents = {most, most}, .bits = 64}), "dat/extents",
               12);
  expect_fault(header({.length = 4, .rank = 8, .extents = std::vector<uint64_t>(8, most)}),
               "dat/extents", 12);
  // 2^32 items of 32 bits: 2^34 bytes, 0 in the 32 bits of the field.
  expect_fault(header({.length = 0, .rank = 2, .extents = {65536, 65536}}), "dat/length", 4);
}

TEST(TensorHeader, FileSizeMustAgree) {
  const std::string good = header({.length = 4, .extents = {1}}) + std::string(4, '\0');
  expect_fault("", "dat/truncated", 0);
  expect_fault("\x4e", "dat/truncated", 1);
  expect_fault(good.substr(0, 127), "dat/truncated", 127);
  expect_fault(good.substr(0, 131), "dat/truncated", 131);
  expect_fault(good + "x", "dat/trailing", 132);
}

TEST(TensorHeader, VendorsAreNamed) {
  const std::string file = header({.length = 4, .extents = {1}, .code = 0x2000, .vendor = 0x5452}) +
                           std::string(4, '\0');
  Diagnostics diagnostics;
  read_tensor(bytes_of(file), nullptr, "w.dat", diagnostics);
  const std::string text = format(diagnostics);
  EXPECT_NE(text.find("tract's type 0x2000"), std::string::npos) << text;
}

TEST(TensorHeader, OldHeaderOnlyWhenTheSizesProveIt) {
  const std::string old = header({.length = 4, .extents = {1}}, 132) + little(0x3f800000, 4);
  Diagnostics diagnostics;
  const auto tensor = read_tensor(bytes_of(old), nullptr, "w.dat", diagnostics);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(to_doubles(*tensor), (Doubles{1}));
  ASSERT_EQ(diagnostics.items().size(), 1u);
  EXPECT_EQ(diagnostics.items()[0].id, "dat/old-header");
  EXPECT_EQ(diagnostics.items()[0].severity, Severity::warning);
  expect_fault(old.substr(0, old.size() - 1), "dat/trailing", 132);
}

TEST(TensorHeader, DeprecatedSignOfIntegers) {
  EXPECT_EQ(values({.length = 1, .extents = {1}, .bits = 8, .code = 1, .parameter = 1}, "\xff"),
            (Doubles{-1}));
}

TEST(TensorHeader, RankZeroIsOneItem) {
  EXPECT_EQ(values({.length = 4, .rank = 0, .extents = {}}, little(0x40000000, 4)), (Doubles{2}));
}

TEST(TensorHeader, GitLfsPointerIsExplained) {
  Diagnostics diagnostics;
  read_tensor(bytes_of("version https://git-lfs.github.com/spec/v1\n"), nullptr, "w.dat",
              diagnostics);
  ASSERT_EQ(diagnostics.items().size(), 1u);
  EXPECT_EQ(diagnostics.items()[0].id, "dat/magic");
  EXPECT_NE(diagnostics.items()[0].hint.find("git lfs pull"), std::string::npos);
}

TEST(TensorHeader, DataIsAligned) {
  const std::string file = "x" + header({.length = 4, .extents = {1}}) + std::string(4, '\0');
  Diagnostics diagnostics;
  const auto tensor = read_tensor(bytes_of(file).subspan(1), nullptr, "w.dat", diagnostics);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->bytes.data()) % kByteAlignment, 0u);
}

#ifndef __SANITIZE_ADDRESS__  // its own memory is limited with the rest
TEST(TensorHeader, WantOfMemoryIsReported) {
  const uint64_t size = 1 << 20;
  const std::string file = "x" + header({.length = size, .extents = {size}, .bits = 8, .code = 1}) +
                           std::string(size, '\0');
  const auto read_without_memory = [&file] {
    const rlimit none = {1, 1};
    ::setrlimit(RLIMIT_AS, &none);
    Diagnostics diagnostics;
    const auto tensor = read_tensor(bytes_of(file).subspan(1), nullptr, "w.dat", diagnostics);
    return tensor == nullptr && diagnostics.items().at(0).id == "dat/memory";
  };
  // The process may have threads by now: a new one is started, and left without running
  // destructors.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(read_without_memory() ? 0 : 1), ::testing::ExitedWithCode(0), "");
}
#endif

TensorData some_tensor(ItemType type, Shape shape) {
  TensorData data;
  data.type = type;
  data.shape = std::move(shape);
  const uint64_t size = *byte_size(type, static_cast<uint64_t>(volume(data.shape).value()));
  const Buffer buffer = allocate_buffer(size);
  for (uint64_t i = 0; i < size; ++i) buffer.data[i] = static_cast<std::byte>(i * 37 + 11);
  data.bytes = {buffer.data, size};
  data.owner = buffer.owner;
  return data;
}

TEST_F(TensorFile, ReadsBackWhatItWrites) {
  const ItemType types[] = {{ItemCode::float_, 0, 32},       {ItemCode::uint_, 0, 4},
                            {ItemCode::int_, 0, 64},         {ItemCode::bool_, 0, 1},
                            {ItemCode::quantized_int, 0, 8}, {ItemCode::float_, 0, 16}};
  for (const ItemType& type : types) {
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{40, 30, 60}}) {
      TensorData data = some_tensor(type, shape);
      if (type.code == ItemCode::quantized_int) data.parameters[1] = 0x3f800000;
      Diagnostics diagnostics;
      ASSERT_TRUE(write_tensor_file(path("w.dat"), data, diagnostics)) << format(diagnostics);
      const auto back = read_tensor_file(path("w.dat"), diagnostics);
      ASSERT_NE(back, nullptr) << format(diagnostics);
      EXPECT_EQ(back->type, data.type);
      EXPECT_EQ(back->shape, data.shape);
      EXPECT_EQ(back->parameters[1], data.parameters[1]);
      EXPECT_TRUE(std::ranges::equal(back->bytes, data.bytes));
      EXPECT_TRUE(diagnostics.items().empty());
    }
  }
  EXPECT_EQ(files(), std::vector<std::string>{"w.dat"});
}

TEST_F(TensorFile, RefusesWhatTheFormatCannotHold) {
  const auto refused = [this](const TensorData& data) {
    Diagnostics diagnostics;
    EXPECT_FALSE(write_tensor_file(path("w.dat"), data, diagnostics));
    return diagnostics.items().empty() ? "" : diagnostics.items()[0].id;
  };
  TensorData data = some_tensor({}, {2, 3});
  data.shape = {2, 4};
  EXPECT_EQ(refused(data), "dat/length");
  data.shape = Shape(9, 1);
  EXPECT_EQ(refused(data), "dat/rank");
  data.shape = {int64_t{1} << 32};
  EXPECT_EQ(refused(data), "dat/extents");
  data.shape = {1 << 16, 1 << 16};
  EXPECT_EQ(refused(data), "dat/length");
  data = some_tensor({}, {2, 3});
  data.type.vendor = 1;
  EXPECT_EQ(refused(data), "dat/item-type");
  EXPECT_TRUE(files().empty());
}

TEST_F(TensorFile, NothingIsLeftAfterAFailure) {
  Diagnostics diagnostics;
  EXPECT_FALSE(write_tensor_file(path("no/such/folder/w.dat"), some_tensor({}, {1}), diagnostics));
  EXPECT_EQ(diagnostics.items().at(0).id, "file/write");
  {
    auto pending = PendingFile::create(path("w.dat"), diagnostics);
    ASSERT_TRUE(pending);
    EXPECT_TRUE(pending->write(bytes_of("half"), diagnostics));
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(TensorFile, MissingFilesAndFoldersAreReported) {
  for (const std::string& name : {path("none.dat"), folder_.string()}) {
    Diagnostics diagnostics;
    EXPECT_EQ(read_tensor_file(name, diagnostics), nullptr);
    EXPECT_EQ(diagnostics.items().at(0).id, "file/open");
  }
}

}  // namespace
}  // namespace nnef
