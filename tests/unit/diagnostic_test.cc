#include "nnef/diagnostic.h"

#include <gtest/gtest.h>

namespace nnef {
namespace {

SourcePtr text(std::string content) {
  return std::make_shared<Source>("g.nnef", std::move(content));
}

/// The source line and the carets that format() prints for a range.
std::string excerpt(const SourcePtr& source, uint32_t begin, uint32_t end) {
  Diagnostics diagnostics;
  const std::string all = format(diagnostics.error("a/b", {source, begin, end}, "m"));
  return all.substr(all.find('\n') + 1);
}

TEST(Source, LinesEndInAnyWay) {
  const Source source("s", "a\nbc\r\nd\re");
  EXPECT_EQ(source.line(1), "a");
  EXPECT_EQ(source.line(2), "bc");
  EXPECT_EQ(source.line(3), "d");
  EXPECT_EQ(source.line(4), "e");
  EXPECT_EQ(source.line(0), "");
  EXPECT_EQ(source.line(5), "");
  const auto position = source.line_column(3);
  EXPECT_EQ(position.line, 2u);
  EXPECT_EQ(position.column, 2u);
}

TEST(Source, OffsetsBeyondTheEndAreTheEnd) {
  const auto position = Source("s", "ab\n").line_column(100);
  EXPECT_EQ(position.line, 2u);
  EXPECT_EQ(position.column, 1u);
}

TEST(Location, JoinCoversBoth) {
  const auto source = text("abcdef");
  const Location both = join({source, 4, 5}, {source, 1, 2});
  EXPECT_EQ(both.begin, 1u);
  EXPECT_EQ(both.end, 5u);
}

TEST(Format, Everything) {
  Diagnostics diagnostics;
  const auto source = text("x;\ny = f(x);\n");
  diagnostics.error("f/x", {source, 7, 8}, "wrong")
      .note("'x' is defined", {source, 0, 1})
      .note("so")
      .help("do it");
  EXPECT_EQ(format(diagnostics),
            "g.nnef:2:5: error: [f/x] wrong\n"
            "y = f(x);\n"
            "    ^\n"
            "  note: 'x' is defined at g.nnef:1:1\n"
            "  note: so\n"
            "  hint: do it\n");
}

TEST(Format, FilesAndNowhere) {
  Diagnostics diagnostics;
  diagnostics.file_error("dat/length", "w.dat", 4, "wrong");
  diagnostics.file_error("dat/missing", "w.dat", std::nullopt, "gone");
  diagnostics.warning("a/b", {}, "odd");
  EXPECT_EQ(format(diagnostics),
            "w.dat: offset 4: error: [dat/length] wrong\n"
            "w.dat: error: [dat/missing] gone\n"
            "warning: [a/b] odd\n");
  EXPECT_EQ(diagnostics.error_count(), 2u);
}

TEST(Format, TabsKeepTheAlignment) {
  EXPECT_EQ(excerpt(text("\ta\tbc"), 3, 5), "\ta\tbc\n\t \t^^\n");
}

TEST(Format, RangesOverLinesUnderlineTheFirst) {
  EXPECT_EQ(excerpt(text("ab cd\nef"), 3, 8), "ab cd\n   ^^\n");
}

TEST(Format, EmptyRangesAndLineEnds) {
  EXPECT_EQ(excerpt(text("ab\ncd"), 2, 2), "ab\n  ^\n");
  EXPECT_EQ(excerpt(text(""), 0, 0), "\n^\n");
}

TEST(Format, LongLinesAreCutAroundTheCaret) {
  const auto source = text(std::string(500, 'a') + "b" + std::string(500, 'a'));
  EXPECT_EQ(excerpt(source, 500, 501), "..." + std::string(60, 'a') + "b" + std::string(99, 'a') +
                                           "...\n" + std::string(63, ' ') + "^\n");
  EXPECT_EQ(excerpt(source, 0, 1001),
            std::string(160, 'a') + "...\n" + std::string(160, '^') + "\n");
}

TEST(Format, CharactersOfSeveralBytesTakeOneColumn) {
  EXPECT_EQ(excerpt(text("# \xC3\xA9 b"), 5, 6), "# \xC3\xA9 b\n    ^\n");
}

TEST(Format, ControlBytesOfTheInputAreNotPrinted) {
  EXPECT_EQ(excerpt(text("a\x1b\xff b"), 4, 5), "a?? b\n    ^\n");
  Diagnostics diagnostics;
  EXPECT_EQ(format(diagnostics.error("a/b", {}, "name '\x1b[0m\xff'")),
            "error: [a/b] name '\\x1b[0m\\xff'\n");
}

TEST(Format, Color) {
  Diagnostics diagnostics;
  const std::string all = format(diagnostics.error("a/b", {text("x"), 0, 1}, "m"), true);
  EXPECT_EQ(all,
            "\x1b[1mg.nnef:1:1: \x1b[0m\x1b[1;31merror:\x1b[0m [a/b] m\n"
            "x\n"
            "\x1b[1;32m^\x1b[0m\n");
}

TEST(Diagnostics, AppendMovesAll) {
  Diagnostics a;
  Diagnostics b;
  a.warning("a/a", {}, "1");
  b.error("b/b", {}, "2");
  a.append(std::move(b));
  EXPECT_EQ(a.items().size(), 2u);
  EXPECT_EQ(a.error_count(), 1u);
  EXPECT_TRUE(a.has_errors());
}

TEST(NearestName, FindsWhatWasMeant) {
  const std::vector<std::string> names = {"relu",   "elu", "conv", "deconv", "batch_normalization",
                                          "stride", "y"};
  EXPECT_EQ(nearest_name("rleu", names), "relu");
  EXPECT_EQ(nearest_name("Conv", names), "conv");
  EXPECT_EQ(nearest_name("batch_normalisation", names), "batch_normalization");
  EXPECT_EQ(nearest_name("strides", names), "stride");
}

TEST(NearestName, StaysSilentOtherwise) {
  const std::vector<std::string> names = {"relu", "y", "conv"};
  EXPECT_EQ(nearest_name("x", names), "");
  EXPECT_EQ(nearest_name("convolution", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'r'), names), "");
  EXPECT_EQ(nearest_name("relu", {}), "");
}

}  // namespace
}  // namespace nnef
