#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "model_archive.h"
#include "model_files.h"
#include "nnef/model.h"
#include "temporary_folder.h"
#include "variables.h"

namespace nnef {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

std::string octal(uint64_t value, int digits) {
  std::string text(digits, '0');
  for (int i = digits; i-- > 0; value /= 8) text[i] = static_cast<char>('0' + value % 8);
  return text;
}

struct Entry {
  std::string name;
  std::string content;
  char type = '0';
  std::string link = {};
  std::optional<uint64_t> claimed = {};
};

/// A tar member made by hand, so that it can lie.
std::string member(const Entry& entry) {
  std::string header(512, '\0');
  const auto put = [&header](size_t at, const std::string& text) {
    header.replace(at, text.size(), text);
  };
  put(0, entry.name);
  put(100, "0000644");
  put(124, octal(entry.claimed.value_or(entry.content.size()), 11));
  put(136, octal(0, 11));
  put(148, "        ");
  header[156] = entry.type;
  put(157, entry.link);
  put(257, std::string("ustar\00000", 8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, octal(sum, 6) + std::string("\0 ", 2));
  std::string content = entry.content;
  content.resize((content.size() + 511) / 512 * 512, '\0');
  return header + content;
}

std::string tar(const std::vector<Entry>& entries) {
  std::string text;
  for (const Entry& entry : entries) text += member(entry);
  return text + std::string(1024, '\0');
}

class Archive : public TemporaryFolder {
 protected:
  std::optional<ArchiveMembers> members(const std::string& content, bool compressed = false) {
    diagnostics_ = {};
    return read_archive(
        write("a.tar", content), compressed, [](std::string_view) { return true; }, diagnostics_);
  }
  std::string fault(const std::string& content) {
    EXPECT_FALSE(members(content));
    return diagnostics_.items().empty() ? "none" : diagnostics_.items()[0].id;
  }

  Diagnostics diagnostics_;
};

TEST_F(Archive, MembersOfTarAreViewsOfTheFile) {
  const std::string large(300000, 'x');
  const auto found =
      members(tar({{"./graph.nnef", "text"}, {"a/w.dat", large}, {"b/", "", '5'}, {"empty", ""}}));
  ASSERT_TRUE(found) << format(diagnostics_);
  EXPECT_EQ(found->size(), 3u);
  EXPECT_EQ(text_of(found->at("graph.nnef")), "text");
  EXPECT_EQ(text_of(found->at("a/w.dat")), large);
  EXPECT_EQ(found->at("empty").bytes.size(), 0u);
  EXPECT_EQ(found->at("a/w.dat").owner, found->at("graph.nnef").owner);
  const auto distance = found->at("a/w.dat").bytes.data() - found->at("graph.nnef").bytes.data();
  EXPECT_EQ(distance, 1024);
}

TEST_F(Archive, LastOfEqualNamesCounts) {
  const auto found = members(tar({{"w", "old"}, {"w", "new"}}));
  ASSERT_TRUE(found);
  EXPECT_EQ(text_of(found->at("w")), "new");
}

TEST_F(Archive, HardLinksShareTheirTarget) {
  const auto found = members(tar({{"v", "data"}, {"w", "", '1', "v"}}));
  ASSERT_TRUE(found) << format(diagnostics_);
  EXPECT_EQ(text_of(found->at("w")), "data");
  EXPECT_EQ(fault(tar({{"w", "", '1', "v"}})), "archive/link");
  EXPECT_EQ(fault(tar({{"w", "", '2', "/etc/passwd"}})), "archive/link");
}

TEST_F(Archive, NamesMustStayInside) {
  EXPECT_EQ(fault(tar({{"../w", "data"}})), "archive/path");
  EXPECT_EQ(fault(tar({{"a/../../w", "data"}})), "archive/path");
  EXPECT_EQ(fault(tar({{"/w", "data"}})), "archive/path");
}

TEST_F(Archive, SizesAreCheckedAgainstWhatIsThere) {
  EXPECT_EQ(fault(tar({{"w", "data", '0', "", uint64_t{1} << 32}})), "archive/size");
  EXPECT_EQ(fault(tar({{"w", "data", '0', "", 3000}}).substr(0, 1024)), "archive/size");
  const std::string whole = tar({{"w", std::string(3000, 'x')}});
  EXPECT_EQ(fault(whole.substr(0, 2000)), "archive/size");
}

TEST_F(Archive, OtherBytesAreNoArchive) {
  EXPECT_EQ(fault("this is no archive"), "archive/format");
  EXPECT_FALSE(members("\x1f\x8b but no more", true));
  EXPECT_EQ(diagnostics_.items()[0].id, "archive/format");
}

TEST_F(Archive, CompressedArchivesReadBack) {
  const std::string text = "graph";
  std::string data(700000, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * i >> 7);
  auto writer = ArchiveWriter::create(path("a.tgz"), true, diagnostics_);
  ASSERT_TRUE(writer);
  const std::span<const std::byte> whole[] = {bytes_of(text)};
  const std::span<const std::byte> parts[] = {bytes_of(data).first(128),
                                              bytes_of(data).subspan(128)};
  EXPECT_TRUE(writer->add("graph.nnef", whole, diagnostics_));
  EXPECT_TRUE(writer->add("long/" + std::string(150, 'n') + ".dat", parts, diagnostics_));
  EXPECT_EQ(read("a.tgz"), "");
  EXPECT_TRUE(writer->commit(diagnostics_));
  EXPECT_EQ(files(), std::vector<std::string>{"a.tgz"});
  const auto found = read_archive(
      path("a.tgz"), true, [](std::string_view) { return true; }, diagnostics_);
  ASSERT_TRUE(found) << format(diagnostics_);
  EXPECT_EQ(text_of(found->at("graph.nnef")), text);
  EXPECT_EQ(text_of(found->at("long/" + std::string(150, 'n') + ".dat")), data);

  // Cut short, it is refused.
  const std::string packed = read("a.tgz");
  EXPECT_FALSE(members(packed.substr(0, packed.size() / 2), true));
  EXPECT_EQ(diagnostics_.error_count(), 1u);
}

TEST_F(Archive, BombsAreRefused) {
  auto writer = ArchiveWriter::create(path("bomb.tgz"), true, diagnostics_);
  ASSERT_TRUE(writer);
  const Buffer zeros = allocate_buffer(uint64_t{300} << 20);
  const std::span<const std::byte> parts[] = {{zeros.data, size_t{300} << 20}};
  ASSERT_TRUE(writer->add("w.dat", parts, diagnostics_));
  ASSERT_TRUE(writer->commit(diagnostics_));
  const auto wanted = read_archive(
      path("bomb.tgz"), true, [](std::string_view) { return true; }, diagnostics_);
  EXPECT_FALSE(wanted);
  EXPECT_EQ(diagnostics_.items().at(0).id, "archive/size");
  const auto skipped = read_archive(
      path("bomb.tgz"), true, [](std::string_view) { return false; }, diagnostics_);
  EXPECT_FALSE(skipped);
  EXPECT_EQ(diagnostics_.items().at(1).id, "archive/expansion");
}

class Files : public TemporaryFolder {
 protected:
  std::string fault(const std::string& path) {
    Diagnostics diagnostics;
    EXPECT_EQ(ModelFiles::open(path, diagnostics), nullptr);
    return diagnostics.items().empty() ? "none" : diagnostics.items()[0].id;
  }
};

TEST_F(Files, ContainersAreToldApartByContent) {
  EXPECT_EQ(container_kind(path("none")), ContainerKind::missing);
  EXPECT_EQ(container_kind(folder_.string()), ContainerKind::folder);
  EXPECT_EQ(container_kind(write("a", "version 1.0;\n")), ContainerKind::text);
  EXPECT_EQ(container_kind(write("b",
                                 "\x7f"
                                 "ELF\1\1")),
            ContainerKind::elf);
  EXPECT_EQ(container_kind(write("c", "\x1f\x8b\x08")), ContainerKind::gzip);
  EXPECT_EQ(container_kind(write("d", tar({{"x", "y"}}))), ContainerKind::tar);
  EXPECT_EQ(container_kind(write("e", "")), ContainerKind::unknown);
  EXPECT_EQ(container_kind(write("f", std::string("\x4e\xef\1\0", 4))), ContainerKind::unknown);
  std::string v7 = tar({{"x", "y"}});
  EXPECT_EQ(container_kind(write("g", v7.replace(148, 1, "7"))), ContainerKind::unknown);
}

TEST_F(Files, OpensFoldersTextsAndArchives) {
  write("m/graph.nnef", "text");
  write("m/x/w.dat", "data");
  write("m.tar", tar({{"./graph.nnef", "text"}, {"./x/w.dat", "data"}}));
  write("top.tar",
        tar({{"m/", "", '5'}, {"m/graph.nnef", "text"}, {"m/x/w.dat", "data"}, {"m/README", "?"}}));
  for (const char* name : {"m", "m/", "m/graph.nnef", "m.tar", "top.tar"}) {
    Diagnostics diagnostics;
    const auto files = ModelFiles::open(path(name), diagnostics);
    ASSERT_NE(files, nullptr) << name << format(diagnostics);
    EXPECT_TRUE(files->contains("x/w.dat")) << name;
    EXPECT_FALSE(files->contains("x/v.dat")) << name;
    EXPECT_FALSE(files->contains("graph.quant")) << name;
    const auto text = files->read(files->graph_name(), diagnostics);
    ASSERT_TRUE(text) << name;
    EXPECT_EQ(text_of(*text), "text") << name;
  }
  Diagnostics diagnostics;
  EXPECT_EQ(ModelFiles::open(path("m/"), diagnostics)->display_name("x/w.dat"), path("m/x/w.dat"));
  EXPECT_EQ(ModelFiles::open(path("top.tar"), diagnostics)->display_name("x/w.dat"),
            path("top.tar/m/x/w.dat"));
}

TEST_F(Files, SaysWhatIsMissing) {
  EXPECT_EQ(fault(path("none")), "model/missing");
  EXPECT_EQ(fault(folder_.string()), "model/no-graph");
  EXPECT_EQ(fault("/dev/null"), "model/format");
  EXPECT_EQ(fault(write("a.tar", tar({{"deep/er/graph.nnef", "text"}}))), "model/no-graph");
  EXPECT_EQ(fault(write("b.tar", tar({{"a/graph.nnef", "1"}, {"b/graph.nnef", "2"}}))),
            "model/several-graphs");
}

TEST(Labels, NameFilesInsideTheModel) {
  EXPECT_EQ(label_file("w"), "w.dat");
  EXPECT_EQ(label_file("/a/b"), "a/b.dat");
  EXPECT_EQ(label_file("a\\b"), "a/b.dat");
  EXPECT_EQ(label_file("./a//b"), "a/b.dat");
  EXPECT_EQ(label_file("a..b"), "a..b.dat");
  for (const char* label : {"", "..", "../w", "a/../w", "a\\..\\..\\w", "a\nb"}) {
    EXPECT_EQ(label_file(label), std::nullopt) << label;
  }
}

}  // namespace
}  // namespace nnef
