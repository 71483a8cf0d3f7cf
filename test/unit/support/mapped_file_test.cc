#include "support/mapped_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "../../scratch.h"
#include "support/atomic_file.h"
#include "support/mapped_pages.h"

namespace tenon {
namespace {

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class MappedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 100'000; ++i) text_ += std::to_string(i);
    std::ofstream(path_, std::ios::binary) << text_;
    std::string error;
    file_ = MappedFile::Open(path_, &error);
    ASSERT_NE(file_, nullptr) << error;
  }
  void TearDown() override { std::remove(path_.c_str()); }

  const std::string path_ = ScratchPath("mapped");
  std::string text_;
  std::shared_ptr<const MappedFile> file_;
};

TEST_F(MappedFileTest, IsFoundByBytesInside) {
  const Bytes all = file_->bytes();
  const auto offset = [](Bytes bytes) {
    const auto range = FindFileRange(bytes);
    return range ? static_cast<int64_t>(range->offset) : -1;
  };
  EXPECT_EQ(offset(all), 0);
  EXPECT_EQ(offset(all.subspan(7, 100)), 7);
  EXPECT_EQ(offset(all.last(1)), static_cast<int64_t>(all.size()) - 1);
  EXPECT_EQ(offset(AsBytes(text_)), -1);
  // Nobody may claim bytes behind the file.
  EXPECT_EQ(offset(Bytes(all.data() + 1, all.size())), -1);
}

TEST_F(MappedFileTest, IsForgottenWithItsLastHolder) {
  const Bytes all = file_->bytes();
  file_.reset();
  EXPECT_FALSE(FindFileRange(all));
}

TEST_F(MappedFileTest, IsCopiedFromFileToFile) {
  const std::string target = ScratchPath("copy");
  AtomicFile out;
  ASSERT_TRUE(out.Open(target)) << out.error();
  ASSERT_TRUE(out.Write(AsBytes("head ")));
  const auto from = FindFileRange(file_->bytes().subspan(1000));
  ASSERT_TRUE(from);
  ASSERT_TRUE(out.Copy(from->descriptor, from->offset, 300'000)) << out.error();
  ASSERT_TRUE(out.Write(AsBytes(" tail")));
  EXPECT_EQ(out.offset(), 300'010u);
  ASSERT_TRUE(out.Commit()) << out.error();
  EXPECT_EQ(ReadFile(target), "head " + text_.substr(1000, 300'000) + " tail");
  std::remove(target.c_str());
}

TEST(CopyByReference, IsWhatSharesBlocksOrHasAServer) {
  constexpr uint64_t kExt4 = 0xEF53, kXfs = 0x58465342, kNfs = 0x6969;
  EXPECT_FALSE(IsCopiedByReference(kExt4, 0, 0));
  EXPECT_TRUE(IsCopiedByReference(kXfs, 4096 + 64, 64));
  EXPECT_FALSE(IsCopiedByReference(kXfs, 4096 + 64, 128));
  EXPECT_TRUE(IsCopiedByReference(kNfs, 4096 + 64, 128));
}

TEST_F(MappedFileTest, LargePiecesAreWrittenWhole) {
  const std::string target = ScratchPath("large");
  std::string large;
  while (large.size() < (20u << 20)) large += text_;
  AtomicFile out;
  ASSERT_TRUE(out.Open(target)) << out.error();
  const size_t half = large.size() / 2;
  ASSERT_TRUE(out.Write(AsBytes(large).first(half)));
  ASSERT_TRUE(out.Write(AsBytes(large).subspan(half)));
  EXPECT_EQ(out.offset(), large.size());
  ASSERT_TRUE(out.Commit()) << out.error();
  EXPECT_EQ(ReadFile(target), large);
  std::remove(target.c_str());
}

TEST_F(MappedFileTest, ACopyBeyondTheEndFails) {
  AtomicFile out;
  ASSERT_TRUE(out.Open(ScratchPath("short"))) << out.error();
  const auto from = FindFileRange(file_->bytes().last(10));
  ASSERT_TRUE(from);
  EXPECT_FALSE(out.Copy(from->descriptor, from->offset, 11));
  EXPECT_NE(out.error().find("shorter"), std::string::npos) << out.error();
}

}  // namespace
}  // namespace tenon
