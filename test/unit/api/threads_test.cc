// What the headers promise about threads: models are immutable, runners are one
// thread's each. Under the preset tsan these tests find races, too.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tenon/model.h"
#include "tenon/runner.h"

namespace {

constexpr char kCounter[] = "test/data/pt2/counter.pt2";
constexpr char kMlp[] = "test/data/pt2/mlp.pt2";
constexpr int kNumThreads = 4;

void InThreads(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kNumThreads; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

// The first number of the first result of each of three calls; none after an
// error.
std::vector<float> CallThreeTimes(const tenon::Model& model) {
  auto runner = tenon::Runner::Load(model);
  if (!runner) return {};
  std::vector<float> bytes(4096, 1.0f);
  std::vector<float> values;
  for (int call = 0; call < 3; ++call) {
    tenon::Runner::Inputs inputs;
    for (const tenon::ModelLeaf& leaf : model.inputs()) {
      tenon::TensorView x;
      x.dtype = "float32";
      // "f32[2, 3]"
      for (size_t at = leaf.type.find('['); at + 1 < leaf.type.size();
           at = leaf.type.find_first_of(",]", at + 1)) {
        x.sizes.push_back(std::stoll(leaf.type.substr(at + 1)));
      }
      x.data = bytes.data();
      inputs.emplace_back(leaf.path, x);
    }
    const auto results = runner->Run(inputs);
    if (!results || results->empty()) return {};
    values.push_back(*static_cast<const float*>((*results)[0].tensor().data));
  }
  return values;
}

TEST(Threads, OneModelHasARunnerInEach) {
  const auto model = tenon::Model::Open(kCounter);
  ASSERT_TRUE(model);
  const std::vector<float> expected = CallThreeTimes(*model);
  ASSERT_EQ(expected.size(), 3u);
  std::vector<std::vector<float>> found(kNumThreads);
  InThreads([&](int t) { found[t] = CallThreeTimes(*model); });
  for (const auto& values : found) EXPECT_EQ(values, expected);
}

TEST(Threads, EachOpensExportsSavesAndRuns) {
  const auto model = tenon::Model::Open(kMlp);
  ASSERT_TRUE(model);
  const std::vector<float> expected = CallThreeTimes(*model);
  ASSERT_EQ(expected.size(), 3u);
  std::vector<std::string> digests(kNumThreads);
  std::vector<std::vector<float>> found(kNumThreads);
  InThreads([&](int t) {
    const char* kBackends[] = {"cpu", "echo", "reference", "cpu"};
    const auto own = tenon::Model::Open(kMlp);
    if (!own) return;
    const auto hybrid = own->Export({kBackends[t]});
    if (!hybrid) return;
    const std::string path =
        testing::TempDir() + "/threads_test" + std::to_string(t) + ".pt2";
    if (!hybrid->Save(path)) return;
    const auto again = tenon::Model::Open(path);
    if (!again) return;
    digests[t] = again->digest();
    found[t] = CallThreeTimes(*again);
  });
  for (const std::string& digest : digests) {
    EXPECT_EQ(digest, model->digest());
  }
  for (const auto& values : found) {
    ASSERT_EQ(values.size(), 3u);
    for (int call = 0; call < 3; ++call) {
      EXPECT_NEAR(values[call], expected[call], 1e-5f);
    }
  }
}

// One model in all hands: whatever is done with it, others don't notice.
TEST(Threads, OneModelIsExportedSavedDescribedAndRunAtOnce) {
  const auto model = tenon::Model::Open(kMlp);
  ASSERT_TRUE(model);
  const std::vector<float> expected = CallThreeTimes(*model);
  const std::string digest = model->digest();
  const std::string path = testing::TempDir() + "/threads_one";
  std::vector<int> num_right(kNumThreads, 0);
  constexpr int kRounds = 5;
  InThreads([&](int t) {
    for (int round = 0; round < kRounds; ++round) {
      bool is_right = false;
      switch ((t + round) % 4) {
        case 0: {
          const auto hybrid = model->Export({round % 2 == 0 ? "cpu" : "echo"});
          is_right = hybrid && hybrid->digest() == digest;
          break;
        }
        case 1: {
          const std::string mine = path + std::to_string(t) + ".pt2";
          is_right = bool{model->Save(mine)};
          break;
        }
        case 2:
          is_right = CallThreeTimes(*model) == expected;
          break;
        case 3:
          is_right = model->digest() == digest &&
                     model->inputs()[0].type == "f32[3, 8]" &&
                     model->signature() == "forward(input: f32[3, 8])";
          break;
      }
      num_right[t] += is_right ? 1 : 0;
    }
  });
  EXPECT_EQ(num_right, std::vector<int>(kNumThreads, kRounds));
}

TEST(Threads, OneHybridRunsInAll) {
  const auto model = tenon::Model::Open(kMlp);
  ASSERT_TRUE(model);
  for (const std::string& backend : tenon::BackendNames()) {
    const auto hybrid = model->Export({backend});
    ASSERT_TRUE(hybrid);
    const std::vector<float> expected = CallThreeTimes(*hybrid);
    ASSERT_EQ(expected.size(), 3u);
    std::vector<std::vector<float>> found(kNumThreads);
    InThreads([&](int t) { found[t] = CallThreeTimes(*hybrid); });
    for (const auto& values : found) EXPECT_EQ(values, expected) << backend;
  }
}

}  // namespace
