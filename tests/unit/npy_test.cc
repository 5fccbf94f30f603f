#include "npy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nnef/file.h"
#include "temporary_folder.h"

namespace nnefc {
namespace {

using nnef::ItemCode;

/// A file as NumPy writes it.
std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  std::string text = dictionary;
  const size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string file("\x93NUMPY");
  file += static_cast<char>(version);
  file += '\0';
  for (size_t i = 0; i < prefix - 8; ++i) file += static_cast<char>(text.size() >> (8 * i) & 0xff);
  return file + text + data;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

class Npy : public TemporaryFolder {
 protected:
  std::vector<double> values(const std::string& content) {
    nnef::Diagnostics diagnostics;
    const auto data = read_npy(write("x.npy", content), diagnostics);
    if (!data) {
      ADD_FAILURE() << nnef::format(diagnostics);
      return {};
    }
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data->bytes.data()) % nnef::kByteAlignment, 0u);
    shape_ = data->shape;
    return nnef::to_doubles(*data).value_or(std::vector<double>{});
  }

  std::string fault(const std::string& content) {
    nnef::Diagnostics diagnostics;
    EXPECT_FALSE(read_tensor_any(write("x.npy", content), diagnostics));
    return diagnostics.items().empty() ? "none" : diagnostics.items()[0].id;
  }

  nnef::Shape shape_;
};

using Doubles = std::vector<double>;

TEST_F(Npy, ReadsTypesAndVersions) {
  EXPECT_EQ(values(npy(dictionary("|u1", "(3,)"), "\1\2\xff")), (Doubles{1, 2, 255}));
  EXPECT_EQ(shape_, (nnef::Shape{3}));
  EXPECT_EQ(values(npy(dictionary("|b1", "()"), "\1", 2)), (Doubles{1}));
  EXPECT_EQ(shape_, nnef::Shape{});
  EXPECT_EQ(values(npy(dictionary("<f4", "(1, 1)"), std::string("\0\0\xc0\x3f", 4), 3)),
            (Doubles{1.5}));
  EXPECT_EQ(values(npy(dictionary(">i2", "(2,)"), std::string("\x01\x02\xff\xfe", 4))),
            (Doubles{0x102, -2}));
  EXPECT_EQ(values(npy(dictionary("<f8", "(0, 4)"), "")), Doubles{});
}

TEST_F(Npy, FortranOrderComesOutRowMajor) {
  EXPECT_EQ(values(npy(dictionary("|i1", "(2, 3)", "True"), "\1\4\2\5\3\6")),
            (Doubles{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(npy(dictionary("|i1", "(2, 2, 2)", "True"), "\1\5\3\7\2\6\4\10")),
            (Doubles{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_F(Npy, FaultsAreReported) {
  const std::string good = npy(dictionary("|i1", "(2,)"), "ab");
  EXPECT_EQ(fault("hello"), "npy/unknown");
  EXPECT_EQ(fault(""), "npy/unknown");
  EXPECT_EQ(fault(good.substr(0, 9)), "npy/truncated");
  EXPECT_EQ(fault(good.substr(0, 40)), "npy/truncated");
  EXPECT_EQ(fault(npy(dictionary("|i1", "(2,)"), "ab", 4)), "npy/version");
  EXPECT_EQ(fault(good.substr(0, good.size() - 1)), "npy/length");
  EXPECT_EQ(fault(good + "c"), "npy/length");
  EXPECT_EQ(fault(npy(dictionary("<i8", "(4294967296, 4294967296)"), "")), "npy/length");
  for (const char* descr : {"<c8", "|O", "<U3", "<f1", "|i3", "<f16", "x", "?i4"}) {
    EXPECT_EQ(fault(npy(dictionary(descr, "(1,)"), "a")), "npy/header") << descr;
  }
  for (const char* header : {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'shape': (-1,)}",
                             "{'descr': '<f4', 'shape': (1"}) {
    EXPECT_EQ(fault(npy(header, "a")), "npy/header") << header;
  }
}

TEST_F(Npy, WritesWhatNumPyWrites) {
  const std::string items("\1\0\2\0\3\0", 6);
  nnef::TensorData data;
  data.type = {ItemCode::int_, 0, 16};
  data.shape = {3, 1};
  data.bytes = std::as_bytes(std::span(items));
  nnef::Diagnostics diagnostics;
  ASSERT_TRUE(write_npy(path("x.npy"), data, diagnostics));
  EXPECT_EQ(read("x.npy"), npy(dictionary("<i2", "(3, 1)"), items));
  data.shape = {3};
  ASSERT_TRUE(write_npy(path("x.npy"), data, diagnostics));
  EXPECT_EQ(read("x.npy"), npy(dictionary("<i2", "(3,)"), items));
  EXPECT_EQ(files(), std::vector<std::string>{"x.npy"});
}

TEST_F(Npy, OneBitLogicalsBecomeBytes) {
  const std::string items("\xa0");
  nnef::TensorData data;
  data.type = {ItemCode::bool_, 0, 1};
  data.shape = {3};
  data.bytes = std::as_bytes(std::span(items));
  nnef::Diagnostics diagnostics;
  ASSERT_TRUE(write_npy(path("x.npy"), data, diagnostics));
  EXPECT_EQ(read("x.npy"), npy(dictionary("|b1", "(3,)"), std::string("\1\0\1", 3)));
  data.type = {ItemCode::uint_, 0, 4};
  EXPECT_FALSE(write_npy(path("y.npy"), data, diagnostics));
  EXPECT_EQ(diagnostics.items().at(0).id, "npy/type");
}

TEST_F(Npy, TensorFilesAreToldApart) {
  const std::string items("\1\2");
  nnef::TensorData data;
  data.type = {ItemCode::uint_, 0, 8};
  data.shape = {2};
  data.bytes = std::as_bytes(std::span(items));
  nnef::Diagnostics diagnostics;
  ASSERT_TRUE(nnef::write_tensor_file(path("x"), data, diagnostics));
  const auto back = read_tensor_any(path("x"), diagnostics);
  ASSERT_TRUE(back) << nnef::format(diagnostics);
  EXPECT_TRUE(std::ranges::equal(back->bytes, data.bytes));
}

}  // namespace
}  // namespace nnefc
