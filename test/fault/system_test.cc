// Every call of the system that a scene makes fails once, with the whole scene
// done for each: an error that says which file and why, and no other trace.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "fault/faults.h"
#include "fault/scenes.h"

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
      if (!failing.has_failed()) break;
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

}  // namespace
}  // namespace tenon::fault
