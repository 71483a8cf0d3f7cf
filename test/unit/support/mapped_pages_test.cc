#include "support/mapped_pages.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "../../scratch.h"
#include "support/mapped_file.h"
#include "support/scratch_file.h"

namespace tenon {
namespace {

constexpr size_t kSize = size_t{8} << 20;

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGE_SIZE)); }

// Pages of the range that this process has in its page tables.
size_t NumResident(Bytes bytes) {
  const int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  EXPECT_GE(fd, 0);
  size_t count = 0;
  for (size_t at = 0; at < bytes.size(); at += PageBytes()) {
    const auto address = reinterpret_cast<uintptr_t>(bytes.data() + at);
    uint64_t entry = 0;
    EXPECT_EQ(pread(fd, &entry, sizeof entry,
                    static_cast<off_t>(address / PageBytes() * 8)),
              static_cast<ssize_t>(sizeof entry));
    count += entry >> 63;
  }
  close(fd);
  return count;
}

std::shared_ptr<const MappedFile> MapOnes(const std::string& name) {
  const std::string path = ScratchPath(name);
  std::ofstream(path) << std::string(kSize, '\1');
  std::string error;
  return MappedFile::Open(path, &error);
}

size_t Sum(Bytes bytes) {
  size_t sum = 0;
  for (const std::byte b : bytes) sum += static_cast<size_t>(b);
  return sum;
}

TEST(MappedPagesTest, ReleasesWhatWasReadAndReadsItAgain) {
  const auto file = MapOnes("released");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(Sum(file->bytes()), kSize);
  EXPECT_EQ(NumResident(file->bytes()), kSize / PageBytes());
  ReleasePages(file->bytes());
  EXPECT_EQ(NumResident(file->bytes()), 0u);
  EXPECT_EQ(Sum(file->bytes()), kSize);
}

// How much more goes depends on the size of the system's pages.
TEST(MappedPagesTest, ReleasesAPart) {
  const auto file = MapOnes("end");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(Sum(file->bytes()), kSize);
  ReleasePages(file->bytes().subspan(10, 3 * PageBytes()));
  EXPECT_LE(NumResident(file->bytes()), kSize / PageBytes() - 3);
  EXPECT_EQ(Sum(file->bytes()), kSize);
}

TEST(MappedPagesTest, MapsAllAtOnce) {
  const auto file = MapOnes("mapped");
  ASSERT_NE(file, nullptr);
  MapPages(file->bytes().subspan(10, 3 * PageBytes()));
#ifdef MADV_POPULATE_READ
  EXPECT_GE(NumResident(file->bytes()), 4u);
#endif
  EXPECT_EQ(Sum(file->bytes()), kSize);
}

// Whether the kernel has large pages for the mapping that holds `address`.
bool WantsLargePages(const std::byte* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char dash = 0;
    std::istringstream head(line);
    if (head >> std::hex >> begin >> dash >> end && dash == '-') {
      is_inside = begin <= wanted && wanted < end;
    }
    if (is_inside && line.starts_with("VmFlags:")) {
      return line.find(" hg") != std::string::npos;
    }
  }
  return false;
}

TEST(MappedPagesTest, ReadsTheWholeFileInLargePagesOnceAPartIsMapped) {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) {
    GTEST_SKIP() << "this kernel has no large pages";
  }
  const auto file = MapOnes("large");
  ASSERT_NE(file, nullptr);
  EXPECT_FALSE(WantsLargePages(file->bytes().data()));
  MapPages(file->bytes().subspan(2 * PageBytes(), 10));
  EXPECT_TRUE(WantsLargePages(file->bytes().data()));
  EXPECT_EQ(Sum(file->bytes()), kSize);
}

TEST(MappedPagesTest, ReadsWithoutMapping) {
  const auto file = MapOnes("unmapped");
  ASSERT_NE(file, nullptr);
  std::vector<std::byte> out(100);
  EXPECT_TRUE(ReadUnmapped(file->bytes().subspan(PageBytes() - 7, 100), out));
  EXPECT_EQ(Sum(out), 100u);
  EXPECT_EQ(NumResident(file->bytes()), 0u);
  const std::vector<std::byte> heap(100);
  EXPECT_FALSE(ReadUnmapped(heap, out));
}

TEST(MappedPagesTest, LeavesTheHeapAlone) {
  const std::vector<std::byte> heap(kSize, std::byte{1});
  MapPages(heap);
  ReleasePages(heap);
  EXPECT_EQ(Sum(heap), kSize);
}

TEST(MappedPagesTest, LeavesForgottenAndForeignMappingsAlone) {
  void* const at = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const std::span<std::byte> bytes(static_cast<std::byte*>(at), kSize);
  std::fill(bytes.begin(), bytes.end(), std::byte{1});
  RememberMapping(bytes);
  ForgetMapping(bytes);
  ReleasePages(bytes);
  EXPECT_EQ(Sum(bytes), kSize);
  munmap(at, kSize);
}

TEST(ScratchFileTest, KeepsWhatIsWrittenAcrossARelease) {
  std::string error;
  const auto file =
      ScratchFile::Create(std::string(::testing::TempDir()), kSize, &error);
  ASSERT_NE(file, nullptr) << error;
  EXPECT_EQ(Sum(file->bytes()), 0u);
  std::fill(file->bytes().begin(), file->bytes().end(), std::byte{1});
  ReleasePages(file->bytes());
  EXPECT_EQ(NumResident(file->bytes()), 0u);
  EXPECT_EQ(Sum(file->bytes()), kSize);
}

TEST(ScratchFileTest, EmptyIsNoFile) {
  std::string error;
  const auto file = ScratchFile::Create("/nowhere", 0, &error);
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(file->bytes().empty());
}

TEST(ScratchFileTest, SaysWhyItCantBeMade) {
  std::string error;
  EXPECT_EQ(ScratchFile::Create("/nowhere", 1, &error), nullptr);
  EXPECT_EQ(error, "No such file or directory");
  error.clear();
  EXPECT_EQ(ScratchFile::Create(std::string(::testing::TempDir()),
                                size_t{1} << 62, &error),
            nullptr);
  EXPECT_NE(error, "");
}

}  // namespace
}  // namespace tenon
