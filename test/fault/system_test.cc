// Every call of the system that a scene makes fails once, with the whole scene
// done for each: an error that says which file and why, and no other trace.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "fault/faults.h"
#include "fault/scenes.h"
#include "scratch.h"
#include "support/atomic_file.h"

namespace tenon::fault {
namespace {

struct Fault {
  std::string_view name;
  Call call;
  int error;
};
constexpr Fault kFaults[] = {
    {"open", Call::kOpen, EMFILE},  {"stat", Call::kStat, EIO},
    {"map", Call::kMap, ENOMEM},    {"write", Call::kWrite, ENOSPC},
    {"sync", Call::kSync, EIO},     {"rename", Call::kRename, EACCES},
    {"inflate", Call::kInflate, 0},
};

struct SystemCase {
  const Scene* scene;
  const Fault* fault;
};

std::vector<SystemCase> AllCases() {
  std::vector<SystemCase> out;
  for (const Scene& scene : AllScenes()) {
    for (const Fault& fault : kFaults) out.push_back({&scene, &fault});
  }
  return out;
}

void ExpectNamesFileAndReason(const Errors& errors, const Scene& scene,
                              const Fault& fault) {
  const std::string text = errors[0].place + ": " + errors[0].message;
  EXPECT_EQ(errors[0].rule, "T-IO") << text;
  if (fault.error == 0) return;
  EXPECT_NE(text.find(std::strerror(fault.error)), std::string::npos) << text;
  const bool names_source =
      !scene.reads.empty() && text.find(scene.reads) != std::string::npos;
  const bool names_target =
      !scene.writes.empty() && text.find(scene.writes) != std::string::npos;
  EXPECT_TRUE(names_source || names_target) << text;
}

// Whether the scene can't do without the call: else a fault that is never
// reached would pass.
bool MustCall(const Scene& scene, Call call) {
  switch (call) {
    case Call::kWrite:
    case Call::kSync:
    case Call::kRename:
      return !scene.writes.empty();
    case Call::kOpen:
      return !scene.reads.empty() || !scene.writes.empty();
    default:
      return false;
  }
}

class EachCall : public ::testing::TestWithParam<SystemCase> {};

TEST_P(EachCall, FailsOnceWithoutATrace) {
  const auto& [scene, fault] = GetParam();
  const Places places = Prepare(*scene);
  const Traces before = Observe(places);
  for (uint64_t n = 1;; ++n) {
    const int64_t live = LiveAllocations();
    {
      FailNth failing(fault->call, n, fault->error);
      const Errors errors = scene->run(places);
      if (!failing.has_failed()) {
        EXPECT_TRUE(n > 1 || !MustCall(*scene, fault->call));
        break;
      }
      ASSERT_FALSE(errors.empty()) << "call " << n;
      ExpectNamesFileAndReason(errors, *scene, *fault);
    }
    ASSERT_EQ(LiveAllocations(), live) << "call " << n;
    const Traces after = Observe(places);
    ASSERT_EQ(after.files, before.files) << "call " << n;
    ASSERT_EQ(after.target, before.target) << "call " << n;
    ASSERT_EQ(after.num_descriptors, before.num_descriptors) << "call " << n;
    ASSERT_EQ(after.num_mappings, before.num_mappings) << "call " << n;
  }
}

INSTANTIATE_TEST_SUITE_P(Faults, EachCall, ::testing::ValuesIn(AllCases()),
                         [](const auto& test) {
                           return std::string(test.param.scene->name) + "_" +
                                  std::string(test.param.fault->name);
                         });

TEST(Writes, ThatAreShortOrInterruptedAreContinued) {
  const Scene& scene = GetScene("export_none");
  const Places places = Prepare(scene);
  ASSERT_TRUE(scene.run(places).empty());
  const std::string whole = Observe(places).target;
  {
    const ShortWrites limited(100);
    ASSERT_TRUE(scene.run(places).empty());
  }
  EXPECT_EQ(Observe(places).target, whole);
  const FailNth interrupted(Call::kWrite, 1, EINTR);
  ASSERT_TRUE(scene.run(places).empty());
  EXPECT_TRUE(interrupted.has_failed());
  EXPECT_EQ(Observe(places).target, whole);
}

// More than goes through the page cache, in two pieces. Empty, or the error.
std::string WriteLarge(const std::string& path, const std::string& content) {
  AtomicFile file;
  const Bytes bytes = AsBytes(content);
  const size_t half = content.size() / 2;
  return file.Open(path) && file.Write(bytes.first(half)) &&
                 file.Write(bytes.subspan(half)) && file.Commit()
             ? ""
             : file.error();
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Writes, PastThePageCacheGoOnInItWhenTheyMust) {
  const std::string path = ScratchPath("large");
  std::string content(2 * AtomicFile::kDirectFromBytes + 4321, '\0');
  for (size_t i = 0; i < content.size(); ++i) {
    content[i] = static_cast<char>((i * 2654435761u) >> 13);
  }
  {
    const ShortWrites limited(3'000'001);
    EXPECT_EQ(WriteLarge(path, content), "");
    EXPECT_TRUE(ReadFile(path) == content);
  }
  // The file system takes the flag, and no write.
  uint64_t num_writes = 0;
  for (uint64_t n = 2;; ++n) {
    const FailNth refused(Call::kWrite, n, EINVAL);
    const std::string error = WriteLarge(path, content);
    if (!refused.has_failed()) break;
    if (error.empty()) ++num_writes;
    EXPECT_TRUE(!error.empty() || ReadFile(path) == content) << "write " << n;
  }
  // Only where the file system takes the flag at all are there such writes.
  const int direct = open(path.c_str(), O_RDONLY | O_DIRECT);
  if (direct >= 0) {
    close(direct);
    EXPECT_GE(num_writes, 8u);
  }
  const FailNth no_block(Call::kMap, 1, ENOMEM);
  EXPECT_EQ(WriteLarge(path, content), "");
  EXPECT_TRUE(no_block.has_failed());
  EXPECT_TRUE(ReadFile(path) == content);
}

TEST(Writes, PastThePageCacheFailOnceWithoutATrace) {
  const std::string path = ScratchPath("large_failing");
  std::ofstream(path) << "old";
  const std::string content(2 * AtomicFile::kDirectFromBytes + 4321, 'x');
  for (uint64_t n = 1;; ++n) {
    const FailNth full(Call::kWrite, n, ENOSPC);
    const std::string error = WriteLarge(path, content);
    if (!full.has_failed()) break;
    EXPECT_NE(error.find(std::strerror(ENOSPC)), std::string::npos) << error;
    EXPECT_EQ(ReadFile(path), "old") << "write " << n;
  }
  EXPECT_TRUE(ReadFile(path) == content);
}

}  // namespace
}  // namespace tenon::fault
