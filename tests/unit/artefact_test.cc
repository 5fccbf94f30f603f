#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/artefact_format.h"
#include "runtime/cpu_features.h"
#include "runtime/crc32.h"
#include "small_model.h"
#include "temporary_folder.h"

namespace nnef_runtime {
namespace {

using small_model::numbers;
using small_model::only_id;
using small_model::values;

/// One compiled artefact for all tests.
const std::string& artefact_bytes() {
  static const std::string bytes = [] {
    nnef::Diagnostics diagnostics;
    auto compiled = small_model::compiled(small_model::conv_model(), diagnostics);
    std::string path =
        (std::filesystem::temp_directory_path() / ("nnef-artefact-" + std::to_string(::getpid())))
            .string();
    if (!compiled || !nnef_tvm::write_artefact(*compiled, path, diagnostics)) {
      ADD_FAILURE() << nnef::format(diagnostics);
      return std::string();
    }
    std::ifstream file(path, std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path);
    return content;
  }();
  return bytes;
}

class Artefact : public TemporaryFolder {
 protected:
  void SetUp() override {
    ASSERT_GT(artefact_bytes().size(), sizeof(ArtefactFooter));
    bytes = artefact_bytes();
    std::memcpy(&footer, bytes.data() + bytes.size() - sizeof(footer), sizeof(footer));
  }

  std::string metadata() const {
    return bytes.substr(footer.metadata_offset, footer.metadata_bytes);
  }

  void put_footer() {
    bytes.replace(bytes.size() - sizeof(footer), sizeof(footer),
                  reinterpret_cast<const char*>(&footer), sizeof(footer));
  }

  /// Another metadata with a footer that agrees with it.
  void put_metadata(const std::string& text) {
    bytes.resize(footer.metadata_offset);
    bytes += text;
    footer.metadata_bytes = text.size();
    footer.metadata_crc32 = crc32(text);
    footer.file_bytes = bytes.size() + sizeof(footer);
    bytes.append(sizeof(footer), '\0');
    put_footer();
  }

  /// The id of the one diagnostic of opening the bytes; "" when they open.
  std::string opened(const std::string& content) {
    diagnostics = {};
    session = Session::open(write("model.nnefc", content), {}, diagnostics);
    EXPECT_EQ(session == nullptr, diagnostics.has_errors());
    return only_id(diagnostics);
  }

  std::string bytes;
  ArtefactFooter footer;
  nnef::Diagnostics diagnostics;
  std::unique_ptr<Session> session;
};

TEST_F(Artefact, RunsLikeTheModel) {
  ASSERT_EQ(opened(bytes), "") << nnef::format(diagnostics);
  EXPECT_TRUE(is_artefact(path("model.nnefc")));
  ASSERT_EQ(session->inputs().size(), 1u);
  EXPECT_EQ(session->inputs()[0].name, "x");
  EXPECT_EQ(session->outputs()[0].shape, (std::vector<int64_t>{1, 4, 8, 8}));
  auto x = numbers({1, 3, 8, 8}, 5);
  for (int run = 0; run < 3; ++run) {
    auto results = session->run({x}, diagnostics);
    ASSERT_EQ(results.size(), 1u) << nnef::format(diagnostics);
    small_model::expect_near(values(results[0]),
                             small_model::expected(small_model::conv_model(), x));
  }
}

TEST_F(Artefact, IsCodeThenWeightsThenMetadata) {
  auto json = nlohmann::json::parse(metadata());
  EXPECT_EQ(json["format"], kArtefactFormat);
  EXPECT_EQ(json["target"]["kind"], "llvm");
  ASSERT_FALSE(json["parameters"].empty());
  for (const auto& parameter : json["parameters"]) {
    uint64_t offset = parameter["offset"], size = parameter["bytes"];
    EXPECT_EQ(offset % kWeightAlignment, 0u);
    EXPECT_GE(offset, footer.library_bytes);
    EXPECT_LE(offset + size, footer.metadata_offset);
  }
  // The bias reaches the kernel as it is, and is no part of the code.
  auto bias = numbers({4}, 2);
  std::string raw(static_cast<const char*>(bias.data_ptr()), 16);
  ASSERT_NE(bytes.rfind(raw), std::string::npos);
  EXPECT_GE(bytes.find(raw), footer.library_bytes);
}

TEST_F(Artefact, TwoCanBeOpenUnderOneName) {
  ASSERT_EQ(opened(bytes), "");
  auto first = std::move(session);
  std::filesystem::remove(path("model.nnefc"));
  ASSERT_EQ(opened(bytes), "");
  auto x = numbers({1, 3, 8, 8}, 5);
  EXPECT_EQ(values(first->run({x}, diagnostics)[0]), values(session->run({x}, diagnostics)[0]));
}

TEST_F(Artefact, AnotherModelUnderTheSameNameIsAnotherModel) {
  auto other = small_model::conv_model();
  other.params[1] = numbers({4}, 77);
  auto compiled = small_model::compiled(other, diagnostics);
  ASSERT_TRUE(compiled);
  ASSERT_EQ(opened(bytes), "");
  auto x = numbers({1, 3, 8, 8}, 5);
  for (bool close_first : {false, true}) {
    auto kept = std::move(session);
    if (close_first) kept.reset();
    ASSERT_TRUE(nnef_tvm::write_artefact(*compiled, path("model.nnefc"), diagnostics));
    session = Session::open(path("model.nnefc"), {}, diagnostics);
    ASSERT_NE(session, nullptr);
    small_model::expect_near(values(session->run({x}, diagnostics)[0]),
                             small_model::expected(other, x));
  }
}

/// How many parts of a file are mapped.
size_t mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find(path) != std::string::npos;
  return count;
}

TEST_F(Artefact, ClosingUnloadsTheCodeAndTheWeights) {
  ASSERT_EQ(opened(bytes), "");
  session->run({numbers({1, 3, 8, 8}, 5)}, diagnostics);
  EXPECT_GT(mapped(path("model.nnefc")), 0u);
  session.reset();
  EXPECT_EQ(mapped(path("model.nnefc")), 0u);
}

TEST_F(Artefact, CutShortAnywhereIsRefused) {
  std::set<std::string> ids;
  for (size_t length = 0; length < bytes.size();) {
    std::string id = opened(bytes.substr(0, length));
    ASSERT_EQ(id.find("artefact/"), 0u) << "length " << length << ": '" << id << "'";
    EXPECT_EQ(diagnostics.items()[0].path, path("model.nnefc"));
    EXPECT_TRUE(diagnostics.items()[0].offset.has_value());
    ids.insert(id);
    bool edge = length < 128 || bytes.size() - length < 256;
    length += edge ? 1 : 97;
  }
  EXPECT_EQ(ids, (std::set<std::string>{"artefact/length", "artefact/footer"}));
}

TEST_F(Artefact, TrailingBytesAreRefused) { EXPECT_EQ(opened(bytes + "x"), "artefact/footer"); }

TEST_F(Artefact, MissingBytesInTheMiddleAreRefused) {
  std::string shorter = bytes;
  shorter.erase(footer.library_bytes / 2, 64);
  EXPECT_EQ(opened(shorter), "artefact/length");
}

TEST_F(Artefact, OtherFilesAreRefused) {
  EXPECT_EQ(opened(std::string(1000, 'x')), "artefact/magic");
  EXPECT_FALSE(is_artefact(path("model.nnefc")));
  EXPECT_EQ(opened(bytes.substr(0, footer.library_bytes)), "artefact/footer");
  EXPECT_TRUE(is_artefact(path("model.nnefc")));
  diagnostics = {};
  EXPECT_EQ(Session::open(path("none"), {}, diagnostics), nullptr);
  EXPECT_EQ(only_id(diagnostics), "artefact/open");
  diagnostics = {};
  EXPECT_EQ(Session::open(folder_.string(), {}, diagnostics), nullptr);
  EXPECT_EQ(only_id(diagnostics), "artefact/open");
}

TEST_F(Artefact, OtherMachinesAreRefused) {
  bytes[18] = 0x28;  // e_machine: EM_ARM
  EXPECT_EQ(opened(bytes), "artefact/machine");
}

TEST_F(Artefact, OtherFormatsAreRefused) {
  footer.format = kArtefactFormat + 1;
  put_footer();
  EXPECT_EQ(opened(bytes), "artefact/version");
}

TEST_F(Artefact, DamagedMetadataIsRefused) {
  bytes[footer.metadata_offset + footer.metadata_bytes / 2] ^= 1;
  EXPECT_EQ(opened(bytes), "artefact/crc");
  EXPECT_EQ(diagnostics.items()[0].offset, footer.metadata_offset);
}

TEST_F(Artefact, SizesOutsideTheFileAreRefused) {
  const ArtefactFooter good = footer;
  for (uint64_t bad : {uint64_t{0}, bytes.size() + 1, uint64_t{1} << 63, ~uint64_t{0}}) {
    footer = good;
    footer.metadata_offset = bad;
    put_footer();
    EXPECT_EQ(opened(bytes), "artefact/layout") << bad;
    footer = good;
    footer.metadata_bytes = bad;
    put_footer();
    EXPECT_EQ(opened(bytes), "artefact/layout") << bad;
    footer = good;
    footer.library_bytes = bad;
    put_footer();
    EXPECT_EQ(opened(bytes), "artefact/layout") << bad;
  }
}

TEST_F(Artefact, WrongMetadataIsRefused) {
  const std::string text = metadata();
  for (const char* bad : {"", "[]", "{}", "{", "\"text\"", "null"}) {
    put_metadata(bad);
    EXPECT_EQ(opened(bytes), "artefact/metadata") << bad;
  }
  for (const char* key : {"target", "cpu_features", "inputs", "outputs", "parameters"}) {
    auto json = nlohmann::json::parse(text);
    json.erase(key);
    put_metadata(json.dump());
    EXPECT_EQ(opened(bytes), "artefact/metadata") << key;
    EXPECT_NE(diagnostics.items()[0].message.find(key), std::string::npos);
  }
  auto json = nlohmann::json::parse(text);
  json["inputs"][0]["dtype"] = "quaternion";
  put_metadata(json.dump());
  EXPECT_EQ(opened(bytes), "artefact/metadata");
  EXPECT_EQ(diagnostics.items()[0].message, "inputs[0] has the unknown 'dtype' \"quaternion\"");
}

TEST_F(Artefact, WeightsOutsideTheirPlaceAreRefused) {
  const auto json = nlohmann::json::parse(metadata());
  auto with = [&](const char* key, nlohmann::json value) {
    auto changed = json;
    changed["parameters"][0][key] = std::move(value);
    put_metadata(changed.dump());
    return opened(bytes);
  };
  const uint64_t offset = json["parameters"][0]["offset"];
  EXPECT_EQ(with("offset", 0), "artefact/parameter");
  EXPECT_EQ(with("offset", offset + 4), "artefact/parameter");
  EXPECT_EQ(with("offset", footer.metadata_offset / 64 * 64), "artefact/parameter");
  EXPECT_EQ(with("offset", ~uint64_t{63}), "artefact/parameter");
  EXPECT_EQ(with("bytes", 3), "artefact/parameter");
  EXPECT_EQ(with("shape", {int64_t{1} << 40, int64_t{1} << 40}), "artefact/parameter");
  EXPECT_EQ(with("shape", {-1}), "artefact/parameter");
}

TEST_F(Artefact, CodeForAnotherCpuIsRefused) {
  auto json = nlohmann::json::parse(metadata());
  json["cpu_features"].push_back("avx1024");
  json["cpu_features"].push_back("warp-drive");
  put_metadata(json.dump());
  EXPECT_EQ(opened(bytes), "artefact/cpu");
  EXPECT_EQ(diagnostics.items()[0].message,
            "compiled for a CPU with avx1024, warp-drive, which this one lacks");
}

TEST_F(Artefact, MetadataCanBeRead) {
  auto text = artefact_metadata(write("model.nnefc", bytes), diagnostics);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, metadata());
}

class WriteArtefact : public TemporaryFolder {
 protected:
  void SetUp() override {
    compiled = small_model::compiled(small_model::conv_model(), diagnostics);
    ASSERT_TRUE(compiled) << nnef::format(diagnostics);
  }
  std::optional<nnef_tvm::Compiled> compiled;
  nnef::Diagnostics diagnostics;
};

TEST_F(WriteArtefact, LeavesNothingElseBehind) {
  EXPECT_TRUE(nnef_tvm::write_artefact(*compiled, path("model.nnefc"), diagnostics))
      << nnef::format(diagnostics);
  EXPECT_EQ(files(), std::vector<std::string>{"model.nnefc"});
}

TEST_F(WriteArtefact, ReportsFoldersThatAreNotThere) {
  EXPECT_FALSE(nnef_tvm::write_artefact(*compiled, path("no/model.nnefc"), diagnostics));
  EXPECT_EQ(only_id(diagnostics), "artefact/write");
  EXPECT_TRUE(files().empty());
}

TEST_F(WriteArtefact, ReportsThatNoLinkerIsThere) {
  const std::string before = std::getenv("PATH");
  setenv("PATH", folder_.c_str(), 1);
  EXPECT_FALSE(nnef_tvm::write_artefact(*compiled, path("model.nnefc"), diagnostics));
  setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(only_id(diagnostics), "artefact/linker");
  EXPECT_TRUE(files().empty());
}

TEST_F(WriteArtefact, ReportsWhatTheLinkerSays) {
  const std::string before = std::getenv("PATH");
  write("bin/cc", "#!/bin/sh\necho the linker is tired >&2\nexit 3\n");
  std::filesystem::permissions(path("bin/cc"), std::filesystem::perms::owner_all);
  setenv("PATH", (path("bin") + ":" + before).c_str(), 1);
  EXPECT_FALSE(nnef_tvm::write_artefact(*compiled, path("model.nnefc"), diagnostics));
  setenv("PATH", before.c_str(), 1);
  ASSERT_EQ(only_id(diagnostics), "artefact/link");
  ASSERT_EQ(diagnostics.items()[0].notes.size(), 1u);
  EXPECT_EQ(diagnostics.items()[0].notes[0].text, "the linker is tired");
  EXPECT_EQ(files(), std::vector<std::string>{"bin/cc"});
}

TEST(Crc32, IsZlibs) {
  EXPECT_EQ(crc32(""), 0u);
  EXPECT_EQ(crc32("123456789"), 0xcbf43926u);
}

TEST(CpuFeatures, AgreeWithTheCompiler) {
#if defined(__x86_64__)
  EXPECT_EQ(has_cpu_feature("avx2"), __builtin_cpu_supports("avx2") != 0);
  EXPECT_EQ(has_cpu_feature("fma"), __builtin_cpu_supports("fma") != 0);
  EXPECT_EQ(has_cpu_feature("sse4.2"), __builtin_cpu_supports("sse4.2") != 0);
  EXPECT_EQ(has_cpu_feature("avx512f"), __builtin_cpu_supports("avx512f") != 0);
  EXPECT_EQ(has_cpu_feature("avx512vbmi"), __builtin_cpu_supports("avx512vbmi") != 0);
#endif
  EXPECT_FALSE(has_cpu_feature("warp-drive"));
}

}  // namespace
}  // namespace nnef_runtime
