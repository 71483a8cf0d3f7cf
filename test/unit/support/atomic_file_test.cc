#include "support/atomic_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "../../scratch.h"

namespace tenon {
namespace {

// No two places of it look alike for long.
std::string Content(uint64_t bytes) {
  std::string content(bytes, '\0');
  uint64_t state = 1;
  for (char& c : content) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    c = static_cast<char>(state >> 56);
  }
  return content;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Writes `content` in pieces, of `sizes` in turns.
void WritePieces(const std::string& content, const std::vector<size_t>& sizes,
                 AtomicFile* file) {
  size_t at = 0;
  for (size_t turn = 0; at < content.size(); ++turn) {
    const std::string_view piece =
        std::string_view(content).substr(at, sizes[turn % sizes.size()]);
    ASSERT_TRUE(file->Write(AsBytes(piece))) << file->error();
    at += piece.size();
  }
}

TEST(AtomicFile, WritesAnyPiecesPastThePageCache) {
  const std::string path = ScratchPath("atomic_file_pieces");
  const std::string content =
      Content(AtomicFile::kDirectFromBytes + (uint64_t{21} << 20) + 12'345);
  const std::vector<std::vector<size_t>> all_sizes = {
      {size_t{8} << 20},
      {300'001, 64, 1, 4096},
      {content.size()},
      {(size_t{1} << 20) + 17, 511, 262'144},
      {(size_t{4} << 20)}};
  for (const std::vector<size_t>& sizes : all_sizes) {
    AtomicFile file;
    ASSERT_TRUE(file.Open(path)) << file.error();
    WritePieces(content, sizes, &file);
    EXPECT_EQ(file.offset(), content.size());
    ASSERT_TRUE(file.Commit()) << file.error();
    EXPECT_TRUE(ReadFile(path) == content) << "pieces of " << sizes[0];
  }
  std::filesystem::remove(path);
}

TEST(AtomicFile, TwoFilesAppearTogetherOrNotAtAll) {
  const std::string folder = ScratchPath("both") + "/";
  std::filesystem::create_directories(folder);
  for (const bool has_old : {false, true}) {
    const std::string a = folder + "a", b = folder + "b";
    // A folder with something in it can't be replaced by a file.
    std::filesystem::create_directories(b + "/full");
    if (has_old) std::ofstream(a) << "old";
    {
      AtomicFile first, second;
      ASSERT_TRUE(first.Open(a) && first.Write(AsBytes("new a")));
      ASSERT_TRUE(second.Open(b) && second.Write(AsBytes("new b")));
      EXPECT_EQ(CommitBoth(&first, &second), &second);
      EXPECT_NE(second.error().find("rename"), std::string::npos);
    }
    EXPECT_EQ(std::filesystem::exists(a), has_old);
    if (has_old) {
      EXPECT_EQ(ReadFile(a), "old");
    }
    std::filesystem::remove_all(b);
    {
      AtomicFile first, second;
      ASSERT_TRUE(first.Open(a) && first.Write(AsBytes("new a")));
      ASSERT_TRUE(second.Open(b) && second.Write(AsBytes("new b")));
      EXPECT_EQ(CommitBoth(&first, &second), nullptr);
    }
    EXPECT_EQ(ReadFile(a), "new a");
    EXPECT_EQ(ReadFile(b), "new b");
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
  }
}

TEST(AtomicFile, AFlushBetweenShowsAllThatWasWritten) {
  const std::string path = ScratchPath("atomic_file_flush");
  const std::string content =
      Content(AtomicFile::kDirectFromBytes + (uint64_t{9} << 20) + 77);
  const std::string_view rest = "and one line more";
  AtomicFile file;
  ASSERT_TRUE(file.Open(path)) << file.error();
  WritePieces(content, {1'000'003}, &file);
  ASSERT_TRUE(file.Flush()) << file.error();
  EXPECT_TRUE(ReadFile(file.temporary_path()) == content);
  ASSERT_TRUE(file.Write(AsBytes(rest)));
  WritePieces(content, {5'000'011}, &file);
  ASSERT_TRUE(file.Commit()) << file.error();
  EXPECT_TRUE(ReadFile(path) == content + std::string(rest) + content);
  std::filesystem::remove(path);
}

TEST(AtomicFile, PiecesEndWhereThePageCacheLikes) {
  const std::string path = ScratchPath("atomic_file_size");
  AtomicFile file;
  ASSERT_TRUE(file.Open(path)) << file.error();
  EXPECT_EQ(file.PieceBytes(), uint64_t{8} << 20);
  ASSERT_TRUE(file.Write(AsBytes(std::string_view("abc"))));
  EXPECT_EQ(file.PieceBytes(), (uint64_t{8} << 20) - 3);
}

}  // namespace
}  // namespace tenon
