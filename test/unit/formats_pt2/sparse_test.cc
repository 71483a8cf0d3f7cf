// Weights of ten gigabytes: opening maps them and looks at none. The files are
// holes, so these tests take neither room nor time.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "../../scratch.h"
#include "formats/pt2/pt2.h"
#include "sparse_archive.h"
#include "verify/verify.h"

namespace tenon {
namespace {

constexpr uint64_t kWeightBytes = uint64_t{10} << 30;

size_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  size_t kilobytes = 0;
  while (status >> word) {
    if (word == "VmRSS:") status >> kilobytes;
  }
  return kilobytes * 1024;
}

// Pages of `bytes` that lie in memory, whoever read them.
size_t NumPagesInMemory(Bytes bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size();
  std::vector<unsigned char> pages((end - begin + page - 1) / page);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), end - begin, pages.data()),
            0);
  size_t count = 0;
  for (const unsigned char p : pages) count += p & 1;
  return count;
}

double CpuSeconds() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

class Sparse : public ::testing::TestWithParam<uint64_t> {
 protected:
  void TearDown() override { std::remove(path_.c_str()); }
  const std::string path_ = ScratchPath("sparse.pt2");
};

TEST_P(Sparse, OpeningAndVerifyingLookAtNoWeight) {
  const uint64_t numel = kWeightBytes / GetParam();
  ASSERT_TRUE(WriteSparseArchive(path_, numel, GetParam()));
  const size_t before = ResidentBytes();
  const double start = CpuSeconds();
  Diagnostics diags;
  const auto program =
      ReadPt2(path_, std::make_shared<Context>(), Pt2ReadOptions(), diags);
  ASSERT_TRUE(program) << diags.ToString();
  EXPECT_TRUE(Verify(*program, VerifyOptions(), diags)) << diags.ToString();
  const double seconds = CpuSeconds() - start;
  const size_t grown = ResidentBytes() - before;

  ASSERT_EQ(program->state.storages.size(), 1u);
  const Bytes weights = program->state.storages[0].bytes;
  ASSERT_EQ(weights.size(), kWeightBytes);
  const Type& type = program->type(program->state.entries[0].type);
  EXPECT_EQ(type.sizes[0].value, static_cast<int64_t>(numel));
  EXPECT_LT(grown, kWeightBytes / 100);
  // What the kernel reads ahead of the header before them.
  EXPECT_LT(NumPagesInMemory(weights), kWeightBytes / 4096 / 1000);
  // To look at ten gigabytes takes seconds, even of zeros.
  EXPECT_LT(seconds, 0.5);
}

// 4 bytes an element, and above 2^32 elements of 1.
INSTANTIATE_TEST_SUITE_P(Each, Sparse, ::testing::Values(4, 1));

}  // namespace
}  // namespace tenon
