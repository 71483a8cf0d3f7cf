#include "formats/kind/file_kind.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tenon {
namespace {

using namespace std::string_literals;

TEST(FileKind, GoesByContent) {
  const std::pair<std::string, FileKind> kFiles[] = {
      {"", FileKind::kEmpty},
      {"tenon 1\n", FileKind::kText},
      {"{\"format\": \"hybrid-1\"}", FileKind::kHybrid},
      {"\x10\0\0\0ET12xxxx"s, FileKind::kExecuTorch},
      {"\x10\0\0\0FT01xxxx"s, FileKind::kExecuTorchData},
      {"\x02\0\0\0\0\0\0\0{}"s, FileKind::kSafetensors},
      {"\x80\x03\0\0\0\0\0\0{"s + std::string(0x380, 32),
       FileKind::kSafetensors},
      {"\x80\x02}."s, FileKind::kPickle},
      {"(dp0\n."s, FileKind::kPickle},
      {"cos\nsystem\n."s, FileKind::kPickle},
      {"\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."s,
       FileKind::kLegacySave},
      {"GGUF\x03\0\0\0"s, FileKind::kGguf},
      {"\x93NUMPY\x01\0"s, FileKind::kNumpy},
      {"\x89HDF\r\n\x1a\n", FileKind::kHdf5},
      {std::string(257, '\0') + "ustar", FileKind::kTar},
      {"\x7f"
       "ELF\x02",
       FileKind::kNativeCode},
      {"\x08\x07\x12\x05torch", FileKind::kOnnx},
      {"PK\003\004 cut off", FileKind::kPt2},
      {"\x01\x02\x03", FileKind::kUnknown},
  };
  for (const auto& [bytes, kind] : kFiles) {
    EXPECT_EQ(RecogniseFile(AsBytes(bytes)), kind) << Describe(kind);
  }
  std::string windows = "MZ" + std::string(58, '\0') + "\x40\0\0\0PE\0\0"s;
  EXPECT_TRUE(IsNativeCode(AsBytes(windows)));
  windows[64] = 'X';
  EXPECT_FALSE(IsNativeCode(AsBytes(windows)));
}

TEST(FileKind, TellsArchivesByTheirMembers) {
  using Names = std::vector<std::string_view>;
  const std::pair<Names, FileKind> kArchives[] = {
      {{"m/models/model.json", "m/archive_format"}, FileKind::kPt2},
      {{"serialized_exported_program.json", "version"}, FileKind::kPt2},
      {{"m/data.pkl", "m/version"}, FileKind::kTorchSave},
      {{"m/data.pkl", "m/code/__torch__.py"}, FileKind::kTorchScript},
      {{"m/.data/extern_modules", "m/net.py"}, FileKind::kTorchPackage},
      {{"m/data/aotinductor/model/x.so", "m/archive_format"},
       FileKind::kAotInductor},
      {{"a.npy", "b.npy"}, FileKind::kNumpyArchive},
      {{"readme.txt"}, FileKind::kZip},
      {{}, FileKind::kZip},
  };
  for (const auto& [names, kind] : kArchives) {
    EXPECT_EQ(RecogniseArchive(names), kind) << Describe(kind);
  }
}

TEST(FileKind, HasWordsForAll) {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(FileKind::kUnknown); ++i) {
    const auto kind = static_cast<FileKind>(i);
    EXPECT_FALSE(Describe(kind).empty());
    EXPECT_TRUE(names.insert(ShortName(kind)).second) << ShortName(kind);
    const bool opens = kind != FileKind::kEmpty && kind != FileKind::kUnknown;
    EXPECT_EQ(!OpenerOf(kind).empty(), opens) << Describe(kind);
  }
}

}  // namespace
}  // namespace tenon
