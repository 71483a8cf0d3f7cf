// Only what a user sees: the headers of include/tenon.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tenon/model.h"
#include "tenon/runner.h"

namespace {

constexpr char kCounter[] = "test/data/pt2/counter.pt2";
constexpr char kMlp[] = "test/data/pt2/mlp.pt2";

TEST(Api, AMissingFileIsAnErrorWithItsRule) {
  const auto model = tenon::Model::Open("test/data/no-such-file.pt2");
  ASSERT_FALSE(model);
  ASSERT_FALSE(model.errors().empty());
  EXPECT_EQ(model.errors()[0].rule, "T-IO");
}

TEST(Api, ExportsSavesAndProves) {
  const auto model = tenon::Model::Open(kMlp);
  ASSERT_TRUE(model);
  const auto hybrid = model->Export({"cpu"});
  ASSERT_TRUE(hybrid);
  EXPECT_EQ(hybrid->digest(), model->digest());
  const std::string path = testing::TempDir() + "/api_test.pt2";
  ASSERT_TRUE(hybrid->Save(path));
  const auto again = tenon::Model::Open(path);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->digest(), model->digest());
  EXPECT_FALSE(model->Export({"no such backend"}));
  const auto names = tenon::BackendNames();
  EXPECT_NE(std::find(names.begin(), names.end(), "cpu"), names.end());
}

// Floats for an input of a type "f32[2, 3]".
std::vector<int64_t> SizesOf(const std::string& type) {
  std::vector<int64_t> sizes;
  for (size_t i = type.find('['); i < type.size(); ++i) {
    if (std::isdigit(static_cast<unsigned char>(type[i])) == 0) continue;
    sizes.push_back(std::stoll(type.substr(i)));
    while (std::isdigit(static_cast<unsigned char>(type[i])) != 0) ++i;
  }
  return sizes;
}

TEST(Api, RunsFromTheCallersMemoryAndKeepsState) {
  const auto model = tenon::Model::Open(kCounter);
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  const auto inputs = model->inputs();
  ASSERT_EQ(inputs.size(), 1u);
  tenon::TensorView x;
  x.dtype = "float32";
  x.sizes = SizesOf(inputs[0].type);
  int64_t count = 1;
  for (const int64_t size : x.sizes) count *= size;
  std::vector<float> bytes(static_cast<size_t>(count), 1.0f);
  x.data = bytes.data();
  const auto first = runner->Run({{inputs[0].path, x}});
  ASSERT_TRUE(first) << first.errors()[0].message;
  const auto second = runner->Run({{"0", x}});
  ASSERT_TRUE(second);
  const auto value = [](const auto& result) {
    return *static_cast<const float*>((*result)[0].view.data);
  };
  EXPECT_NE(value(first), value(second)) << "the counter went on";
  runner->ResetState();
  const auto third = runner->Run({{"0", x}});
  ASSERT_TRUE(third);
  EXPECT_EQ(value(first), value(third));
}

// K6-18
TEST(Api, ResultsGoToTheCallersMemory) {
  const auto model = tenon::Model::Open(kCounter);
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  const std::string path = model->inputs()[0].path;
  tenon::TensorView x{"float32", SizesOf(model->inputs()[0].type), {}, nullptr};
  std::vector<float> ones(64, 1.0f);
  x.data = ones.data();
  const auto plain = runner->Run({{path, x}});
  ASSERT_TRUE(plain);
  tenon::TensorView y = (*plain)[0].view;
  std::vector<float> mine(64, -1.0f);
  y.data = mine.data();
  y.strides.clear();
  runner->ResetState();
  const auto result = runner->Run({{path, x}}, {{0, y}});
  ASSERT_TRUE(result) << result.errors()[0].message;
  EXPECT_EQ((*result)[0].view.data, mine.data());
  EXPECT_EQ(mine[0], *static_cast<const float*>((*plain)[0].view.data));
  y.dtype = "int32";
  const auto wrong = runner->Run({{path, x}}, {{0, y}});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.errors()[0].rule, "S-5");
  EXPECT_FALSE(runner->Run({{path, x}}, {{99, y}}));
}

TEST(Api, WrongInputsAreErrors) {
  const auto model = tenon::Model::Open(kCounter);
  ASSERT_TRUE(model);
  auto runner = tenon::Runner::Load(*model);
  ASSERT_TRUE(runner);
  float one = 1;
  tenon::TensorView scalar{"float32", {}, {}, &one};
  tenon::TensorView huge{"float32", {INT64_MAX, INT64_MAX}, {}, &one};
  EXPECT_FALSE(runner->Run({}));
  EXPECT_FALSE(runner->Run({{"no.such.path", scalar}}));
  EXPECT_FALSE(runner->Run({{"0", huge}}));
  EXPECT_FALSE(runner->Run({{"0", {"float33", {}, {}, &one}}}));
  EXPECT_FALSE(runner->Run({{"0", {"float32", {2}, {}, nullptr}}}));
}

}  // namespace
